internal import PusherCore
internal import PusherPlatform

/// System calls for writers; some have the names of our own methods.
enum SystemCalls {
  static func write(_ descriptor: Int32, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int {
    #if canImport(Glibc)
      unsafe Glibc.write(descriptor, bytes, count)
    #elseif canImport(Musl)
      unsafe Musl.write(descriptor, bytes, count)
    #else
      unsafe Darwin.write(descriptor, bytes, count)
    #endif
  }

  /// Writes all bytes, and waits for a slow reader if asked; returns the error, also in `errno`.
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

  /// Waits for room to write, without limit for -1; returns true if there is room.
  static func hasRoom(_ descriptor: Int32, milliseconds: Int32) -> Bool {
    var waiting = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
    return unsafe poll(&waiting, 1, milliseconds) == 1 && waiting.revents & Int16(POLLOUT) != 0
  }

  /// Opens the file of a descriptor again; returns -1, with `errno`, if the system refuses.
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

  static func pause() { _ = poll(nil, 0, 1) }
}

/// Descriptors 0, 1 and 2: if one were closed, the next file or socket would get its number.
enum StandardDescriptors {
  static func isTerminal(_ descriptor: Int32) -> Bool { isatty(descriptor) == 1 }

  /// Returns true if `JOURNAL_STREAM`, "device:inode", names the descriptor.
  ///
  /// A child of a service may inherit the variable although its output is redirected.
  static func isJournal(_ stream: String?, descriptor: Int32 = 2) -> Bool {
    let parts = (stream ?? "").split(separator: ":").compactMap { UInt64($0) }
    var status = stat()
    guard parts.count == 2, unsafe fstat(descriptor, &status) == 0 else { return false }
    return parts[0] == UInt64(status.st_dev) && parts[1] == UInt64(status.st_ino)
  }

  /// Opens `/dev/null` for closed descriptors, in the mode that makes their use an error.
  ///
  /// A closed standard output is still an error; messages for standard error reach no socket.
  static func fill() {
    for number: Int32 in 0...2 where fcntl(number, F_GETFD) < 0 {
      // `open` takes the lowest free number; lower ones are in use by now.
      _ = unsafe open("/dev/null", number == 0 ? O_WRONLY : O_RDONLY)
    }
  }
}

extension SystemCalls {
  static func keep(_ descriptor: Int32) { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }

  /// Writes `ready` to the descriptor and closes it; ignores a reader that has gone.
  static func tellReady(_ descriptor: Int32) {
    _ = writeWhole(Array("ready\n".utf8), to: descriptor)
    close(descriptor)
  }
}

extension WallTime {
  /// Local time, such as `2026-11-21T12:04:05.123+01:00` (RFC 3339).
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
