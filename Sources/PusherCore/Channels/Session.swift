/// The Pusher protocol from the first dial to the end, over any number of connections.
///
/// Rules of this machine:
/// - It does no I/O, reads no clock and draws no random numbers of its own. Time is an argument,
///   and jitter comes from the given generator.
/// - Every input is legal in every phase; an input without a meaning there does nothing.
/// - After each input, the owner drains ``nextOutput()`` until it is `nil`, performs the outputs in
///   order, and calls ``tick(at:)`` at ``deadline``.
/// - There is one connection at a time; answers for an earlier one are ignored.
package struct Session {
  enum Phase: Equatable {
    case idle
    /// From the dial to `connection_established`.
    case connecting(until: Instant)
    case connected(socketID: String, since: Instant)
    case waiting(until: Instant)
    case ended
  }

  private(set) var options: SessionOptions
  var random: any RandomNumberGenerator
  private(set) var phase = Phase.idle
  var link = Link()
  var subscriptions = SubscriptionTable()
  var signIn = SignIn()
  /// True while the owner leaves the socket unread.
  private(set) var isReadingPaused = false
  /// The `pusher:ping` messages of all connections, in both directions.
  package internal(set) var pings = PingCounts()
  private var reconnector: Reconnector
  var rates = RateLimits()
  var decryptor: EventDecryptor
  private var outbox = Fifo<SessionOutput>()

  /// - Parameter random: Source of the back-off's jitter.
  package init(options: SessionOptions, random: any RandomNumberGenerator) {
    (self.options, self.random) = (options, random)
    decryptor = EventDecryptor(service: options.service)
    reconnector = Reconnector(options.reconnect)
  }

  package mutating func nextOutput() -> SessionOutput? { outbox.popFirst() }

  var command: ClientCommand { ClientCommand(service: options.service) }

  mutating func emit(_ output: SessionOutput) { outbox.append(output) }
  mutating func report(_ event: SessionEvent) { outbox.append(.report(event)) }

  package var isConnected: Bool { socketID != nil }

  package var socketID: String? {
    if case .connected(let socketID, _) = phase { socketID } else { nil }
  }

  package var deadline: Instant? {
    switch phase {
    case .idle, .ended: nil
    // Nothing is read, so nothing can be answered.
    case .connecting where isReadingPaused, .waiting where isReadingPaused: nil
    case .connecting(let until), .waiting(let until): until
    case .connected:
      Instant.earliest(
        Instant.earliest(link.keepalive?.deadline, paceDeadline),
        Instant.earliest(
          signIn.deadline(ignoringRequests: isReadingPaused),
          subscriptions.deadline(ignoringRequests: isReadingPaused)))
    }
  }

  package mutating func connect(at now: Instant) {
    guard phase == .idle else { return }
    dial(at: now)
  }

  private mutating func dial(at now: Instant) {
    link.begin()
    phase = .connecting(until: now.advanced(by: options.connectTimeout))
    emit(.dial)
  }

  /// Ends the session from any phase, without another attempt.
  package mutating func disconnect(at now: Instant) {
    guard phase != .ended else { return }
    switch phase {
    case .connected: emit(.close)
    case .connecting: emit(.abort)
    case .idle, .waiting, .ended: break
    }
    end(.asked)
  }

  private mutating func end(_ reason: ConnectionEnd) {
    phase = .ended
    link.end()
    report(.connection(.ended(reason)))
  }

  mutating func established(socketID: String, activityTimeout: Duration?, at now: Instant) {
    guard case .connecting = phase else {
      report(.malformed(reason: "a second connection_established", bytes: []))
      return
    }
    let timeout = min(options.activityTimeout, activityTimeout ?? options.activityTimeout)
    phase = .connected(socketID: socketID, since: now)
    reconnector.noteOpen()
    link.delivery.last = now
    link.keepalive = Keepalive(activityTimeout: timeout, pongTimeout: options.pongTimeout, at: now)
    link.keepalive?.setPaused(isReadingPaused, at: now)
    report(.connected(socketID: socketID, activityTimeout: timeout))
    beginSignIn()
    beginChannels(at: now)
  }

  package mutating func lost(_ loss: ConnectionLoss, at now: Instant) {
    var lived: Duration?
    switch phase {
    case .connected(_, let since): lived = since.duration(to: now)
    case .connecting: break
    case .idle, .waiting, .ended: return
    }
    let loss = explained(loss, at: now)
    forgetConnection(at: now)
    // A connection that this side dropped has not proved stable, however long it lasted.
    if case .dropped = loss { lived = nil }
    if let lived, lived >= Reconnector.stableAfter { reconnector.noteStable() }
    let code = ClosePolicy.effectiveCode(loss, lastError: link.lastError)
    let decision = ClosePolicy.decide(loss, lastError: link.lastError)
    retry(after: decision, loss, code: code, at: now)
  }

  /// Opens a gap if events came on the connection and some may be missing.
  mutating func forgetConnection(at now: Instant) {
    if isConnected, subscriptions.isAnySubscribed {
      reconnector.openGap(at: link.delivery.startOfLoss(at: now))
    }
    link.end()
    forgetPace(at: now)
    for channel in channels { abandon(channel) }
    if signIn.state != .unwanted { signIn.state = .waiting }
  }

  private mutating func abandon(_ channel: String) {
    subscriptions[channel]?.state = .waiting
    subscriptions[channel]?.authorization = nil
    guard let rekeying = subscriptions[channel]?.rekeying else { return }
    subscriptions[channel]?.rekeying = nil
    giveUp(rekeying, channel, "the connection was lost before a new key came")
  }

  private mutating func retry(
    after decision: ReconnectDecision, _ loss: ConnectionLoss, code: Int?, at now: Instant
  ) {
    let verdict = reconnector.lost(decision, retryAfter: loss.retryAfter, random: &random)
    let attempts = reconnector.attempts
    var delay: Duration?
    if case .retry(let time) = verdict { delay = time }
    report(.connection(.disconnected(loss, code: code, retryIn: delay, attempt: attempts)))
    switch verdict {
    case .retry(.zero): dialSoon(at: now)
    case .retry(let delay): wait(until: now.advanced(by: delay))
    case .stop: end(.lost(loss, code: code))
    case .giveUp: end(.retriesExhausted(loss, code: code, attempts: attempts))
    }
  }

  /// Dials at once, or at the next tick if the owner does not read or may still move the attempt.
  mutating func dialSoon(at now: Instant) {
    if isReadingPaused || options.announcesRetries { wait(until: now) } else { dial(at: now) }
  }

  /// Everything learned about the former server is forgotten.
  mutating func replace(_ options: SessionOptions) {
    self.options = options
    decryptor.restart(service: options.service)
    rates = RateLimits()
    reconnector.restart(options.reconnect)
    for channel in channels { subscriptions[channel]?.signatures = SignatureAttempts() }
    signIn.signatures = SignatureAttempts()
  }

  /// Moves the next attempt to connect; does nothing unless one is planned.
  package mutating func retry(in delay: Duration, at now: Instant) {
    guard case .waiting = phase else { return }
    wait(until: now.advanced(by: max(delay, .zero)))
  }

  private mutating func wait(until time: Instant) { phase = .waiting(until: time) }

  mutating func closeGapIfSettled(at now: Instant) {
    guard reconnector.isGapOpen, subscriptions.areAllSettled else { return }
    // Channels that are no longer wanted lost nothing.
    guard !subscriptions.isEmpty else { return reconnector.forgetGap() }
    guard let start = reconnector.closeGap(at: now) else { return }
    report(.connection(.gap(from: start, to: now)))
  }

  /// Start of a possible loss if another session replaces this one now; `nil` for no loss.
  package func startOfLoss(at now: Instant) -> Instant? {
    if let start = reconnector.gapStart { return start }
    guard isConnected, subscriptions.isAnySubscribed else { return nil }
    // The messages that were read are handed out; the rest is under way.
    return isReadingPaused
      ? link.delivery.startOfLoss(at: now) : now.advanced(by: .zero - link.delivery.roundTrip)
  }

  package mutating func noteActivity(at now: Instant) { link.keepalive?.noteActivity(at: now) }

  /// Every message received by `now` was handed out, so a later loss cannot affect it.
  package mutating func noteDelivery(at now: Instant) { link.delivery.last = now }

  /// While nothing is read, silence proves nothing, answers are not late and nothing is dialled;
  /// afterwards, every answer gets its full time again.
  package mutating func setReadingPaused(_ paused: Bool, at now: Instant) {
    guard paused != isReadingPaused else { return }
    isReadingPaused = paused
    link.keepalive?.setPaused(paused, at: now)
    guard !paused else { return }
    if case .connecting = phase {
      phase = .connecting(until: now.advanced(by: options.connectTimeout))
    }
    let deadline = now.advanced(by: options.connectTimeout)
    if case .requested = signIn.state { signIn.state = .requested(until: deadline) }
    subscriptions.renewRequests(until: deadline)
  }

  package mutating func redirected(status: Int, to place: String) {
    guard case .connecting = phase else { return }
    report(.connection(.redirected(status: status, to: place)))
  }

  /// `stage` is the step that an attempt waits for, for the message if it is given up.
  package mutating func tick(at now: Instant, stage: ConnectionStage? = nil) {
    switch phase {
    case .idle, .ended: return
    case .connecting where isReadingPaused, .waiting where isReadingPaused: return
    case .waiting(let until): if now >= until { dial(at: now) }
    case .connecting(let until):
      guard now >= until else { return }
      emit(.abort)
      lost(.handshakeTimeout(options.connectTimeout, stage), at: now)
    case .connected:
      switch link.keepalive?.tick(at: now) {
      case .sendPing:
        pings.sent += 1
        emit(.send(command.ping))
      case .dead:
        emit(.abort)
        lost(.noPong(options.pongTimeout), at: now)
        return
      case nil: break
      }
      tickPace(at: now)
      if tickSignIn(at: now) { tickSubscriptions(at: now) }
    }
  }
}

/// State of the present connection.
struct Link {
  /// Counts connections, so that late answers can be recognised.
  private(set) var generation = 0
  var keepalive: Keepalive?
  /// Code of the last `pusher:error`; it explains the loss of the connection.
  var lastError: Int?
  var delivery = Delivery()

  mutating func begin() {
    generation += 1
    lastError = nil
    delivery.roundTrip = .zero
  }

  mutating func end() {
    generation += 1
    keepalive = nil
  }
}

/// Estimates how long messages are under way, which decides the start of a gap.
struct Delivery {
  /// Last time at which all received messages were known to be handed out.
  var last: Instant?
  /// Longest time from a request to its answer; no message is under way for longer.
  var roundTrip = Duration.zero

  mutating func noteAnswer(to sent: Instant, at now: Instant) {
    roundTrip = max(roundTrip, sent.duration(to: now))
  }

  /// Returns the earliest time at which the server may have sent a message that was not handed out.
  ///
  /// Messages sent before the last received one arrived before it, except those still under way.
  func startOfLoss(at now: Instant) -> Instant { (last ?? now).advanced(by: .zero - roundTrip) }
}
