internal import PusherPlatform

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
