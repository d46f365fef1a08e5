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
    crew.fleet = self
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
    crew.fleet = nil
    for subscriber in subscribers { subscriber.close() }
  }

  func abort() { for subscriber in subscribers { subscriber.abort() } }
  var isClosed: Bool { subscribers.allSatisfy { $0.isClosed } }
}

extension BenchFleet {
  /// The subscriber was subscribed for the first time, or cannot be.
  fileprivate func subscriberSettled(_ subscriber: BenchSubscriber, at now: Instant) {
    times.lastChange = now
    settled += 1
    if settled == subscribers.count { onSettled?() }
  }

  /// The subscriber is subscribed, for the first time or again.
  fileprivate func subscriberJoined(
    _ subscriber: BenchSubscriber, _ steps: ConnectionSteps, at now: Instant
  ) {
    if subscriber.isSettled { reconnects += 1 }
    times.note(steps, isFirst: !subscriber.isSettled, at: now)
    crew.ledger.noteConnected(at: now)
  }

  /// - Parameter cause: `nil` for an error that does not keep the subscriber away.
  fileprivate func subscriberFailed(
    _ subscriber: BenchSubscriber, _ code: String, _ reason: String, _ cause: Cause?,
    at now: Instant
  ) {
    errors.note(code, reason, cause)
    if !subscriber.isSettled { refusals.note(code, reason, cause) }
    crew.ledger.noteError(at: now)
  }

  fileprivate func subscriberHadGap() { gaps += 1 }
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
private final class FleetPacer {
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
    loop.cancel(&timer)
  }
}

/// Times of the steps of one connection; a step that did not happen has none.
struct ConnectionSteps: Equatable {
  var dial: Duration?
  /// `nil` without TLS.
  var tls: Duration?
  var upgrade: Duration?
  var greeting: Duration?
  var subscription: Duration?
  /// From the intended start to the subscription.
  var connect: Duration?

  /// In the order of ``BenchFigure/steps``.
  var all: [Duration?] { [dial, tls, upgrade, greeting, subscription, connect] }
}

/// One subscriber: a feed with one channel, and the times of its connection.
final class BenchSubscriber {
  /// From 0.
  let number: Int
  let channel: Int
  let channelName: String
  private(set) var feed: ChannelsFeed?
  private(set) var isSubscribed = false
  private(set) var isSettled = false
  /// Number of lost connections.
  private(set) var losses = 0
  /// True if the subscriber must get every event of its channel.
  var isCounted = false
  /// True from ``lose()`` until the loss is told.
  private var isCut = false
  /// Intended start of the first attempt; `nil` for later ones, which begin when the back-off says.
  private var begin: Instant?
  private var greetedAt: Instant?
  private var steps = ConnectionSteps()
  private let crew: BenchCrew

  init(_ number: Int, crew: BenchCrew) {
    (self.number, self.crew) = (number, crew)
    channel = number % crew.channels.count
    channelName = crew.channels[channel]
  }

  /// Connects and subscribes; `time` is the intended start.
  func start(at time: Instant) throws {
    begin = time
    let feed = try crew.makeFeed(self)
    self.feed = feed
    feed.delegate = self
    feed.subscribe(channelName)
    feed.connect(in: crew.deadlines)
  }

  /// Loses the connection as if the network had failed.
  func lose() {
    isCut = true
    let loss = ConnectionLoss.network("the connection was cut by bench")
    feed?.connection?.broke(loss, at: crew.loop.now)
  }

  func close() { feed?.disconnect() }
  func abort() { feed?.abort() }
  var isClosed: Bool { feed?.isClosed ?? true }

  private func settle(at now: Instant) {
    guard !isSettled else { return }
    isSettled = true
    crew.fleet?.subscriberSettled(self, at: now)
  }

  private func upgraded(at now: Instant) {
    let times = feed?.connection?.state.times ?? OpeningTimes()
    let start = begin ?? times.begin ?? now
    steps = ConnectionSteps()
    steps.dial = times.connected.map { start.duration(to: $0) }
    if crew.isSecure, let connected = times.connected {
      steps.tls = times.secured.map { connected.duration(to: $0) }
    }
    if let secured = times.secured {
      steps.upgrade = times.answered.map { secured.duration(to: $0) }
    }
    greetedAt = times.answered ?? now
    begin = start
  }

