internal import PusherCore

/// The subscribers of a run: opens them at a pace, counts what becomes of them, and closes them.
///
/// They share its loop, its server and its ledger.
final class BenchFleet {
  let loop: EventLoop
  let deadlines = DeadlineQueue()
  let ledger: BenchLedger
  fileprivate let diagnostics: Diagnostics
  fileprivate let channels: [String]
  private let subscription: SubscribeSettings
  /// Made once: thousands of feeds share its texts.
  private let destination: Destination
  private let options: SessionOptions
  private let rate: Double
  private(set) var subscribers: [BenchSubscriber] = []
  /// Subscribers whose first attempt has an outcome.
  private(set) var settled = 0
  private(set) var errors = ErrorCounts()
  private(set) var figures = ConnectionFigures()
  /// Time of the last change; `nil` before the first one.
  private(set) var lastChange: Instant?
  /// Time at which all connections were cut; `nil` before.
  private var cutAt: Instant?
  private var opener: LoopTimer?
  /// What the closing brings counts no more.
  private var isClosing = false

  init(
    _ settings: BenchSettings, _ ledger: BenchLedger, loop: EventLoop, diagnostics: Diagnostics
  ) {
    (self.loop, self.ledger, self.diagnostics) = (loop, ledger, diagnostics)
    subscription = settings.subscription
    (channels, destination) = (subscription.channels, subscription.destination)
    // No list of members: a run may have a million of them.
    var options = subscription.sessionOptions()
    options.ordersEvents = false
    options.presence.members = 1
    self.options = options
    rate = settings.load.connectionRate
    figures.subscribers = settings.load.subscribers
    subscribers = (0..<settings.load.subscribers).map { BenchSubscriber($0, fleet: self) }
    loop.add(deadlines)
  }

  fileprivate var isSecure: Bool { destination.url.isSecure }

  /// - Parameter signer: `nil` for that of the settings.
  func makeFeed(
    _ sink: any EventSink & ChannelsFeedDelegate, signer: (any Signer)? = nil
  ) throws -> ChannelsFeed {
    let feed = try ChannelsFeed(
      loop: loop, destination: destination, settings: subscription.webSocket, options: options,
      signer: signer ?? subscription.signer(loop: loop), sink: sink)
    feed.delegate = sink
    return feed
  }

  /// Opens the sockets, each at its intended time; the first one is due at `begin`.
  func open(at begin: Instant) {
    let due = subscribers.map { subscriber in
      begin.advanced(by: .nanoseconds(Int64(Double(subscriber.number) / rate * 1e9)))
    }
    var next = 0
    let timer = LoopTimer(deadline: due.first) { [unowned self] in
      let now = loop.now
      while next < due.count, due[next] <= now {
        start(subscribers[next], at: due[next])
        next += 1
      }
      opener?.deadline = next < due.count ? due[next] : nil
    }
    opener = timer
    loop.add(timer)
  }

  private func start(_ subscriber: BenchSubscriber, at time: Instant) {
    do {
      try subscriber.start(at: time)
    } catch {
      noteFailed(subscriber, "unsent", "\(error)", .settings)
      noteSettled(at: loop.now)
    }
  }

  /// True while sockets have yet to be opened.
  var isOpening: Bool { opener?.deadline != nil }

  /// Notes the subscribers that are subscribed when the run ends.
  func noteEnd() { figures.connected = connected }

  var connected: Int { subscribers.count { $0.isSubscribed } }
  /// The subscribers that must get every event of their channel.
  var counted: [BenchSubscriber] { subscribers.filter(\.isCounted) }

  /// Cuts all connections at once, and counts until when they are back.
  func cut() {
    (cutAt, lastChange) = (loop.now, loop.now)
    for subscriber in subscribers where subscriber.isSubscribed { subscriber.lose() }
  }

  func close() {
    if let opener { loop.remove(opener) }
    (opener, isClosing) = (nil, true)
    for subscriber in subscribers { subscriber.close() }
  }

  func abort() { for subscriber in subscribers { subscriber.abort() } }
  var isClosed: Bool { subscribers.allSatisfy { $0.isClosed } }

  // MARK: Reports of the subscribers

  /// A subscriber was subscribed for the first time, or cannot be.
  fileprivate func noteSettled(at now: Instant) {
    guard !isClosing else { return }
    lastChange = now
    settled += 1
    if settled == subscribers.count { loop.stop() }
  }

  /// A subscriber is subscribed, for the first time or again.
  ///
  /// - Parameter steps: By the names of ``BenchFigure/steps``; a step that did not happen has none.
  fileprivate func noteJoined(
    _ subscriber: BenchSubscriber, _ steps: [String: Duration], at now: Instant
  ) {
    guard !isClosing else { return }
    lastChange = now
    if subscriber.isSettled {
      figures.reconnects += 1
    } else {
      figures.firstJoins += 1
      figures.lastFirstJoin = now
    }
    for (index, step) in BenchFigure.steps.enumerated() {
      if let time = steps[step] { figures.steps[index].record(time) }
    }
    if let cutAt { figures.back.record(cutAt.duration(to: now)) }
    ledger.noteConnected(at: now)
  }

