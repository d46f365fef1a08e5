internal import PusherCore

/// How far what a run has taken in is done, counted from its beginning.
protocol Progress: AnyObject {
  /// Up to where it is done.
  var written: Int { get }
  /// Where what comes next begins, counted in the same way.
  var end: Int { get }
  /// Whether nothing more will be done.
  var hasFailed: Bool { get }
  /// Makes what is done outlive a power cut, where that is ours to do.
  func synchronize()
}

/// The printed bytes that are not yet written, up to a limit.
///
/// Lines are written into ``buffer``; the loop flushes before it would wait. When the reader is slower than the
/// server the queue says so, at first softly: leaving the socket unread for a moment lets the kernel hold the
/// server back and costs nothing. Only when the reader stalls for longer does it grow to its limit, so that the
/// server's pings are still read and answered.
final class OutputQueue: LoopSource, Progress {
  /// A failure of the output.
  enum Failure: Equatable {
    /// The reader has gone: end as a filter does, by SIGPIPE.
    case readerGone
    /// Disk full and the like.
    case system(SystemError)

    /// What happened, in the system's words.
    var reason: String {
      switch self {
      case .readerGone: "its reader has gone"
      case .system(let error): "\(error)"
      }
    }
  }

  /// Lines not yet written.
  let buffer = ByteBuffer(capacity: 320 << 10)
  /// How many bytes the system has taken since the beginning.
  private(set) var written = 0
  /// Where what is printed next begins, counted as ``written`` is; it means nothing after a failure.
  var end: Int { written &+ buffer.count }
  /// Whether nothing waits that could still be written.
  var isSettled: Bool { buffer.isEmpty || failure != nil }
  var hasFailed: Bool { failure != nil }
  private var descriptor: OutputDescriptor
  private let limit: Int
  private var stalledSince: Instant?
  /// When a stall has lasted, until the loop has been told of it.
  private var patienceEnds: Instant?
  private(set) var failure: Failure?
  /// Called once, when nothing more can be written.
  var onFailure: ((Failure) -> Void)?

  /// Above this many bytes the socket is left unread for a while.
  static let softLimit = 256 << 10
  /// How long; servers wait for pongs 30 s or longer.
  private static let patience: Duration = .seconds(5)

  /// A larger queue is given back when it is empty; bursts need up to this much again and again.
  private static let keptCapacity = 1 << 20

  init(descriptor: OutputDescriptor, limit: Int) {
    self.descriptor = descriptor
    self.limit = limit
  }

  /// How reading should go on, given how much waits to be written.
  enum Pressure: Equatable {
    case none
    /// Do not read for the moment.
    case high
    /// Do not read until there is room again: the queue is full.
    case full
  }

  /// The pressure now; `now` decides how long a stall lasts.
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

  /// Writes as much as goes without waiting.
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
    // Memory of a stall is freed.
    if buffer.capacity > Self.keptCapacity { buffer.removeAll() }
  }

  /// Flushes the output's file to disk; does nothing for other outputs.
  func synchronize() {
    guard failure == nil, let error = descriptor.synchronize() else { return }
    fail(.system(error))
  }

  /// Goes on with the file that has the output's name now, after log rotation, say; does nothing for other outputs.
  ///
  /// What was printed before stands in the former file, whole lines. When the name cannot be opened that one is kept.
  func reopen(warn: (String) -> Void) throws(FileFault) {
    guard let former = descriptor.file else { return }
    flush()
    guard failure == nil else { return }
    descriptor = OutputDescriptor(
      try OutputFile(former.path, terminator: former.terminator, warn: warn))
  }

  /// Opens the file at `path` again on SIGHUP, and reports the result.
  ///
  /// On failure the open file stays in use.
  func reopen(_ path: String, _ diagnostics: Diagnostics) {
    do throws(FileFault) {
      try reopen { diagnostics.warning($0) }
      diagnostics.notice("opened \(path) again")
    } catch {
      diagnostics.warning(
        "SIGHUP: cannot open '\(path)': \(error.reason); events go on into the former file")
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
      // A file is always ready: what was printed after the last flush goes out in the next round.
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
    // The stall has lasted, which the next look at the pressure shows; a deadline in the past would spin.
    if let ends = patienceEnds, ends <= now { patienceEnds = nil }
  }
}
