internal import PusherCore

/// Everything that came, and how late: the account, the delays and the rows a second.
///
/// All subscribers share it, on the loop's thread.
final class DeliveryLedger {
  let plan: BenchPlan
  private let message: BenchMessage
  private(set) var account: DeliveryAccount
  private(set) var delays = DelayHistogram()
  var seconds = BenchSeconds()
  /// Events with the wrong text, the wrong time or on the wrong channel.
  private(set) var wrong = 0
  /// Beginning of the plan; `nil` before it.
  ///
  /// Deliveries before it are of another run.
  var begin: Instant? { didSet { origin = begin } }
  /// Time of the first row; connections that are made before the plan begins have no row.
  var origin: Instant?
  /// Time of the last delivery of an event of the plan.
  private(set) var lastDelivery: Instant?

  init(plan: BenchPlan, message: BenchMessage, subscribers: Int) {
    (self.plan, self.message) = (plan, message)
    account = DeliveryAccount(subscribers: subscribers, events: plan.longestChannel)
  }

  /// Takes a message for a subscriber; returns false if it is no event of this run.
  ///
  /// - Parameters:
  ///   - isData: True for the data alone, of an event that was decrypted.
  ///   - subscriber: Number of the subscriber.
  func take(
    _ view: ByteView, isData: Bool = false, for subscriber: Int, on channel: Int, at now: Instant
  ) -> Bool {
    switch message.read(view, isData: isData) {
    case .foreign: return false
    case .wrong: wrong += 1
    case .event(let name): note(name.number, name, subscriber, channel, at: now)
    case .member(let name, let hasLeft):
      note(hasLeft ? name.number + 1 : name.number, name, subscriber, channel, at: now)
    }
    return true
  }

  private func note(
    _ number: Int, _ name: BenchMessage.Name, _ subscriber: Int, _ channel: Int, at now: Instant
  ) {
    // The label of a member who leaves has the time of the join.
    guard let begin, name.channel == channel, let call = plan.call(of: number, on: channel),
      number != name.number || plan.microseconds(of: call) == name.microseconds
    else {
      wrong += 1
      return
    }
    lastDelivery = now
    guard account.note(number, by: subscriber) == .new else { return }
    let elapsed = begin.duration(to: now)
    let delay = elapsed - plan.time(of: call)
    delays.record(delay)
    seconds.noteDelivery(at: elapsed, after: delay)
  }

  /// Elapsed time of the plan, or of a run without events; zero before the beginning.
  func elapsed(at now: Instant) -> Duration { origin?.duration(to: now) ?? .zero }

  func noteConnected(at now: Instant) {
    if origin != nil { seconds.noteConnected(at: elapsed(at: now)) }
  }

  func noteError(at now: Instant) {
    if origin != nil { seconds.noteError(at: elapsed(at: now)) }
  }
}

extension BenchPlan {
  func microseconds(of call: Int) -> Int { Int(time(of: call).wholeNanoseconds / 1000) }

  func name(of number: Int, in call: Int) -> BenchMessage.Name {
    BenchMessage.Name(
      channel: channel(of: call), number: number, microseconds: microseconds(of: call))
  }
}

/// Takes the events of one subscriber off the hot path.
final class DeliverySink: EventSink {
  private let ledger: DeliveryLedger
  private let subscriber: Int
  private let channel: Int
  /// Shows each taken message; `nil` unless somebody looks.
  private let trace: Diagnostics?

  init(_ ledger: DeliveryLedger, subscriber: Int, channel: Int, trace: Diagnostics?) {
    (self.ledger, self.subscriber, self.channel) = (ledger, subscriber, channel)
    self.trace = trace
  }

  func take(message: ByteView) -> SinkVerdict {
    // The round's time would hide the wait for the subscribers that are read before this one.
    let isTaken = ledger.take(message, for: subscriber, on: channel, at: SystemClock.now())
    if isTaken { trace?.debug("< \(Redaction.redact(message.text))") }
    return isTaken ? .taken : .declined
  }
}
