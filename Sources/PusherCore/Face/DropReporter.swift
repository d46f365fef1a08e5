internal import Synchronization

/// Times for reports of dropped events: immediately, then at most one a second.
struct DropPace {
  static let interval = Duration.seconds(1)
  private var unreported = 0
  /// Earliest time of the next report; `nil` before the first one.
  private(set) var next: Instant?

  mutating func add(_ count: Int) { unreported += count }

  /// Time of the next report; `nil` if there is nothing to report.
  var deadline: Instant? { unreported > 0 ? next : nil }

  /// Returns the number of dropped events to report now; `nil` for no report.
  mutating func take(at now: Instant) -> Int? {
    guard unreported > 0, next.map({ $0 <= now }) ?? true else { return nil }
    next = now.advanced(by: Self.interval)
    return takeRest()
  }

  /// Returns the number of dropped events without a report, for the end; `nil` if there are none.
  mutating func takeRest() -> Int? {
    guard unreported > 0 else { return nil }
    defer { unreported = 0 }
    return unreported
  }
}

/// Number of events that the buffers of plain sequences dropped since the last look.
///
/// The callback thread alone counts and looks, but in closures that any thread may hold.
final class DropCounter: Sendable {
  private let count = Atomic<Int>(0)

  func add() { count.wrappingAdd(1, ordering: .relaxed) }

  @inline(__always) func take() -> Int {
    if count.load(ordering: .relaxed) == 0 { return 0 }
    return count.exchange(0, ordering: .relaxed)
  }
}

/// Reports the events that slow readers of plain sequences did not get, on the callback thread.
final class DropReporter {
  private let loop: EventLoop
  private let counter: DropCounter
  private var pace = DropPace()
  private var timer: LoopTimer?
  private let report: (Int) -> Void

  init(_ loop: EventLoop, _ counter: DropCounter, report: @escaping (Int) -> Void) {
    (self.loop, self.counter, self.report) = (loop, counter, report)
  }

  /// Reports what the last round dropped, or sets a timer for the report.
  func beginRound() {
    let count = counter.take()
    if count > 0 { noteDropped(count) }
  }

  private func noteDropped(_ count: Int) {
    pace.add(count)
    reportIfDue()
  }

  private func reportIfDue() {
    if let count = pace.take(at: loop.now) { report(count) }
    guard let deadline = pace.deadline else { return }
    if let timer {
      timer.deadline = deadline
    } else {
      let timer = LoopTimer(deadline: deadline) { [unowned self] in reportIfDue() }
      self.timer = timer
      loop.add(timer)
    }
  }

  /// Reports the rest; the loop has no timer afterwards.
  func end() {
    pace.add(counter.take())
    if let timer { loop.remove(timer) }
    timer = nil
    if let count = pace.takeRest() { report(count) }
  }
}
