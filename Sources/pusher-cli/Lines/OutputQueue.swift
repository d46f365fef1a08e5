internal import PusherCore
internal import PusherPlatform

protocol Progress: AnyObject {
  var written: Int { get }
  /// Position of the next item.
  var end: Int { get }
  var hasFailed: Bool { get }
  func synchronize()
}

/// The printed bytes that are not written yet, up to a limit.
///
/// Lines are appended to ``buffer``; the event loop flushes before it waits. While the reader is
/// slow, the socket stays unread for a moment, so that the kernel slows the server down. After a
/// longer stall the socket is read again, so that pings are answered, and the queue may grow.
final class OutputQueue: LoopSource, Progress {
  enum Failure: Equatable {
    /// The reader has closed its end: the program ends by SIGPIPE, as filters do.
    case readerGone
    case system(SystemError)
    /// A file of `--output-file` with `%c` or `%e` cannot be opened.
    case unopened(FileFault)

    var reason: String {
      switch self {
      case .readerGone: "its reader has gone"
      case .unopened(let fault): fault.reason
      case .system(let error): "\(error)"
      }
    }
  }

  let buffer = ByteBuffer(capacity: 320 << 10)
  private(set) var written = 0
  /// Position of the next printed byte, counted as ``written`` is; meaningless after a failure.
  var end: Int { written &+ buffer.count }
  var isSettled: Bool { buffer.isEmpty || failure != nil }
  var hasFailed: Bool { failure != nil }
  private var descriptor: OutputDescriptor
  private let limit: Int
  private var stalledSince: Instant?
  /// End of a stall's patience, until the event loop has seen it.
  private var patienceEnds: Instant?
  private(set) var failure: Failure?
  var onFailure: ((Failure) -> Void)?

  /// Above this size, in bytes, the socket stays unread for a while.
  static let softLimit = 256 << 10
  /// Duration of that pause; servers wait 30 s or more for a pong.
  private static let patience: Duration = .seconds(5)

  /// Maximum capacity that is kept when the queue is empty; bursts need this much.
  private static let keptCapacity = 1 << 20

  init(descriptor: OutputDescriptor, limit: Int) {
    self.descriptor = descriptor
    self.limit = limit
  }

  enum Pressure: Equatable {
    case none
    /// Do not read for a moment.
    case high
    /// Do not read: the queue is full.
    case full
  }

  func pressure(at now: Instant) -> Pressure {
    if buffer.count >= limit { return .full }
    guard buffer.count >= min(Self.softLimit, limit) else {
      stalledSince = nil
      patienceEnds = nil
      return .none
    }
    if stalledSince == nil { patienceEnds = now.advanced(by: Self.patience) }
    let since = stalledSince ?? now
    stalledSince = since
    return since.duration(to: now) < Self.patience ? .high : .none
  }

  func flush() {
    guard failure == nil else { return buffer.removeAll() }
    while !buffer.isEmpty {
      switch unsafe descriptor.write(buffer.view.raw) {
      case .written(let count):
        buffer.consume(count)
        written &+= count
      case .wouldBlock: return
      case .unopened(let fault): return fail(.unopened(fault))
      case .failed(.brokenPipe): return fail(.readerGone)
      case .failed(let error): return fail(.system(error))
      }
    }
    if buffer.capacity > Self.keptCapacity { buffer.removeAll() }
  }

  func synchronize() {
    guard failure == nil, let error = descriptor.synchronize() else { return }
    fail(.system(error))
  }

  /// Opens the output file again, for log rotation; earlier lines go to the former file.
  func reopen(warn: (String) -> Void) throws(FileFault) {
    guard descriptor.isFile else { return }
    flush()
    guard failure == nil else { return }
    descriptor.files?.close()
    guard let former = descriptor.file else { return }
    descriptor = OutputDescriptor(
      try OutputFile(former.path, terminator: former.terminator, warn: warn))
  }

