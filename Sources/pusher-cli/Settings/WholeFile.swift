internal import PusherCore
internal import PusherPlatform

/// Reads whole files: settings, secrets, headers and data.
///
/// The size of a regular file is checked first. A pipe, terminal or device is read only at the
/// start of the program, when the caller can wait. A signal then ends the wait.
enum WholeFile {
  enum Kinds {
    case regular
    /// All files. The closure is called once if a pipe is silent for ``patience``.
    case all(whenWaiting: () -> Void)
  }

  /// Silence of a pipe before the notice, in milliseconds.
  private static let patience: Int32 = 1_000
  private static let chunkSize = 16_384

  static func content(
    of path: String, limit: Int, _ kinds: Kinds
  ) -> Result<FileContent, FileFault> {
    if path == "-" {
      return contents(ofDescriptor: 0, limit: limit, kinds).map { FileContent(bytes: $0) }
    }
    // A blocking open of a pipe waits for its writer.
    let flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC
    let descriptor = unsafe open(path, flags)
    guard descriptor >= 0 else {
      // The system's text for a socket is "No such device or address".
      let reason = errno == ENXIO ? "it is a socket" : "\(SystemError(code: errno))"
      return .failure(FileFault(reason: reason))
    }
    defer { close(descriptor) }
    var status = stat()
    guard unsafe fstat(descriptor, &status) == 0 else { return .failure(currentFault()) }
    let holders =
      status.st_mode & S_IFMT == S_IFREG
      ? FileHolders(status, of: descriptor, path: path) : nil
    return contents(ofDescriptor: descriptor, limit: limit, kinds).map {
      FileContent(bytes: $0, holders: holders)
    }
  }

  static func contents(
    ofDescriptor descriptor: Int32, limit: Int, _ kinds: Kinds
  ) -> Result<[UInt8], FileFault> {
    var status = stat()
    guard unsafe fstat(descriptor, &status) == 0 else { return .failure(currentFault()) }
    switch status.st_mode & S_IFMT {
    case S_IFREG:
      guard status.st_size <= off_t(limit) else { return .failure(tooLarge(limit)) }
      return readAll(descriptor, limit: limit) {}
    case S_IFDIR: return .failure(FileFault(reason: "\(SystemError(code: EISDIR))"))
    case let kind:
      guard case .all(let whenWaiting) = kinds else {
        return .failure(FileFault(reason: "it is \(name(kind)), not a file", isOtherKind: true))
      }
      // No notice for a user at a terminal, nor for standard input, which the caller provides.
      var mayTell = descriptor != 0 && kind == S_IFIFO
      return readAll(descriptor, limit: limit) {
        if mayTell, !isReady(descriptor, milliseconds: patience) { whenWaiting() }
        mayTell = false
        _ = isReady(descriptor, milliseconds: -1)
      }
    }
  }

  private static func readAll(
    _ descriptor: Int32, limit: Int, beforeEach wait: () -> Void
  ) -> Result<[UInt8], FileFault> {
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: chunkSize)
    while bytes.count <= limit {
      wait()
      let count = unsafe chunk.withUnsafeMutableBytes { free in
        unsafe read(descriptor, free.baseAddress, free.count)
      }
      if count == 0 { return .success(bytes) }
      if count < 0 {
        guard errno == EINTR || errno == EAGAIN else { return .failure(currentFault()) }
      } else {
        bytes.append(contentsOf: chunk[..<count])
      }
    }
    return .failure(tooLarge(limit))
  }

  /// Waits for bytes, the end or an error; -1 means no limit.
  ///
  /// A pipe without a writer is not ready, although a read would return its end.
  private static func isReady(_ descriptor: Int32, milliseconds: Int32) -> Bool {
    var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    return unsafe poll(&waiting, 1, milliseconds) != 0
  }

  private static func name(_ kind: mode_t) -> String {
    switch kind {
    case S_IFIFO: "a pipe"
    case S_IFSOCK: "a socket"
    default: "a device"
    }
  }

  private static func tooLarge(_ limit: Int) -> FileFault {
    FileFault(reason: "it is larger than \(limit >> 10) KiB")
  }

  private static func currentFault() -> FileFault {
    FileFault(reason: "\(SystemError(code: errno))")
  }
}
