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

/// The events that each subscriber got: a bit for each event and subscriber.
///
/// Memory is fixed at the start; ``BenchLoad`` has its limit.
struct DeliveryAccount {
  enum Arrival: Equatable {
    case new
    /// The subscriber already has the event.
    case doubled
  }

  private let words: Int
  /// One row of ``words`` words for each subscriber.
  private var bits: [UInt64]
  /// The number after the highest that came, by subscriber.
  private var next: [Int]
  private(set) var delivered = 0
  private(set) var doubled = 0
  /// Deliveries that came after a later event of the same channel.
  private(set) var outOfOrder = 0

  init(subscribers: Int, events: Int) {
    words = (max(events, 1) + 63) / 64
    bits = [UInt64](repeating: 0, count: subscribers * words)
    next = [Int](repeating: 0, count: subscribers)
  }

  /// Notes a delivery; `number` must be an event of the plan.
  mutating func note(_ number: Int, by subscriber: Int) -> Arrival {
    let word = subscriber * words + number / 64
    let bit: UInt64 = 1 << UInt64(number % 64)
    guard bits[word] & bit == 0 else {
      doubled += 1
      return .doubled
    }
    bits[word] |= bit
    delivered += 1
    if number < next[subscriber] { outOfOrder += 1 } else { next[subscriber] = number + 1 }
    return .new
  }

  /// Returns the number of accepted events that a subscriber lacks, and calls `body` with each.
  func missing(
    by subscriber: Int, of accepted: EventSet, _ body: (_ number: Int) -> Void
  ) -> Int {
    var count = 0
    for (index, wanted) in accepted.words.prefix(words).enumerated() {
      var rest = wanted & ~bits[subscriber * words + index]
      count += rest.nonzeroBitCount
      while rest != 0 {
        body(index * 64 + rest.trailingZeroBitCount)
        rest &= rest - 1
      }
    }
    return count
  }

  /// Returns the number of accepted events that a subscriber has.
  func received(by subscriber: Int, of accepted: EventSet) -> Int {
    accepted.words.prefix(words).enumerated().reduce(0) { sum, word in
      sum + (word.element & bits[subscriber * words + word.offset]).nonzeroBitCount
    }
  }
}

/// A set of the numbers of one channel's events.
struct EventSet: Equatable {
  fileprivate(set) var words: [UInt64]
  private(set) var count = 0

  /// - Parameter events: Numbers are below this.
  init(events: Int) { words = [UInt64](repeating: 0, count: (max(events, 1) + 63) / 64) }

  mutating func insert(_ number: Int) {
    let bit: UInt64 = 1 << UInt64(number % 64)
    guard words[number / 64] & bit == 0 else { return }
    words[number / 64] |= bit
    count += 1
  }
}

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

/// The part of the planned load that a run did not make.
///
/// Such a run is no measurement, whatever its figures are: fewer subscribers or events than planned
/// are easier for a server.
struct LoadShortfall: Equatable {
  /// One sentence.
  let reason: String
  /// Decides about the exit status.
  let cause: Cause

  /// Returns `nil` for a run that made its load: every subscriber was subscribed, and the server
  /// took every event.
  init?(_ settings: BenchSettings, _ figures: RunFigures, isInterrupted: Bool) {
    guard !isInterrupted else {
      (reason, cause) = ("a signal ended the run", .time)
      return
    }
    var parts: [Part] = []
    if let part = Self.subscribers(settings, figures) { parts.append(part) }
    if settings.mode.sendsEvents {
      // Without subscribers, nothing is sent.
      if let part = Self.calls(settings, figures), parts.isEmpty || figures.events != nil {
        parts.append(part)
      }
    } else if settings.mode == .storm, parts.isEmpty {
      parts += Self.returns(figures)
    }
    guard let first = parts.first else { return nil }
    reason = parts.map(\.words).joined(separator: "; ")
    cause = first.cause
  }

  private struct Part {
    let words: String
    let cause: Cause

    init(words: String, cause: Cause) { (self.words, self.cause) = (words, cause) }

    /// - Parameter errors: The most frequent one explains the part.
    init(_ words: String, _ errors: ErrorCounts) {
      guard let (entry, cause) = errors.main else {
        self.init(words: words, cause: .unreachable)
        return
      }
      self.init(words: "\(words) (\(entry.inWords))", cause: cause)
    }
  }

  /// Subscribers that were missing when the load began.
  private static func subscribers(_ settings: BenchSettings, _ figures: RunFigures) -> Part? {
    let connections = figures.connections
    var subscribed = connections.firstJoins
    if let events = figures.events {
      let senders = settings.mode == .client ? settings.load.channels : 0
      subscribed = min(subscribed, events.receivers + senders)
    }
    guard subscribed < connections.subscribers else { return nil }
    return Part(
      "\(count(subscribed, of: connections.subscribers)) subscribers were subscribed",
      connections.refusals.main == nil ? figures.errors : connections.refusals)
  }

