internal import PusherCore
internal import PusherPlatform

/// Standard output or error, written without blocking.
///
/// Other processes share the descriptor, so it stays blocking. A pipe or terminal is opened a
/// second time, non-blocking. If that is refused it gets small writes, which do not block after
/// `poll` reports room. Files and devices get whole writes.
struct OutputDescriptor {
  private enum WriteMode {
    /// Does not block: a file, a device, or our own non-blocking descriptor.
    case direct
    /// Blocks without room: needs `poll` before each small write.
    case small
    /// Takes a non-blocking flag for each write.
    case socket
  }

  enum Outcome: Equatable {
    case written(Int)
    case wouldBlock
    case failed(SystemError)
  }

  let number: Int32
  private let manner: WriteMode
  /// True if `poll` reports room and the end of the reader.
  let isPollable: Bool
  let isTerminal: Bool
  let isFile: Bool
  let file: OutputFile?

  /// Maximum size of an atomic write to a pipe (`PIPE_BUF`); a terminal guarantees one byte.
  private static let pieceSize = 4096

  /// Examines a standard descriptor; `nil` if it is closed or read-only.
  init?(_ descriptor: Int32 = 1, enlargesPipe: Bool = true) {
    var status = stat()
    guard unsafe fstat(descriptor, &status) == 0, fcntl(descriptor, F_GETFL) & O_ACCMODE != O_RDONLY
    else { return nil }
    file = nil
    isTerminal = isatty(descriptor) == 1
    isFile = status.st_mode & S_IFMT == S_IFREG
    switch status.st_mode & S_IFMT {
    case S_IFSOCK: (number, manner, isPollable) = (descriptor, .socket, true)
    case S_IFCHR where isTerminal:
      let own = Self.reopen(descriptor) ?? Self.openTerminal(descriptor)
      (number, manner, isPollable) = (own ?? descriptor, own == nil ? .small : .direct, true)
    case S_IFIFO:
      let own = Self.reopen(descriptor)
      (number, manner, isPollable) = (own ?? descriptor, own == nil ? .small : .direct, true)
      if let own, enlargesPipe { Self.enlargePipe(own) }
    default: (number, manner, isPollable) = (descriptor, .direct, false)
    }
  }

  init(_ file: OutputFile) {
    self.file = file
    number = file.descriptor
    manner = .direct
    (isPollable, isTerminal, isFile) = (false, false, true)
  }

  /// Opens the same pipe or terminal again, non-blocking; `nil` if the system refuses.
  private static func reopen(_ descriptor: Int32) -> Int32? {
    #if os(Linux)
      let own = SystemCalls.reopen(descriptor, O_WRONLY | O_NONBLOCK | O_NOCTTY)
      return own >= 0 ? own : nil
    #else
      return nil
    #endif
  }

  /// Opens the controlling terminal if the descriptor is that; works after a change of user too.
  private static func openTerminal(_ descriptor: Int32) -> Int32? {
    guard tcgetsid(descriptor) == getsid(0) else { return nil }
    let own = unsafe open("/dev/tty", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
    return own >= 0 ? own : nil
  }

  /// Requests a pipe of 1 MiB, so that a burst needs fewer wake-ups; ignores a refusal.
  private static func enlargePipe(_ descriptor: Int32) {
    #if os(Linux)
      let setPipeSize: Int32 = 1031  // F_SETPIPE_SZ, which Glibc's module leaves out
      _ = fcntl(descriptor, setPipeSize, 1 << 20)
    #endif
  }

  func write(_ bytes: UnsafeRawBufferPointer) -> Outcome {
    while true {
      let count: Int
      switch manner {
      case .direct: count = unsafe SystemCalls.write(number, bytes.baseAddress, bytes.count)
      case .small:
        guard SystemCalls.hasRoom(number, milliseconds: 0) else { return .wouldBlock }
        count = unsafe SystemCalls.write(
          number, bytes.baseAddress, min(bytes.count, isTerminal ? 1 : Self.pieceSize))
      case .socket:
        #if os(Linux)
          let flags = Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL)
        #else
          let flags = MSG_DONTWAIT
        #endif
        count = unsafe send(number, bytes.baseAddress, bytes.count, flags)
      }
      if count >= 0 { return .written(count) }
      if errno == EAGAIN || errno == EWOULDBLOCK { return .wouldBlock }
      if errno != EINTR { return .failed(SystemError(code: errno)) }
    }
  }

  var columns: Int? {
    var size = winsize()
    guard isTerminal, unsafe ioctl(number, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else {
      return nil
    }
    return Int(size.ws_col)
  }

  func synchronize() -> SystemError? {
    #if os(Linux)
      let flush = fdatasync
    #else
      let flush = fsync
    #endif
    guard isFile, flush(number) != 0 else { return nil }
    return SystemError(code: errno)
  }
}

/// Detects an incomplete last line, as a full disk leaves it: it would swallow the next line.
enum IncompleteLine {
  enum End: Equatable {
    case whole
    case torn
    case unknown(reason: String)
  }

  static func words(for path: String) -> String {
    "'\(path)' ends in the middle of a line; adding the missing line end"
  }

  static func end(of descriptor: Int32, terminator: UInt8) -> End {
    var status = stat()
    guard unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      return .whole
    }
    let isAppended = fcntl(descriptor, F_GETFL) & O_APPEND != 0
    let place = isAppended ? off_t(status.st_size) : lseek(descriptor, 0, SEEK_CUR)
    // The file has only zeros after its end.
    guard place > 0, place <= off_t(status.st_size) else { return .whole }
    // Opens the file again, since standard output is seldom readable.
    let readable = SystemCalls.reopen(descriptor, O_RDONLY)
    guard readable >= 0 else { return .unknown(reason: "\(SystemError(code: errno))") }
    defer { close(readable) }
    var byte: UInt8 = 0
    guard unsafe pread(readable, &byte, 1, place - 1) == 1 else {
      return .unknown(reason: "\(SystemError(code: errno))")
    }
    return byte == terminator ? .whole : .torn
  }
}
