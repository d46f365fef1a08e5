internal import PusherCore

/// Receives the reports of a run's subscribers, on the loop's thread.
protocol BenchSubscriberDelegate: AnyObject {
  /// The subscriber was subscribed for the first time, or cannot be.
  func subscriberSettled(_ subscriber: BenchSubscriber, at now: Instant)
  /// The subscriber is subscribed, for the first time or again.
  func subscriberJoined(_ subscriber: BenchSubscriber, _ steps: ConnectionSteps, at now: Instant)
  /// - Parameter cause: `nil` for an error that does not keep the subscriber away.
  func subscriberFailed(
    _ subscriber: BenchSubscriber, _ code: String, _ reason: String, _ cause: Cause?,
    at now: Instant)
  func subscriberHadGap()
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
    crew.delegate?.subscriberSettled(self, at: now)
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
    crew.delegate?.subscriberJoined(self, steps, at: now)
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
    crew.delegate?.subscriberFailed(self, code, reason, cause, at: now)
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
    case .gap: crew.delegate?.subscriberHadGap()
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
