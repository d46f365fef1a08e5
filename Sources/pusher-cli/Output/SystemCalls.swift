#if canImport(Glibc)
  internal import Glibc
#else
  internal import Darwin
#endif

/// Calls of the system whose names our own methods have too, so that inside those they must be called by a longer one.
enum SystemCalls {
  /// `write(2)`.
  static func write(_ descriptor: Int32, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int {
    #if canImport(Glibc)
      unsafe Glibc.write(descriptor, bytes, count)
    #else
      unsafe Darwin.write(descriptor, bytes, count)
    #endif
  }
}
