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
}

/// Descriptors 0, 1 and 2, none of which may be free: the next file or socket would take its number.
enum StandardDescriptors {
  /// Fills those that are closed with something that can neither be read nor written as they are.
  ///
  /// So a closed standard output still is an error, and messages to a closed standard error reach no socket.
  static func fill() {
    for number: Int32 in 0...2 where fcntl(number, F_GETFD) < 0 {
      // The lowest free number is the one that is looked for; those before it are taken by now.
      _ = unsafe open("/dev/null", number == 0 ? O_WRONLY : O_RDONLY)
    }
  }
}
