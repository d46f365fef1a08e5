internal import PusherCore

/// The subscribers of a run: opens them at a pace, counts what becomes of them, and closes them.
final class BenchFleet {
  private let crew: BenchCrew
  private let rate: Int
  private(set) var subscribers: [BenchSubscriber]
  /// Subscribers whose first attempt has an outcome.
  private(set) var settled = 0
  private(set) var reconnects = 0
  private(set) var gaps = 0
  private(set) var errors = ErrorCounts()
  /// The errors of subscribers that were never subscribed before.
  private var refusals = ErrorCounts()
  private(set) var times = FleetTimes()
  private let pacer = FleetPacer()
  /// Called once, after the last subscriber has an outcome.
  var onSettled: (() -> Void)?

  init(_ count: Int, crew: BenchCrew, connectionsPerSecond rate: Int) {
    (self.crew, self.rate) = (crew, rate)
    subscribers = (0..<count).map { BenchSubscriber($0, crew: crew) }
    crew.delegate = self
  }

  private var loop: EventLoop { crew.loop }

  /// Opens the sockets, each at its intended time; the first one is due at `begin`.
  func open(at begin: Instant) {
    times.begin = begin
    let rate = Double(rate)
    let due = subscribers.map { subscriber in
      begin.advanced(by: .nanoseconds(Int64(Double(subscriber.number) / rate * 1e9)))
    }
    pacer.start(due, loop: loop) { [unowned self] number, time in
      let subscriber = subscribers[number]
      do {
        try subscriber.start(at: time)
      } catch {
        subscriberFailed(subscriber, "unsent", "\(error)", .settings, at: loop.now)
        subscriberSettled(subscriber, at: loop.now)
      }
    }
  }

  /// Subscribers that were subscribed when the run ended.
  private(set) var connectedAtEnd = 0

  func noteEnd() { connectedAtEnd = connected }

  var figures: ConnectionFigures {
    ConnectionFigures(
      subscribers: subscribers.count, connected: connectedAtEnd, firstJoins: times.firstJoins,
      lastFirstJoin: times.lastFirstJoin, steps: times.steps, back: times.back,
      reconnects: reconnects, gaps: gaps, refusals: refusals)
  }

  var connected: Int { subscribers.count { $0.isSubscribed } }
  /// The subscribers that must get every event of their channel.
  var counted: [BenchSubscriber] { subscribers.filter(\.isCounted) }
  /// Time of the last change; a fleet without changes has nothing to wait for.
  var lastChange: Instant? { times.lastChange }

  /// Cuts all connections at once, and counts until when they are back.
  func cut() {
    (times.cutAt, times.lastChange) = (loop.now, loop.now)
    for subscriber in subscribers where subscriber.isSubscribed { subscriber.lose() }
  }

  func close() {
    pacer.stop(loop)
    crew.delegate = nil
    for subscriber in subscribers { subscriber.close() }
  }

  func abort() { for subscriber in subscribers { subscriber.abort() } }
  var isClosed: Bool { subscribers.allSatisfy { $0.isClosed } }
}

extension BenchFleet: BenchSubscriberDelegate {
  func subscriberSettled(_ subscriber: BenchSubscriber, at now: Instant) {
    times.lastChange = now
    settled += 1
    if settled == subscribers.count { onSettled?() }
  }

  func subscriberJoined(_ subscriber: BenchSubscriber, _ steps: ConnectionSteps, at now: Instant) {
    if subscriber.isSettled { reconnects += 1 }
    times.note(steps, isFirst: !subscriber.isSettled, at: now)
    crew.ledger.noteConnected(at: now)
  }

  func subscriberFailed(
    _ subscriber: BenchSubscriber, _ code: String, _ reason: String, _ cause: Cause?,
    at now: Instant
  ) {
    errors.note(code, reason, cause)
    if !subscriber.isSettled { refusals.note(code, reason, cause) }
    crew.ledger.noteError(at: now)
  }

  func subscriberHadGap() { gaps += 1 }
}

/// Times of all connections of a run.
struct FleetTimes {
  var begin: Instant?
  /// Time at which all connections were cut; `nil` before.
  var cutAt: Instant?
  var lastChange: Instant?
  /// Subscribers that were subscribed at least once, and the time of the last of them.
  private(set) var firstJoins = 0
  private(set) var lastFirstJoin: Instant?
  /// One for each of ``BenchFigure/steps``.
  private(set) var steps = BenchFigure.steps.map { _ in DelayHistogram() }
  /// From the cut until the subscriber is back.
  private(set) var back = DelayHistogram()

  mutating func note(_ connection: ConnectionSteps, isFirst: Bool, at now: Instant) {
    lastChange = now
    if isFirst {
      firstJoins += 1
      lastFirstJoin = now
    }
    for (index, time) in connection.all.enumerated() {
      if let time { steps[index].record(time) }
    }
    if let cutAt { back.record(cutAt.duration(to: now)) }
  }
}

/// Starts items, each at its intended time.
final class FleetPacer {
  private var timer: LoopTimer?

  /// - Parameter due: The intended times, in order of the items.
  func start(
    _ due: [Instant], loop: EventLoop, _ body: @escaping (_ item: Int, _ time: Instant) -> Void
  ) {
    var next = 0
    let timer = LoopTimer(deadline: due.first) { [unowned self] in
      let now = loop.now
      while next < due.count, due[next] <= now {
        body(next, due[next])
        next += 1
      }
      self.timer?.deadline = next < due.count ? due[next] : nil
    }
    self.timer = timer
    loop.add(timer)
  }

  func stop(_ loop: EventLoop) {
    if let timer { loop.remove(timer) }
    timer = nil
  }
}
