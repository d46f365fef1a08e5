internal import PusherPlatform

package enum DescriptorLimit {
  /// Current limit, which is also the maximum for `poll`; 1 if the system does not report it.
  static var current: Int { read().map { Int(clamping: $0.rlim_cur) } ?? 1 }

  /// Raises the limit to `wanted` or the system's maximum, never lowers it; returns the new limit.
  package static func raise(to wanted: Int) -> Int {
    guard var limit = read() else { return 0 }
    let most = min(rlim_t(clamping: wanted), limit.rlim_max)
    guard limit.rlim_cur < most else { return Int(clamping: limit.rlim_cur) }
    let former = limit.rlim_cur
    limit.rlim_cur = most
    return Int(clamping: unsafe setrlimit(resource, &limit) == 0 ? most : former)
  }

  private static func read() -> rlimit? {
    var limit = rlimit()
    return unsafe getrlimit(resource, &limit) == 0 ? limit : nil
  }

  #if canImport(Glibc)
    private static var resource: __rlimit_resource_t { __rlimit_resource_t(RLIMIT_NOFILE.rawValue) }
  #else
    private static var resource: Int32 { Int32(RLIMIT_NOFILE) }
  #endif
}