  /// Subscribers that did not come back after the cut.
  private static func returns(_ figures: RunFigures) -> [Part] {
    let connections = figures.connections
    guard connections.connected < connections.subscribers else { return [] }
    let words = count(connections.connected, of: connections.subscribers)
    return [Part("\(words) subscribers came back after the cut", figures.errors)]
  }

  /// Events that were not sent, or that the server did not take.
  private static func calls(_ settings: BenchSettings, _ figures: RunFigures) -> Part? {
    let plan = BenchPlan(settings)
    let events = figures.events ?? EventFigures()
    // The server confirms no client event, but says which ones its limit drops.
    let dropped = settings.mode == .client ? figures.errors.count(of: "\(RateLimit.code)") : 0
    let made = max(events.sent / plan.batch - dropped, 0)
    guard made < plan.callCount else { return nil }
    let what =
      switch settings.mode {
      case .client: "client events"
      case .presence: "joins and leaves"
      case .fanout, .connect, .storm: "calls"
      }
    let words = "the server accepted \(count(made, of: plan.callCount)) \(what)"
    return dropped > events.failed
      ? Part(words: words + droppedWords(figures.errors), cause: .overloaded)
      : Part(words, events.errors)
  }

  private static func droppedWords(_ errors: ErrorCounts) -> String {
    let entry = errors.entries.first { $0.code.isSame(as: "\(RateLimit.code)") }
    return entry.map { " (\($0.inWords))" } ?? ""
  }

  private static func count(_ count: Int, of all: Int) -> String {
    "\(count == 0 ? "none" : BenchNumber.grouped(count)) of \(BenchNumber.grouped(all))"
  }
}

extension ErrorCounts.CodeCount {
  /// The code of the protocol or of HTTP and the reason, which may name the code itself.
  fileprivate var inWords: String {
    let number = code.split(separator: " ").last.map(String.init) ?? code
    let reason = Redaction.redact(example)
    let numbers = reason.utf8.split { !(0x30...0x39).contains($0) }
    guard Int(number) != nil, !numbers.contains(where: { $0.elementsEqual(number.utf8) }) else {
      return reason
    }
    return reason.isEmpty ? number : "\(number): \(reason)"
  }
}

/// Errors of a run by code, each with the words of the first.
struct ErrorCounts: Equatable {
  struct CodeCount: Equatable {
    let code: String
    /// The message of the first error.
    let example: String
    /// Cause of the first error; `nil` if it kept nothing away.
    let cause: Cause?
    var count: Int
  }

  private(set) var entries: [CodeCount] = []
  private(set) var total = 0

  /// Maximum number of codes, which a server could make up; a message has 4 KiB at most.
  private static let limit = 50
  private static let others = "other"

  mutating func note(_ code: String, _ example: String, _ cause: Cause? = nil) {
    note(CodeCount(code: code, example: Diagnostics.shortened(example), cause: cause, count: 1))
  }

  mutating func add(_ other: ErrorCounts) {
    for entry in other.entries { note(entry) }
  }

  private mutating func note(_ new: CodeCount) {
    total += new.count
    let known = place(of: new.code)
    let code = known == nil && entries.count >= Self.limit ? Self.others : new.code
    if let place = known ?? place(of: code) {
      entries[place].count += new.count
    } else {
      entries.append(
        CodeCount(code: code, example: new.example, cause: new.cause, count: new.count))
    }
  }

  /// The most frequent errors with a cause; the earlier code of two equal ones.
  var main: (entry: CodeCount, cause: Cause)? {
    var found: (entry: CodeCount, cause: Cause)?
    for entry in entries {
      if let cause = entry.cause, entry.count > found?.entry.count ?? 0 { found = (entry, cause) }
    }
    return found
  }

  func count(of code: String) -> Int { place(of: code).map { entries[$0].count } ?? 0 }

  private func place(of code: String) -> Int? {
    entries.firstIndex { $0.code.isSame(as: code) }
  }
}

extension ConnectionLoss {
  /// The code of the protocol, of the close frame or of HTTP, or a word for the kind of failure.
  func code(_ code: Int?) -> String {
    if let code { return "\(code)" }
    switch self {
    case .closed(let code?, _): return "\(code)"
    case .refused(let status, _, _): return "http \(status)"
    case .handshakeTimeout: return "timeout"
    case .noPong, .silent: return "no pong"
    case .untrusted: return "tls"
    case .violation, .limit, .notAnEventStream: return "protocol"
    case .closed, .ended, .endedUnmarked, .network, .dropped, .invalidRequest: return "network"
    }
  }
}
