internal import PusherPlatform

/// How many descriptors this process may have.
package enum DescriptorLimit {
  /// How many there may be now, which is also how many entries `poll` takes; 1 where the system does not say.
  static var current: Int { read().map { Int(clamping: $0.rlim_cur) } ?? 1 }

  /// Raises the limit to this many, or as far as the system lets it; answers how many there may be now.
  ///
  /// It is never lowered. Source: POSIX, `setrlimit`.
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
    private static var resource: __rlimit_resource_t {
      __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    }
  #else
    private static var resource: Int32 { Int32(RLIMIT_NOFILE) }
  #endif
}