  private func subscribed(at now: Instant) {
    isSubscribed = true
    steps.subscription = greetedAt?.duration(to: now)
    steps.connect = begin?.duration(to: now)
    crew.fleet?.subscriberJoined(self, steps, at: now)
    (begin, greetedAt) = (nil, nil)
    settle(at: now)
  }
}

extension BenchSubscriber: ChannelsFeedDelegate {
  func feed(received event: Envelope, named name: String?, at now: Instant) {
    // The sink has taken all others that are of this run.
    if event.isDecrypted {
      // The first event of a key has its plain text in the message, and all others beside it.
      _ = crew.ledger.take(
        event.plainData ?? event.message, isData: event.plainData != nil, for: number, on: channel,
        at: SystemClock.now())
    }
  }

  func feed(reports event: SessionEvent, at now: Instant) {
    let now = crew.loop.now
    switch event {
    case .connected:
      steps.greeting = greetedAt?.duration(to: now)
      greetedAt = now
    case .subscribed: subscribed(at: now)
    case .subscriptionFailed(_, let failure):
      failed(
        failure.status.map { "http \($0)" } ?? failure.type, failure.message, Cause(failure),
        at: now)
      settle(at: now)
    case .error(let code?, let message) where !(4000..<4300).contains(code):
      failed("\(code)", message, nil, at: now)
    case .error(nil, let message)
    where ErrorSubject(code: nil, message: message) == .clientEvent:
      failed("client event", message, nil, at: now)
    case .malformed(let reason, _): failed("malformed", reason, nil, at: now)
    case .decryptionFailed(_, _, _, let reason): failed("decryption", reason, nil, at: now)
    default: break
    }
  }

  private func failed(_ code: String, _ reason: String, _ cause: Cause?, at now: Instant) {
    crew.fleet?.subscriberFailed(self, code, reason, cause, at: now)
  }

  func feed(reports event: ConnectionEvent, at now: Instant) {
    switch event {
    case .upgraded: upgraded(at: crew.loop.now)
    case .disconnected(let loss, let code, _, _):
      (isSubscribed, begin, greetedAt) = (false, nil, nil)
      losses += 1
      // A cut of our own is no error.
      if !isCut {
        failed(loss.code(code), loss.description, Cause(loss, code: code), at: crew.loop.now)
      }
      isCut = false
    case .gap: crew.fleet?.subscriberHadGap()
    case .ended: settle(at: crew.loop.now)
    case .opened, .redirected, .reconnectionTime, .resumedElsewhere: break
    }
  }

  func feedSinkIsFull() {}
  func feedClosed() {}

  func feed(exchanged text: @autoclosure () -> String, isSent: Bool) {
    crew.diagnostics.debug("\(isSent ? ">" : "<") \(Redaction.redact(text()))")
  }
}

/// Everything that the subscribers share: the loop, the server and the ledger.
final class BenchCrew {
  let loop: EventLoop
  let deadlines = DeadlineQueue()
  let ledger: DeliveryLedger
  let diagnostics: Diagnostics
  let channels: [String]
  fileprivate weak var fleet: BenchFleet?
  private let subscription: SubscribeSettings
  /// Made once: thousands of feeds share its texts.
  private let destination: Destination
  private let options: SessionOptions

  init(
    _ settings: BenchSettings, _ ledger: DeliveryLedger, loop: EventLoop, diagnostics: Diagnostics
  ) {
    (self.loop, self.ledger, self.diagnostics) = (loop, ledger, diagnostics)
    subscription = settings.subscription
    channels = subscription.channels
    destination = subscription.destination
    options = subscription.benchOptions
    loop.add(deadlines)
  }

  var isSecure: Bool { destination.url.isSecure }

  func makeFeed(_ subscriber: BenchSubscriber) throws -> ChannelsFeed {
    let sink = DeliverySink(
      ledger, subscriber: subscriber.number, channel: subscriber.channel,
      trace: diagnostics.showsMessages ? diagnostics : nil)
    return try ChannelsFeed(
      loop: loop, destination: destination, settings: subscription.webSocket, options: options,
      signer: subscription.signer(loop: loop), sink: sink)
  }
}

extension SubscribeSettings {
  /// Options of a session that keeps no list of members: a run may have a million of them.
  var benchOptions: SessionOptions {
    var options = sessionOptions()
    options.presence.members = 1
    return options
  }
}