  /// Reopens the file at `path` on SIGHUP; on failure the open file stays in use.
  func reopen(_ path: String, _ diagnostics: Diagnostics) {
    do throws(FileFault) {
      try reopen { diagnostics.warning($0) }
      diagnostics.notice("reopened \(path)")
    } catch {
      diagnostics.warning(
        "SIGHUP: cannot reopen '\(path)': \(error.reason); still writing to the old file")
    }
  }

  private func fail(_ reason: Failure) {
    guard failure == nil else { return }
    failure = reason
    buffer.removeAll()
    onFailure?(reason)
  }

  var interest: LoopInterest {
    guard failure == nil else { return LoopInterest() }
    guard descriptor.isPollable else {
      // A file is always ready: write the rest in the next round.
      return LoopInterest(deadline: buffer.isEmpty ? nil : LoopInterest.immediately)
    }
    return LoopInterest(
      descriptor: descriptor.number, events: buffer.isEmpty ? .hangUp : .write,
      deadline: patienceEnds)
  }

  func ready(_ events: PollEvents, at now: Instant) {
    if events.contains(.write) { flush() }
    if events.contains(.hangUp) { fail(.readerGone) }
  }

  func expired(at now: Instant) {
    // `pressure` sees the end of the stall; a deadline in the past would spin.
    if let ends = patienceEnds, ends <= now { patienceEnds = nil }
  }
}

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
    case unopened(FileFault)
  }

  let number: Int32
  private let manner: WriteMode
  /// True if `poll` reports room and the end of the reader.
  let isPollable: Bool
  let isTerminal: Bool
  let isFile: Bool
  let file: OutputFile?
  /// Takes the output in place of `number`, which is then -1.
  let files: NamedFiles?

  /// Maximum size of an atomic write to a pipe (`PIPE_BUF`); a terminal guarantees one byte.
  private static let pieceSize = 4096

  /// Examines a standard descriptor; `nil` if it is closed or read-only.
  init?(_ descriptor: Int32 = 1, enlargesPipe: Bool = true) {
    var status = stat()
    guard unsafe fstat(descriptor, &status) == 0, fcntl(descriptor, F_GETFL) & O_ACCMODE != O_RDONLY
    else { return nil }
    (file, files) = (nil, nil)
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

  init(_ file: OutputFile) { self.init(file, nil) }

  init(_ files: NamedFiles) { self.init(nil, files) }

  private init(_ file: OutputFile?, _ files: NamedFiles?) {
    (self.file, self.files) = (file, files)
    (number, manner) = (file?.descriptor ?? -1, .direct)
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
    if let files { return unsafe files.write(bytes) }
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
    if let files { return files.synchronize() }
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

/// The file of `--output-file`, private to its owner since it holds data of private channels.
final class OutputFile {
  let path: String
  let terminator: UInt8
  let descriptor: Int32

  /// Opens or creates the file; ends a line that an earlier run left incomplete, and warns.
  ///
  /// - Parameter terminator: Byte after each line.
  /// - Throws: ``FileFault`` for a path that cannot be written, and for pipes and devices, for
  ///   which the shell has `>`. `isOfDisk` is set if the disk has no room to end the line.
  init(_ path: String, terminator: UInt8, warn: (String) -> Void) throws(FileFault) {
    (self.path, self.terminator) = (path, terminator)
    descriptor = try FileReplacement.openLines(path, takesChannels: false).get()
    switch IncompleteLine.end(of: descriptor, terminator: terminator) {
    case .whole: return
    case .unknown(let reason):
      warn(
        "cannot read '\(path)' (\(reason)): if its last line is incomplete, the next line joins it")
    case .torn:
      warn(IncompleteLine.words(for: path))
      if let fault = SystemCalls.writeWhole([terminator], to: descriptor) {
        throw FileFault(reason: "\(fault)", isOfDisk: true)
      }
    }
  }

  deinit { if descriptor >= 0 { close(descriptor) } }
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
