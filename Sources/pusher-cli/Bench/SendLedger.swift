internal import PusherCore

/// The result of each call of the plan, and its lateness.
final class SendLedger {
  let plan: BenchPlan
  /// The accepted events, by channel.
  private(set) var accepted: [EventSet]
  private(set) var sent = 0
  /// Events of calls that were refused, not answered or not sent.
  private(set) var failed = 0
  /// Time from the intended sending to the sending.
  private(set) var late = DelayHistogram()
  /// Time of the last call that was accepted.
  private(set) var lastAccepted: Instant?
  private let ledger: DeliveryLedger
  private(set) var errors = ErrorCounts()

  init(_ ledger: DeliveryLedger) {
    self.ledger = ledger
    plan = ledger.plan
    accepted = (0..<plan.channels).map { _ in EventSet(events: ledger.plan.longestChannel) }
  }

  /// Called when a call is handed to the network.
  func noteBegin(_ call: Int, at now: Instant) {
    late.record(ledger.elapsed(at: now) - plan.time(of: call))
  }

  func noteAccepted(_ call: Int, at now: Instant) {
    lastAccepted = now
    for number in plan.numbers(of: call) { accepted[plan.channel(of: call)].insert(number) }
    sent += plan.batch
    ledger.seconds.noteSent(plan.batch, intended: plan.time(of: call))
  }

  func noteFailed(
    _ call: Int, _ code: String, _ reason: String, _ cause: Cause? = nil, at now: Instant
  ) {
    failed += plan.batch
    ledger.seconds.noteFailed(plan.batch, intended: plan.time(of: call))
    noteError(code, reason, cause, at: now)
  }

  /// Notes an error that is about no single call.
  func noteError(_ code: String, _ reason: String, _ cause: Cause?, at now: Instant) {
    errors.note(code, reason, cause)
    ledger.noteError(at: now)
  }
}

/// Sends the calls of a plan when they are due.
protocol BenchSender: AnyObject {
  /// Sends a call now, or as soon as the earlier calls of its channel are answered.
  func send(_ call: Int, at now: Instant)
  /// True if ``prepare(_:)`` does anything.
  var preparesCalls: Bool { get }
  /// Prepares the next call while there is time.
  func prepare(_ call: Int)
  /// True if no call waits for an answer.
  var isIdle: Bool { get }
  /// Sends no more; calls without an answer count as failed.
  func stop()
  /// Closes the connections of the sender.
  func close()
}

extension BenchSender {
  var preparesCalls: Bool { false }
  func prepare(_ call: Int) {}
  func close() {}
}

/// Hands each call to the sender at its intended time.
final class BenchPacer {
  private let plan: BenchPlan
  private let begin: Instant
  private let sender: any BenchSender
  private let loop: EventLoop
  private var next = 0
  private lazy var timer = PreciseTimer { [unowned self] in sendDue(at: $0) }
  /// Fires halfway to the next call: its preparation would hold up a call that leaves now.
  private lazy var preparation = PreciseTimer { [unowned self] _ in sender.prepare(next) }

  /// - Parameter begin: Time of the first call.
  init(_ plan: BenchPlan, from begin: Instant, _ sender: any BenchSender, loop: EventLoop) {
    (self.plan, self.begin, self.sender, self.loop) = (plan, begin, sender, loop)
    loop.add(timer)
    loop.add(preparation)
    waitForNext(at: loop.now)
  }

  /// True if every call was handed to the sender.
  var isDone: Bool { next == plan.callCount }

  func stop() {
    loop.remove(timer)
    loop.remove(preparation)
  }

  private func sendDue(at now: Instant) {
    while next < plan.callCount, begin.advanced(by: plan.time(of: next)) <= now {
      sender.send(next, at: now)
      next += 1
    }
    waitForNext(at: now)
  }

  private func waitForNext(at now: Instant) {
    guard next < plan.callCount else { return }
    let due = begin.advanced(by: plan.time(of: next))
    timer.deadline = due
    if sender.preparesCalls {
      preparation.deadline = now.advanced(by: now.duration(to: due) / 2)
    }
  }
}