  /// - Parameter cause: `nil` for an error that does not keep the subscriber away.
  fileprivate func noteFailed(
    _ subscriber: BenchSubscriber, _ code: String, _ reason: String, _ cause: Cause?
  ) {
    guard !isClosing else { return }
    errors.note(code, reason, cause)
    if !subscriber.isSettled { figures.refusals.note(code, reason, cause) }
    ledger.noteError(at: loop.now)
  }

  fileprivate func noteGap() { if !isClosing { figures.gaps += 1 } }
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
  /// By the names of ``BenchFigure/steps``; a step that did not happen has none.
  private var steps: [String: Duration] = [:]
  private unowned let fleet: BenchFleet

  fileprivate init(_ number: Int, fleet: BenchFleet) {
    (self.number, self.fleet) = (number, fleet)
    channel = number % fleet.channels.count
    channelName = fleet.channels[channel]
  }

  /// Connects and subscribes; `time` is the intended start.
  func start(at time: Instant) throws {
    begin = time
    let feed = try fleet.makeFeed(self)
    self.feed = feed
    feed.subscribe(channelName)
    feed.connect(in: fleet.deadlines)
  }

  /// Loses the connection as if the network had failed.
  func lose() {
    isCut = true
    let loss = ConnectionLoss.network("the connection was cut by bench")
    feed?.connection?.broke(loss, at: fleet.loop.now)
  }

  func close() { feed?.disconnect() }
  func abort() { feed?.abort() }
  var isClosed: Bool { feed?.isClosed ?? true }

  private func settle(at now: Instant) {
    guard !isSettled else { return }
    isSettled = true
    fleet.noteSettled(at: now)
  }

  private func upgraded(at now: Instant) {
    let times = feed?.connection?.state.times ?? OpeningTimes()
    let start = begin ?? times.begin ?? now
    steps = [:]
    steps["dial"] = times.connected.map { start.duration(to: $0) }
    if fleet.isSecure, let connected = times.connected {
      steps["tls"] = times.secured.map { connected.duration(to: $0) }
    }
    if let secured = times.secured {
      steps["upgrade"] = times.answered.map { secured.duration(to: $0) }
    }
    greetedAt = times.answered ?? now
    begin = start
  }

  private func subscribed(at now: Instant) {
    isSubscribed = true
    steps["subscription"] = greetedAt?.duration(to: now)
    steps["connect"] = begin?.duration(to: now)
    fleet.noteJoined(self, steps, at: now)
    // Empty, because a run may have a million subscribers.
    (begin, greetedAt, steps) = (nil, nil, [:])
    settle(at: now)
  }
}

extension BenchSubscriber: ChannelsFeedDelegate {
  func feed(received event: Envelope, named name: String?, at now: Instant) {
    // The sink has taken all others that are of this run.
    if event.isDecrypted {
      // The first event of a key has its plain text in the message, and all others beside it.
      _ = fleet.ledger.take(
        event.plainData ?? event.message, isData: event.plainData != nil, for: number, on: channel,
        at: SystemClock.now())
    }
  }

  func feed(reports event: SessionEvent, at now: Instant) {
    let now = fleet.loop.now
    switch event {
    case .connected:
      steps["greeting"] = greetedAt?.duration(to: now)
      greetedAt = now
    case .subscribed: subscribed(at: now)
    case .subscriptionFailed(_, let failure):
      failed(
        failure.status.map { "http \($0)" } ?? failure.type, failure.message, Cause(failure))
      settle(at: now)
    case .error(let code?, let message) where !(4000..<4300).contains(code):
      failed("\(code)", message, nil)
    case .error(nil, let message)
    where ErrorSubject(code: nil, message: message) == .clientEvent:
      failed("client event", message, nil)
    case .malformed(let reason, _): failed("malformed", reason, nil)
    case .decryptionFailed(_, _, _, let reason): failed("decryption", reason, nil)
    case .missed: fleet.noteGap()
    default: break
    }
  }

  private func failed(_ code: String, _ reason: String, _ cause: Cause?) {
    fleet.noteFailed(self, code, reason, cause)
  }

  func feed(reports event: ConnectionEvent, at now: Instant) {
    switch event {
    case .upgraded: upgraded(at: fleet.loop.now)
    case .disconnected(let loss, let code, _, _):
      (isSubscribed, begin, greetedAt) = (false, nil, nil)
      losses += 1
      // A cut of our own is no error.
      if !isCut {
        failed(loss.code(code), loss.description, Cause(loss, code: code))
      }
      isCut = false
    case .gap: fleet.noteGap()
    case .ended: settle(at: fleet.loop.now)
    case .opened, .redirected, .reconnectionTime, .resumedElsewhere: break
    }
  }

  func feedSinkIsFull() {}
  func feedClosed() {}

  func feed(exchanged text: @autoclosure () -> String, isSent: Bool) {
    fleet.diagnostics.debug("\(isSent ? ">" : "<") \(Redaction.redact(text()))")
  }
}

extension BenchSubscriber: EventSink {
  /// Takes the events of the run off the hot path.
  func take(message: ByteView) -> SinkVerdict {
    // The round's time would hide the wait for the subscribers that are read before this one.
    let isTaken = fleet.ledger.take(message, for: number, on: channel, at: SystemClock.now())
    if isTaken, fleet.diagnostics.showsMessages {
      fleet.diagnostics.debug("< \(Redaction.redact(message.text))")
    }
    return isTaken ? .taken : .declined
  }
}
