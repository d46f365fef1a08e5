internal import PusherCore
internal import PusherPlatform

/// Standard output, or error, written without ever waiting for its reader.
///
/// The descriptor itself is never switched to non-blocking, because other processes share it. A pipe or terminal is
/// opened a second time instead, non-blocking; where that is not allowed it gets small writes, which do not block
/// once `poll` calls it writable. Files and devices take whole writes.
struct OutputDescriptor {
  /// The way to write.
  private enum Manner {
    /// Never waits by itself: a file, a device, or a descriptor that is ours and non-blocking.
    case direct
    /// Waits when there is no room: only small pieces, and only after `poll`.
    case small
    /// Takes a flag for each write.
    case socket
  }

  /// The result of a write.
  enum Outcome: Equatable {
    case written(Int)
    case wouldBlock
    case failed(SystemError)
  }

  /// The descriptor to wait on and to write to.
  let number: Int32
  private let manner: Manner
  /// Whether to watch for the reader's end, and for room.
  let isPollable: Bool
  let isTerminal: Bool
  let isFile: Bool
  /// The file of `--output-file`, where the output is that.
  let file: OutputFile?

  /// The largest write to a pipe that is all or nothing (POSIX `PIPE_BUF`, at least 512); a terminal promises one byte.
  private static let pieceSize = 4096

  /// A standard descriptor as it stands; `nil` when it is closed, or open for reading only.
  ///
  /// - Parameter enlargesPipe: Whether a pipe is to hold as much as it may, so that bursts go out faster.
  init?(_ descriptor: Int32 = 1, enlargesPipe: Bool = true) {
    var status = stat()
    guard unsafe fstat(descriptor, &status) == 0,
      fcntl(descriptor, F_GETFL) & O_ACCMODE != O_RDONLY
    else { return nil }
    file = nil
    isTerminal = isatty(descriptor) == 1
    isFile = status.st_mode & S_IFMT == S_IFREG
    switch status.st_mode & S_IFMT {
    case S_IFSOCK:
      number = descriptor
      manner = .socket
      isPollable = true
    case S_IFCHR where isTerminal:
      let own = Self.reopen(descriptor) ?? Self.openTerminal(descriptor)
      number = own ?? descriptor
      manner = own == nil ? .small : .direct
      isPollable = true
    case S_IFIFO:
      let own = Self.reopen(descriptor)
      number = own ?? descriptor
      manner = own == nil ? .small : .direct
      isPollable = true
      if let own, enlargesPipe { Self.enlargePipe(own) }
    default:
      number = descriptor
      manner = .direct
      isPollable = false
    }
  }

  /// A file of ours in the place of standard output.
  init(_ file: OutputFile) {
    self.file = file
    number = file.descriptor
    manner = .direct
    (isPollable, isTerminal, isFile) = (false, false, true)
  }

  /// A second, non-blocking way to the same pipe or terminal; `nil` where the system or its rights refuse.
  private static func reopen(_ descriptor: Int32) -> Int32? {
    #if os(Linux)
      let own = SystemCalls.reopen(descriptor, O_WRONLY | O_NONBLOCK | O_NOCTTY)
      return own >= 0 ? own : nil
    #else
      return nil
    #endif
  }

  /// The controlling terminal, when that is what the descriptor is: it may be opened also after a change of user.
  private static func openTerminal(_ descriptor: Int32) -> Int32? {
    guard tcgetsid(descriptor) == getsid(0) else { return nil }
    let own = unsafe open("/dev/tty", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
    return own >= 0 ? own : nil
  }

  /// Asks for a pipe of 1 MiB, so that a burst takes fewer turns between us and the reader; no matter if refused.
  private static func enlargePipe(_ descriptor: Int32) {
    #if os(Linux)
      let setPipeSize: Int32 = 1031  // F_SETPIPE_SZ, which Glibc's module leaves out
      _ = fcntl(descriptor, setPipeSize, 1 << 20)
    #endif
  }

  /// Writes as much as possible without waiting; retried when a signal interrupts.
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

  /// How many columns the terminal has; `nil` for what is not one, and where it does not know.
  var columns: Int? {
    var size = winsize()
    guard isTerminal, unsafe ioctl(number, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else {
      return nil
    }
    return Int(size.ws_col)
  }

  /// Flushes a file to disk; answers what the disk could not do.
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

/// The end of a file that is added to: a full disk leaves half a line there, which would swallow the next one.
enum TornLine {
  /// The end of a file before lines are added.
  enum End: Equatable {
    /// Nothing, or a line that is whole.
    case whole
    case torn
    /// It cannot be read back.
    case unknown(reason: String)
  }

  /// What is said of a file whose line is ended.
  static func words(for path: String) -> String {
    "'\(path)' ends in the middle of a line: that line is ended now, and new ones follow it"
  }

  /// How the regular file at `descriptor` ends at the place of the next write, its lines ending with `terminator`.
  static func end(of descriptor: Int32, terminator: UInt8) -> End {
    var status = stat()
    guard unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      return .whole
    }
    let isAppended = fcntl(descriptor, F_GETFL) & O_APPEND != 0
    let place = isAppended ? off_t(status.st_size) : lseek(descriptor, 0, SEEK_CUR)
    // After the file's end there are only zeros.
    guard place > 0, place <= off_t(status.st_size) else { return .whole }
    // The same file once more, since standard output is seldom open for reading.
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
