internal import PusherCore
internal import PusherPlatform

/// Calls of the system that several writers need, some of which our own methods have the names of.
enum SystemCalls {
  /// `write(2)`.
  static func write(_ descriptor: Int32, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int {
    #if canImport(Glibc)
      unsafe Glibc.write(descriptor, bytes, count)
    #elseif canImport(Musl)
      unsafe Musl.write(descriptor, bytes, count)
    #else
      unsafe Darwin.write(descriptor, bytes, count)
    #endif
  }

  /// Writes all of it; answers the error, which `errno` holds too, when that does not go.
  ///
  /// - Parameter waits: Whether a reader that takes nothing now is waited for.
  static func writeWhole(
    _ bytes: [UInt8], to descriptor: Int32, waits: Bool = false
  ) -> SystemError? {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = unsafe rest.withUnsafeBytes { unsafe write(descriptor, $0.baseAddress, $0.count) }
      if count > 0 {
        rest = rest.dropFirst(count)
      } else if errno == EAGAIN, waits {
        _ = hasRoom(descriptor, milliseconds: -1)
      } else if errno != EINTR {
        return SystemError(code: errno)
      }
    }
    return nil
  }

  /// Waits at most this long, without end for -1, until something can be written; answers whether it can.
  static func hasRoom(_ descriptor: Int32, milliseconds: Int32) -> Bool {
    var waiting = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
    return unsafe poll(&waiting, 1, milliseconds) == 1 && waiting.revents & Int16(POLLOUT) != 0
  }

  /// Opens what a descriptor leads to once more; -1, with `errno`, where the system or its rights refuse.
  static func reopen(_ descriptor: Int32, _ flags: Int32) -> Int32 {
    #if canImport(Darwin)
      var path = [CChar](repeating: 0, count: Int(PATH_MAX))
      guard unsafe fcntl(descriptor, F_GETPATH, &path) == 0 else { return -1 }
      return unsafe open(path, flags | O_CLOEXEC)
    #else
      return ProcessMemory.whileShown {
        unsafe open("/proc/self/fd/\(descriptor)", flags | O_CLOEXEC)
      }
    #endif
  }

  /// Lets a millisecond pass, unless a signal comes.
  static func pause() { _ = poll(nil, 0, 1) }
}

/// Descriptors 0, 1 and 2, none of which may be free: the next file or socket would take its number.
enum StandardDescriptors {
  static func isTerminal(_ descriptor: Int32) -> Bool { isatty(descriptor) == 1 }

  /// Whether `JOURNAL_STREAM`, "device:inode", is what a descriptor really is: a child of a service may have inherited
  /// the variable and had its output redirected.
  static func isJournal(_ stream: String?, descriptor: Int32 = 2) -> Bool {
    let parts = (stream ?? "").split(separator: ":").compactMap { UInt64($0) }
    var status = stat()
    guard parts.count == 2, unsafe fstat(descriptor, &status) == 0 else { return false }
    return parts[0] == UInt64(status.st_dev) && parts[1] == UInt64(status.st_ino)
  }

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

extension SystemCalls {
  /// Keeps a descriptor from the programs that are started.
  static func keep(_ descriptor: Int32) {
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
  }

  /// Says `ready` to the reader at the other end, and closes the descriptor; a reader that is gone is not an error.
  static func tellReady(_ descriptor: Int32) {
    _ = writeWhole(Array("ready\n".utf8), to: descriptor)
    close(descriptor)
  }
}

extension WallTime {
  /// The time in the local time zone, such as `2026-11-21T12:04:05.123+01:00` (RFC 3339).
  var localText: String {
    var seconds = time_t(secondsSince1970)
    var local = unsafe tm()
    guard unsafe localtime_r(&seconds, &local) != nil else { return rfc3339 }
    let offset = unsafe Int64(local.tm_gmtoff)
    let shifted = advanced(by: .seconds(offset)).rfc3339.dropLast()
    let minutes = offset.magnitude / 60
    func digits(_ number: UInt64) -> Substring { String(number + 100).dropFirst() }
    return "\(shifted)\(offset < 0 ? "-" : "+")\(digits(minutes / 60)):\(digits(minutes % 60))"
  }
}
