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

  /// Writes all of it to a file; false, with `errno`, when that does not go.
  static func writeWhole(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = unsafe rest.withUnsafeBytes { unsafe write(descriptor, $0.baseAddress, $0.count) }
      if count > 0 {
        rest = rest.dropFirst(count)
      } else if errno != EINTR {
        return false
      }
    }
    return true
  }

  /// What an error number means, in words that stand inside a sentence.
  static func reason(_ number: Int32) -> String {
    unsafe String(cString: strerror(number)).lowercased()
  }
}
