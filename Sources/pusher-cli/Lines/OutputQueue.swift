internal import PusherCore

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

    var reason: String {
      switch self {
      case .readerGone: "its reader has gone"
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
    guard let former = descriptor.file else { return }
    flush()
    guard failure == nil else { return }
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
