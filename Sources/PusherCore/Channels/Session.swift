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
  private var random: any RandomNumberGenerator
  private(set) var phase = Phase.idle
  private var link = Link()
  private(set) var subscriptions = SubscriptionTable()
  private(set) var signIn = SignIn()
  /// True while the owner leaves the socket unread.
  private(set) var isReadingPaused = false
  /// The `pusher:ping` messages of all connections, in both directions.
  package private(set) var pings = (sent: 0, received: 0)
  private var reconnector: Reconnector
  private var pace = RequestPace()
  private var decryptor: EventDecryptor
  private var continuity = Continuity()
  private var outbox = Fifo<SessionOutput>()

  /// - Parameter random: Source of the back-off's jitter.
  package init(options: SessionOptions, random: any RandomNumberGenerator) {
    (self.options, self.random) = (options, random)
    decryptor = EventDecryptor(service: options.service)
    reconnector = Reconnector(options.reconnect)
    for (channel, position) in options.positions { continuity.restore(position, of: channel) }
  }

  package mutating func nextOutput() -> SessionOutput? { outbox.popFirst() }

  private var command: ClientCommand { ClientCommand(service: options.service) }

  private mutating func emit(_ output: SessionOutput) { outbox.append(output) }
  private mutating func report(_ event: SessionEvent) { outbox.append(.report(event)) }

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
        Instant.earliest(
          isReadingPaused ? nil : continuity.deadline,
          Instant.earliest(link.keepalive?.deadline, paceDeadline)),
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

  private mutating func established(socketID: String, activityTimeout: Duration?, at now: Instant) {
    guard case .connecting = phase else {
      report(.malformed(reason: "a second connection_established", bytes: []))
      return
    }
    let timeout = min(options.activityTimeout, activityTimeout ?? options.activityTimeout)
    phase = .connected(socketID: socketID, since: now)
    reconnector.noteOpen()
    link.lastDelivery = now
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
    let isSilent = isSilent(loss)
    let loss = explained(loss, at: now)
    forgetConnection(isSilent: isSilent, at: now)
    // A connection that this side dropped has not proved stable, however long it lasted.
    if case .dropped = loss { lived = nil }
    if let lived, lived >= Reconnector.stableAfter { reconnector.noteStable() }
    retry(
      after: loss.decision(lastError: link.lastError), loss,
      code: loss.effectiveCode(lastError: link.lastError), at: now)
  }

  /// Opens a gap if events came on the connection and some may be missing.
  ///
  /// - Parameter isSilent: The server ended the connection without a reason.
  private mutating func forgetConnection(isSilent: Bool = false, at now: Instant) {
    if isConnected, subscriptions.isAnySubscribed {
      reconnector.openGap(at: link.startOfLoss(at: now))
    }
    if options.recoversEvents {
      continuity.connectionLost(channels.filter { subscriptions[$0]?.state == .subscribed })
    }
    link.end()
    let dropped = pace.connectionLost(wasOpen: isConnected, isSilent: isSilent, at: now)
    reportDroppedEvents(dropped, pace.message)
    signIn.authorization = nil
    for channel in channels { abandon(channel) }
    signIn.state = .waiting
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
    report(.connection(.disconnected(loss, code: code, retryIn: verdict.delay, attempt: attempts)))
    switch verdict {
    case .retry(.zero): dialSoon(at: now)
    case .retry(let delay): wait(until: now.advanced(by: delay))
    case .stop: end(.lost(loss, code: code))
    case .giveUp: end(.retriesExhausted(loss, code: code, attempts: attempts))
    }
  }

  /// Dials at once, or at the next tick if the owner does not read or may still move the attempt.
  private mutating func dialSoon(at now: Instant) {
    if isReadingPaused || options.announcesRetries { wait(until: now) } else { dial(at: now) }
  }

  /// Everything learned about the former server is forgotten.
  private mutating func replace(_ options: SessionOptions) {
    self.options = options
    decryptor.restart(service: options.service)
    pace = RequestPace()
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

  private mutating func closeGapIfSettled(at now: Instant) {
    guard reconnector.isGapOpen || continuity.hasLost, subscriptions.areAllSettled,
      areStreamsSettled(at: now)
    else { return }
    // Channels that are no longer wanted lost nothing.
    guard !subscriptions.isEmpty else { return reconnector.forgetGap() }
    guard let start = reconnector.closeGap(at: now), !continuity.hasJudged else { return }
    report(.connection(.gap(from: start, to: now)))
  }

  package mutating func noteActivity(at now: Instant) { link.keepalive?.noteActivity(at: now) }

  /// Every message received by `now` was handed out, so a later loss cannot affect it.
  package mutating func noteDelivery(at now: Instant) { link.lastDelivery = now }

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
    continuity.renew(until: deadline)
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
      tickContinuity(at: now)
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
  /// Last time at which all received messages were known to be handed out.
  var lastDelivery: Instant?
  /// Longest time from a request to its answer; no message is under way for longer.
  private var roundTrip = Duration.zero

  mutating func begin() {
    generation += 1
    lastError = nil
    roundTrip = .zero
  }

  mutating func end() {
    generation += 1
    keepalive = nil
  }

  mutating func noteAnswer(to sent: Instant, at now: Instant) {
    roundTrip = max(roundTrip, sent.duration(to: now))
  }

  /// Returns the earliest time at which the server may have sent a message that was not handed out.
  ///
  /// Messages sent before the last received one arrived before it, except those still under way.
  func startOfLoss(at now: Instant) -> Instant {
    (lastDelivery ?? now).advanced(by: .zero - roundTrip)
  }
}

/// Events of an encrypted channel that wait for a new key, in order.
struct Rekeying: Equatable {
  /// Maximum size of waiting events, in bytes; further events are reported as lost.
  static let limit = 1 << 20

  private(set) var messages: [[UInt8]] = []
  private var bytes = 0

  mutating func append(_ message: ByteView) -> Bool {
    guard bytes + message.count <= Self.limit else { return false }
    bytes += message.count
    messages.append(message.array)
    return true
  }
}

/// Decrypts events of the usual shape with the keys that opened the last ones.
private struct EventDecryptor {
  private static let capacity = 8

  fileprivate let plainText = ByteBuffer()
  private let cipherText = ByteBuffer()
  private let room = OpeningRoom()
  private var reader: PlainEventReader
  private var keys: [(channel: [UInt8], key: ChannelKey)] = []
  /// The keys are valid while ``SubscriptionTable/changes`` stays the same.
  private var changes = 0

  init(service: PusherService) {
    reader = PlainEventReader(protocolPrefix: service.commonPrefix, readsEncrypted: true)
  }

  mutating func restart(service: PusherService) {
    reader = PlainEventReader(protocolPrefix: service.commonPrefix, readsEncrypted: true)
    keys.removeAll()
  }

  /// Returns `nil` for an event of another shape or without a remembered key.
  func opened(_ message: ByteView, _ changes: Int) -> Envelope? {
    guard let parts = reader.read(message, buffer: cipherText),
      let key = key(of: parts.channel, changes)
    else { return nil }
    plainText.removeAll()
    guard key.open(parts.data, into: plainText, using: room), UTF8Validator.isValid(plainText.view)
    else { return nil }
    return Envelope(message, event: parts.event, channel: parts.channel, plainData: plainText.view)
  }

  private func key(of channel: ByteView, _ changes: Int) -> ChannelKey? {
    guard changes == self.changes else { return nil }
    return keys.first { channel.equals($0.channel) }?.key
  }

  fileprivate mutating func remember(_ key: ChannelKey, of channel: ByteView, _ changes: Int) {
    guard self.key(of: channel, changes) == nil else { return }
    if changes != self.changes || keys.count >= Self.capacity { keys.removeAll() }
    self.changes = changes
    keys.append((channel.array, key))
  }
}

/// Decrypts the events of encrypted channels.
///
/// If a key does not decrypt an event, the app may have replaced it. The session then asks for
/// authorisation once, and later events wait. It reports the events that still do not decrypt.
extension Session {
  private mutating func decrypt(_ envelope: Envelope, at now: Instant) -> Received {
    guard let token = envelope.channelToken, Self.mayBeEncrypted(token),
      let channel = envelope.channelName, ChannelKind(channelName: channel) == .encrypted
    else { return .event(envelope, name: nil) }
    if subscriptions[channel]?.rekeying != nil {
      if subscriptions[channel]?.rekeying?.append(envelope.message) == false {
        reportUndecrypted(envelope, channel, "too many events wait for a new key")
      }
      return .handled
    }
    guard let key = subscriptions[channel]?.key else {
      reportUndecrypted(envelope, channel, "the channel has no key")
      return .handled
    }
    do throws(DecryptionError) {
      let plain = try key.open(envelope.data)
      if subscriptions[channel]?.rekeyedAt != nil { subscriptions[channel]?.rekeyedAt = nil }
      decryptor.remember(key, of: token, subscriptions.changes)
      return .event(envelope.decrypted(plain, into: decryptor.plainText), name: nil)
    } catch {
      if error == .wrongKey, askForNewKey(channel, envelope, at: now) { return .handled }
      reportUndecrypted(envelope, channel, "\(error)")
      return .handled
    }
  }

  /// Excludes most other channels cheaply; escapes can hide the beginning of a name.
  private static func mayBeEncrypted(_ token: ByteView) -> Bool {
    token.begins(with: "private-encrypted-") || token.isEscaped
  }

  /// Asks for authorisation again, unless a new key has just failed to help.
  private mutating func askForNewKey(
    _ channel: String, _ envelope: Envelope, at now: Instant
  ) -> Bool {
    guard let socketID, let subscription = subscriptions[channel] else { return false }
    if let last = subscription.rekeyedAt, last.duration(to: now) < options.connectTimeout {
      return false
    }
    var rekeying = Rekeying()
    guard rekeying.append(envelope.message) else { return false }
    subscriptions[channel]?.rekeying = rekeying
    subscriptions[channel]?.rekeyedAt = now
    ask(channel, socketID)
    return true
  }

  private mutating func rekeyed(
    _ channel: String, _ rekeying: Rekeying, _ result: Authorization.Result
  ) {
    subscriptions[channel]?.rekeying = nil
    let key: ChannelKey
    do throws(AuthorizationFailure) {
      key = try Self.key(of: try result.get())
    } catch {
      giveUp(rekeying, channel, "the key does not match, and there is no new key: \(error.reason)")
      return
    }
    subscriptions[channel]?.key = key
    for message in rekeying.messages { deliverLate(message, channel, key) }
  }

  private mutating func deliverLate(_ message: [UInt8], _ channel: String, _ key: ChannelKey) {
    Envelope.with(message) { envelope in
      do throws(DecryptionError) {
        let plain = try key.open(envelope.data)
        subscriptions[channel]?.rekeyedAt = nil
        let event = envelope.decrypted(plain, into: decryptor.plainText)
        emit(.deliver(event.message.array, isDecrypted: true))
      } catch { reportUndecrypted(envelope, channel, "\(error); a new key did not help") }
    }
  }

  private mutating func giveUp(_ rekeying: Rekeying, _ channel: String, _ reason: String) {
    for message in rekeying.messages {
      Envelope.with(message) { reportUndecrypted($0, channel, reason) }
    }
  }

  private mutating func reportUndecrypted(
    _ envelope: Envelope, _ channel: String, _ reason: String
  ) {
    report(
      .decryptionFailed(
        channel: channel, event: envelope.eventName, data: envelope.dataText, reason: reason))
  }

  private static func key(of auth: Authorization) throws(AuthorizationFailure) -> ChannelKey {
    guard let secret = auth.sharedSecret else {
      throw .unusable("the answer has no \"shared_secret\", which encrypted channels need")
    }
    do throws(EncryptionKeyError) {
      return try ChannelKey(sharedSecret: secret)
    } catch {
      throw .unusable(error == .notBuilt ? "\(error)" : "\"shared_secret\" is \(error)")
    }
  }
}

extension Session {
  package enum Received {
    /// A protocol message; its effects are outputs.
    case handled
    /// An event for the user, under `name` if that differs from the message's own.
    case event(Envelope, name: String?)
  }

  /// Reads one text message.
  ///
  /// A message that is not a JSON object with an event's name is reported as malformed. It does not
  /// end the connection, as in other libraries. Messages of an abandoned connection are ignored.
  package mutating func receive(_ message: ByteView, at now: Instant) -> Received {
    guard hasSocket else { return .handled }
    if let event = decryptor.opened(message, subscriptions.changes) {
      return .event(event, name: nil)
    }
    let envelope: Envelope
    do {
      envelope = try Envelope(message)
    } catch {
      report(.malformed(reason: "\(error)", bytes: message.array))
      return .handled
    }
    switch ServerMessage(envelope, service: options.service) {
    case .application: return deliver(envelope, at: now)
    case .channelNotice(let name), .unknown(let name): return .event(envelope, name: name)
    case let message:
      handle(message, envelope, at: now)
      return .handled
    }
  }

  /// The protocol has no binary messages.
  package mutating func receivedBinary(_ message: ByteView, at now: Instant) {
    guard hasSocket else { return }
    report(.malformed(reason: "a binary message", bytes: message.array))
  }

  private var hasSocket: Bool {
    switch phase {
    case .connecting, .connected: true
    case .idle, .waiting, .ended: false
    }
  }

  private mutating func handle(_ message: ServerMessage, _ envelope: Envelope, at now: Instant) {
    switch message {
    case .connectionEstablished(let socketID, let timeout):
      established(socketID: socketID, activityTimeout: timeout, at: now)
    case .error(let code, let message, let channel):
      report(.error(code: code, message: message))
      let subject = ErrorSubject(code: code, message: message)
      // The codes of a resume stand for the rate limit in the older protocol.
      if subject != .rateLimit, refusedResume(code: code, message: message, at: now) { return }
      switch subject {
      case .rateLimit: return dropped(message, channel: channel, at: now)
      case .clientEvent where refusedClientEvent(message, channel: channel, at: now): return
      case .clientEvent, .other: break
      }
      if case .connecting = phase, let code, (4000..<4100).contains(code) {
        // Reverb sends this and leaves the socket open: a wait would only end at the deadline.
        emit(.abort)
        lost(.closed(code: code, reason: message), at: now)
        return
      }
      let isPaidFor =
        channel == nil && refusedSignIn(code: code, message: message, at: now)
        || refused(code: code, message: message, channel: channel, at: now)
      // An error that answered a channel or the sign-in does not explain a later drop.
      if let code, !isPaidFor { link.lastError = code }
    case .ping:
      pings.received &+= 1
      emit(.answerPing(command.pong))
    case .pong: report(.pong)
    case .subscriptionSucceeded(let channel): succeeded(channel, envelope, at: now)
    case .subscriptionError(let channel, let type, let message, let status):
      let text = message.isEmpty ? Self.noReason : message
      fail(channel, SubscriptionFailure(type: type, message: text, status: status), at: now)
    case .signedIn(let userData): signedIn(userData, at: now)
    case .signInError(let type, let message, let status):
      signInFailed(SubscriptionFailure(type: type, message: message, status: status), at: now)
    case .watchlist(let changes):
      for change in changes { report(.watchlist(change)) }
    case .memberAdded(let channel, let member): memberAdded(channel, member)
    case .memberRemoved(let channel, let userID): memberRemoved(channel, userID)
    case .resumeSucceeded(let answer): judgeStreams(at: now) { $0.succeeded(answer) }
    case .resumeFailed(let channel, let gap): judgeStreams(at: now) { $0.failed(gap, of: channel) }
    case .rewindCompleted(let channel, let data):
      continuity.rewound(channel)
      report(.rewound(channel: channel, data))
    case .malformed(let reason): report(.malformed(reason: reason, bytes: envelope.message.array))
    case .unknownInternal(let name):
      report(.unknownInternalEvent(name: name, channel: envelope.channelName))
    case .application, .channelNotice, .unknown: break
    }
  }
}

/// Proves, with Protocol V2, that no event is missing, as ``Continuity`` decides.
extension Session {
  /// The errors of a resume: recovery is off, or the server saw no position.
  private static let resumeErrors = 4301...4302

  package func position(of channel: String) -> StreamPosition? { continuity.position(of: channel) }

  /// Orders an event among those of its channel's stream, and decrypts it.
  private mutating func deliver(_ envelope: Envelope, at now: Instant) -> Received {
    guard options.recoversEvents, envelope.serialToken != nil,
      let channel = envelope.channelName, subscriptions[channel] != nil
    else { return decrypt(envelope, at: now) }
    let verdict = continuity.take(envelope, of: channel)
    continuity.renew(until: now.advanced(by: options.connectTimeout))
    guard continuity.hasFindings else {
      return verdict == .pass ? decrypt(envelope, at: now) : .handled
    }
    // A gap is told before the event after it.
    reportFindings(at: now)
    if verdict == .pass { pass(envelope, at: now) }
    closeGapIfSettled(at: now)
    return .handled
  }

  /// Passes an event on after all earlier outputs.
  private mutating func pass(_ envelope: Envelope, at now: Instant) {
    guard case .event(let event, _) = decrypt(envelope, at: now) else { return }
    emit(.deliver(event.message.array, isDecrypted: event.isDecrypted))
  }

  /// Asks once for the events after the positions of all channels; returns false while a verdict
  /// is due.
  private mutating func areStreamsSettled(at now: Instant) -> Bool {
    guard options.recoversEvents, isConnected else { return true }
    guard !continuity.isAsking else { return false }
    guard continuity.hasLost else { return true }
    let subscribed = channels.filter { subscriptions[$0]?.state == .subscribed }
    let deadline = now.advanced(by: options.connectTimeout)
    let positions = continuity.resume(subscribed, until: deadline)
    if !positions.isEmpty { emit(.send(command.resume(positions))) }
    reportFindings(at: now)
    return positions.isEmpty
  }

  private mutating func judgeStreams(
    at now: Instant, _ change: (inout Continuity) -> Void
  ) {
    change(&continuity)
    reportFindings(at: now)
    closeGapIfSettled(at: now)
  }

  private mutating func reportFindings(at now: Instant) {
    while let finding = continuity.nextFinding() {
      switch finding {
      case .recovered(let channel, let count, let position):
        report(.recovered(channel: channel, count: count, position))
      case .missed(let channel, let gap):
        report(.missed(channel: channel, gap, from: reconnector.gapStart ?? now, to: now))
      case .foreign(let channel):
        let name = ErrorText.shown(channel, limit: ChannelName.maximumLength)
        let reason = "an answer to a resume for '\(name)', which asked for none"
        report(.malformed(reason: reason, bytes: []))
      case .released(let message): Envelope.with(message) { pass($0, at: now) }
      }
    }
  }

  /// Reports whether an error answered the resume; the events after the positions are lost then.
  private mutating func refusedResume(code: Int?, message: String, at now: Instant) -> Bool {
    guard continuity.isAsking, let code, Self.resumeErrors.contains(code) else { return false }
    judgeStreams(at: now) { $0.failAll(StreamGap(message, code: "\(code)")) }
    return true
  }

  private mutating func tickContinuity(at now: Instant) {
    guard !isReadingPaused, let deadline = continuity.deadline, now >= deadline else { return }
    let time = options.connectTimeout.inWords
    judgeStreams(at: now) { $0.failAll(StreamGap("no answer to the resume within \(time)")) }
  }
}

extension Session {
  /// Continues with other options on a new connection; `reason` says why the present one ends.
  ///
  /// All channels and the user stay wanted and are requested again; attempts are counted from zero.
  /// The time from the last message to the last confirmation is a gap. Before the first
  /// ``connect(at:)``, only the options change. After the end, nothing changes.
  package mutating func move(to options: SessionOptions, reason: String, at now: Instant) {
    guard phase != .ended else { return }
    replace(options)
    switch phase {
    case .idle, .ended: return
    case .waiting: break
    case .connecting:
      forgetConnection(at: now)
      emit(.abort)
    case .connected:
      forgetConnection(at: now)
      emit(.close)
      emit(.abort)
      let loss = ConnectionLoss.dropped(reason)
      report(.connection(.disconnected(loss, code: nil, retryIn: .zero, attempt: 0)))
    }
    dialSoon(at: now)
  }
}

/// Obeys the server's rate limit.
///
/// The limit is never a refusal: dropped requests are sent again, as ``RequestPace`` decides.
extension Session {
  /// Handles an error of the rate limit: the server dropped a message.
  private mutating func dropped(_ message: String, channel: String?, at now: Instant) {
    if let channel, !isUnanswered(channel) {
      return reportDroppedEvents(pace.takeClientEvents(1, at: now), message)
    }
    switch pace.noteDropped(message, at: now) {
    case .other: reportDroppedEvents(pace.takeClientEvents(1, at: now), message)
    case .more: break
    case .hold(let time):
      subscriptions.holdRequests()
      if signIn.state.isRequested { signIn.state = .held }
      let waiting = subscriptions.heldCount + (signIn.isHeld ? 1 : 0)
      report(.rateLimited(RateLimit(message: message, waiting: waiting, retryIn: time)))
    }
  }

  /// Handles an error about client events that is no limit; returns `false` if none was sent.
  ///
  /// The refusal is final and concerns no subscription, so requests are not held.
  private mutating func refusedClientEvent(_ message: String, channel: String?, at now: Instant)
    -> Bool
  {
    if let channel, isUnanswered(channel) { return false }
    guard pace.takeClientEvents(1, at: now) > 0 else { return false }
    report(.clientEventRefused(message: message))
    return true
  }

  private func isUnanswered(_ channel: String) -> Bool {
    subscriptions.isRequest(channel) || subscriptions.isHeld(channel)
  }

  private mutating func reportDroppedEvents(_ count: Int, _ message: String?) {
    if count > 0 { report(.clientEventsDropped(count: count, message: message ?? "")) }
  }

  /// Sends the requests that the rate limit allows now: the sign-in first, then channels in order.
  private mutating func sendHeld(at now: Instant) {
    while isConnected, signIn.isHeld || subscriptions.firstHeld != nil, pace.maySend(at: now) {
      pace.noteSent(at: now)
      if signIn.isHeld, let auth = signIn.authorization {
        signIn.state = .requested(until: now.advanced(by: options.connectTimeout))
        emit(.send(command.signIn(auth)))
      } else if let channel = subscriptions.firstHeld {
        send(subscription: channel, at: now)
      }
    }
    guard isConnected, signIn.isHeld || subscriptions.firstHeld != nil else { return }
    // Channels whose turn has not come count too.
    let waiting = subscriptions.unsentCount + (signIn.isHeld ? 1 : 0)
    if let limit = pace.plan(for: waiting, at: now) { report(.rateLimited(limit)) }
  }

  private mutating func noteAnswered(at now: Instant) {
    pace.noteAnswered()
    sendHeld(at: now)
  }

  /// Nothing is sent while the answers are not read.
  private var paceDeadline: Instant? {
    guard !isReadingPaused else { return nil }
    return pace.deadline(isAnyHeld: signIn.isHeld || subscriptions.firstHeld != nil)
  }

  private mutating func tickPace(at now: Instant) {
    guard !isReadingPaused else { return }
    reportDroppedEvents(pace.resume(at: now), pace.message)
    sendHeld(at: now)
  }

  /// The server ended the connection without a reason, as it may do at its limit.
  private func isSilent(_ loss: ConnectionLoss) -> Bool {
    guard isConnected, link.lastError == nil else { return false }
    return switch loss {
    case .closed(let code, _): code == nil || code == 1006
    case .network: true
    default: false
    }
  }

  /// A limit that was just met explains a close without a code of the protocol.
  private func explained(_ loss: ConnectionLoss, at now: Instant) -> ConnectionLoss {
    switch loss {
    case .closed(let code?, _) where (4000..<5000).contains(code): return loss
    case .closed: break
    case .network where isConnected: break
    default: return loss
    }
    return pace.explanation(at: now).map { .closed(code: RateLimit.code, reason: $0) } ?? loss
  }
}

/// Finds the channel that a server's error refuses.
///
/// Servers differ: soketi names the channel in a separate message, sockudo beside the error, Pusher
/// and ipe somewhere in its text, Reverb not at all.
extension Session {
  /// Maximum number of punctuation marks after a channel's name in an error's text.
  private static let longestPunctuation = 3

  /// Handles a `pusher:error` that is a refusal; returns `false` for any other error.
  ///
  /// The error has a channel's name beside it; or it is about a signature, and belongs to the first
  /// unanswered channel if it names none; or it names an unanswered channel and speaks of a
  /// refusal. An error that may be a refusal is kept, since it can explain a missing answer.
  private mutating func refused(code: Int?, message: String, channel: String?, at now: Instant)
    -> Bool
  {
    let named = channel ?? channelNamed(in: message)
    let isAboutSignature = code == 4009 || message.holds("ignature")
    let refused: String?
    if channel != nil {
      refused = named
    } else if isAboutSignature {
      refused = named ?? subscriptions.firstGuardedRequest
    } else {
      refused = Self.isRefusal(message) ? named : nil
    }
    guard let refused, subscriptions.isGuardedRequest(refused) else {
      noteRemark(message, about: named)
      return false
    }
    let failure = SubscriptionFailure(
      type: "AuthError", message: message.isEmpty ? Self.noReason : message, status: 401)
    fail(refused, failure, at: now)
    return true
  }

  private static let noReason = "the server gives no reason"

  /// Leaves out first letters, which may be in upper or lower case.
  private static func isRefusal(_ message: String) -> Bool {
    message.holds("uth") || message.holds("orbidden") || message.holds("enied")
      || message.holds("nvalid") || message.holds("allowed")
  }

  /// Keeps an error that may answer the named channel, or the only unanswered one.
  private mutating func noteRemark(_ message: String, about channel: String?) {
    guard !message.isEmpty, let channel = channel ?? subscriptions.onlyRequest,
      subscriptions.isRequest(channel)
    else { return }
    subscriptions[channel]?.remark = message
  }

  /// A name counts only as a whole word, because one name may be part of another.
  private func channelNamed(in message: String) -> String? {
    let words = message.utf8.split { !ChannelName.isLegal($0) }
    var longest: String?
    for word in words where word.count <= ChannelName.maximumLength + Self.longestPunctuation {
      guard let name = unansweredChannel(in: word) else { continue }
      if name.utf8.count > longest?.utf8.count ?? 0 { longest = name }
    }
    return longest
  }

  /// Punctuation that is legal in names may follow the channel.
  private func unansweredChannel(in word: Substring.UTF8View) -> String? {
    var word = word
    for _ in 0...Self.longestPunctuation {
      let name = String(Substring(word))
      if subscriptions.isRequest(name) { return name }
      guard let last = word.last, [0x2C, 0x2E, 0x3B].contains(last) else { return nil }
      word.removeLast()
    }
    return nil
  }
}

/// Signs the user in: `pusher:signin`.
///
/// It comes before the subscriptions of each connection, because some channels need it. An error
/// that names no channel then belongs to it. Source: Pusher's page "Authenticating users".
extension Session {
  /// Keeps the user signed in from now on, over every reconnect; retries after a failure.
  package mutating func signIn(at now: Instant) {
    guard !signIn.isWanted || signIn.state == .failed else { return }
    signIn.isWanted = true
    signIn.state = .waiting
    beginSignIn()
  }

  private mutating func beginSignIn() {
    guard signIn.isWanted, signIn.state == .waiting, isConnected else { return }
    signIn.signatures.restart()
    askForAuthentication()
  }

  private mutating func askForAuthentication() {
    guard let socketID else { return }
    signIn.state = .authorizing
    ask(nil, socketID)
  }

  private mutating func authenticated(_ result: Authorization.Result, at now: Instant) {
    guard signIn.state == .authorizing else { return }
    do throws(AuthorizationFailure) {
      signIn.authorization = try result.get()
      signIn.state = .held
      sendHeld(at: now)
    } catch {
      switch signIn.signatures.failed(error, options.reconnect.backoff, random: &random) {
      case .failed(let failure): signInFailed(failure, at: now)
      case .askAgain(let delay, let reason):
        signIn.state = .delayed(until: now.advanced(by: delay))
        report(.signInDelayed(reason: reason, retryIn: delay))
      }
    }
  }

  /// Subscribes to the user's own channel, then to all others.
  private mutating func signedIn(_ userData: JSONValue, at now: Instant) {
    switch signIn.state {
    case .requested(let until):
      link.noteAnswer(to: until.advanced(by: .zero - options.connectTimeout), at: now)
    case .held: break
    default: return
    }
    noteAnswered(at: now)
    guard let userID = userData["id"]?.identifier, !userID.isEmpty else {
      let failure = SubscriptionFailure(
        type: "AuthError", message: "the server's answer names no user", fault: .peer)
      signInFailed(failure, at: now)
      return
    }
    signIn.state = .subscribed
    signIn.signatures.noteConfirmed()
    report(.signedIn(userID: userID, userData: userData))
    let channel = UserChannel.name(userID: userID)
    if let former = signIn.channel, !former.isSame(as: channel) { unsubscribe(former, at: now) }
    signIn.channel = channel
    subscribe(channel, at: now)
    beginChannels(at: now)
  }

  /// Gives up the sign-in on this connection, and subscribes to the channels that do not need it.
  private mutating func signInFailed(_ failure: SubscriptionFailure, at now: Instant) {
    guard signIn.isPending else { return }
    if signIn.state.isRequested { noteAnswered(at: now) }
    signIn.state = .failed
    report(.signInFailed(failure))
    beginChannels(at: now)
  }

  /// Reports whether an error that names no channel answered the sign-in.
  private mutating func refusedSignIn(code: Int?, message: String, at now: Instant) -> Bool {
    guard signIn.state.isRequested else { return false }
    let isAboutChannel = message.holds("channel")
    guard message.holds("::user::") || !isAboutChannel else { return false }
    let status = code == nil || code == 4009 ? 401 : nil
    let failure = SubscriptionFailure(
      type: "AuthError", message: message, status: status, fault: status == nil ? .peer : .you)
    signInFailed(failure, at: now)
    return true
  }

  /// Returns `false` if the connection was given up.
  private mutating func tickSignIn(at now: Instant) -> Bool {
    guard let deadline = signIn.deadline(ignoringRequests: isReadingPaused), now >= deadline else {
      return true
    }
    if case .delayed = signIn.state {
      askForAuthentication()
    } else if signIn.signatures.haveWorked || options.reconnect.mode == .always {
      // The sign-in has worked before, so the connection is at fault.
      emit(.abort)
      let time = options.connectTimeout.inWords
      lost(.dropped("no answer to the sign-in within \(time)"), at: now)
      return false
    } else {
      signInFailed(.timeout(options.connectTimeout), at: now)
    }
    return true
  }
}

extension Session {
  /// Keeps a channel subscribed from now on, over every reconnect.
  package mutating func subscribe(_ channel: String, at now: Instant) {
    guard subscriptions[channel] == nil else { return }
    subscriptions.change(channel) { $0 = Subscription(channel: channel) }
    if isConnected, !signIn.isPending { begin(channel, at: now) }
  }

  package mutating func unsubscribe(_ channel: String, at now: Instant) {
    guard let subscription = subscriptions[channel] else { return }
    subscriptions[channel] = nil
    continuity.forget(channel)
    switch subscription.state {
    case .requested where isConnected, .subscribed where isConnected:
      emit(.send(command.unsubscribe(channel: channel)))
    default: break
    }
    if case .requested = subscription.state { noteAnswered(at: now) }
    closeGapIfSettled(at: now)
  }

  package func roster(of channel: String) -> PresenceRoster? { subscriptions[channel]?.roster }

  /// In the order of their requests.
  package var channels: [String] { subscriptions.names }

  private mutating func beginChannels(at now: Instant) {
    guard !signIn.isPending else { return }
    for channel in channels { begin(channel, at: now) }
    closeGapIfSettled(at: now)
  }

  private mutating func begin(_ channel: String, at now: Instant) {
    guard let subscription = subscriptions[channel], subscription.state == .waiting else { return }
    subscriptions.change(channel) { $0?.signatures.restart() }
    if subscription.kind.needsAuthorization {
      askForAuthorization(channel)
    } else {
      request(channel, auth: nil, at: now)
    }
  }

  private mutating func askForAuthorization(_ channel: String) {
    guard let socketID else { return }
    subscriptions[channel]?.state = .authorizing
    ask(channel, socketID)
  }

  /// Asks for a signature of a channel or, without a name, of the user.
  private mutating func ask(_ channel: String?, _ socketID: String) {
    let generation = link.generation
    emit(
      .authorize(
        AuthorizationRequest(channel: channel, socketID: socketID, generation: generation)))
  }

  private mutating func request(_ channel: String, auth: Authorization?, at now: Instant) {
    subscriptions.change(channel) {
      $0?.authorization = auth
      $0?.state = .held
    }
    sendHeld(at: now)
  }

  private mutating func send(subscription channel: String, at now: Instant) {
    let deadline = now.advanced(by: options.connectTimeout)
    var auth: Authorization?
    subscriptions.change(channel) {
      $0?.remark = nil
      $0?.state = .requested(until: deadline)
      auth = $0?.authorization
    }
    emit(.send(command.subscribe(channel: channel, auth: auth, rewind: rewind(of: channel))))
  }

  /// Only the first subscription of a channel begins with earlier events.
  private func rewind(of channel: String) -> PusherRewind? {
    guard let rewind = options.rewind, options.recoversEvents else { return nil }
    let isNew = subscriptions[channel]?.signatures.haveWorked != true
    return continuity.mayRewind(channel, isNew: isNew) ? rewind : nil
  }

  /// Handles the answer to an ``SessionOutput/authorize(_:)``, unless the connection has changed.
  package mutating func authorized(
    _ request: AuthorizationRequest, _ result: Authorization.Result, at now: Instant
  ) {
    guard request.generation == link.generation else { return }
    guard let channel = request.channel else { return authenticated(result, at: now) }
    guard let subscription = subscriptions[channel] else { return }
    if let rekeying = subscription.rekeying { return rekeyed(channel, rekeying, result) }
    guard subscription.state == .authorizing else { return }
    do throws(AuthorizationFailure) {
      let auth = try result.get()
      if subscription.kind == .encrypted { subscriptions[channel]?.key = try Self.key(of: auth) }
      self.request(channel, auth: auth, at: now)
    } catch { authorizationFailed(subscription, error, at: now) }
  }

  private mutating func authorizationFailed(
    _ subscription: Subscription, _ failure: AuthorizationFailure, at now: Instant
  ) {
    let channel = subscription.channel
    var signatures = subscription.signatures
    let verdict = signatures.failed(failure, options.reconnect.backoff, random: &random)
    subscriptions[channel]?.signatures = signatures
    switch verdict {
    case .failed(let failure): fail(channel, failure, at: now)
    case .askAgain(let delay, let reason):
      subscriptions[channel]?.state = .delayed(until: now.advanced(by: delay))
      report(.authorizationDelayed(channel: channel, reason: reason, retryIn: delay))
    }
  }

  /// The members of a presence channel are in `envelope`.
  private mutating func succeeded(_ channel: String, _ envelope: Envelope, at now: Instant) {
    guard var subscription = subscriptions[channel] else { return }
    let isNew = subscription.state != .subscribed
    switch subscription.state {
    case .requested(let until):
      link.noteAnswer(to: until.advanced(by: .zero - options.connectTimeout), at: now)
    case .held, .subscribed: break
    default: return
    }
    if options.recoversEvents {
      continuity.subscribed(
        channel, at: StreamPosition(subscription: envelope), rewinds: rewind(of: channel) != nil)
    }
    let former = subscription.roster
    subscription.state = .subscribed
    subscription.authorization = nil
    subscription.signatures.noteConfirmed()
    if subscription.kind == .presence {
      subscription.roster = PresenceRoster(envelope, limits: options.presence)
    }
    subscriptions.change(channel) { $0 = subscription }
    if isNew { report(.subscribed(channel: channel, presence: subscription.roster)) }
    if subscription.roster?.isCut == true {
      report(.membersLeftOut(channel: channel, options.presence))
    }
    if let former, let roster = subscription.roster { reportChanges(channel, former, roster) }
    if isNew { noteAnswered(at: now) }
    closeGapIfSettled(at: now)
  }

  /// Reports members that came or left while there was no connection.
  private mutating func reportChanges(
    _ channel: String, _ former: PresenceRoster, _ roster: PresenceRoster
  ) {
    for id in former.ids where !roster.contains(id) {
      if let member = former[id] { report(.memberRemoved(channel: channel, member)) }
    }
    for id in roster.ids where !former.contains(id) {
      if let member = roster[id] { report(.memberAdded(channel: channel, member)) }
    }
  }

  private mutating func memberAdded(_ channel: String, _ member: PusherPresenceChannelMember) {
    let wasCut = subscriptions[channel]?.roster?.isCut ?? true
    subscriptions[channel]?.roster?.insert(member.userId, member.userInfo)
    report(.memberAdded(channel: channel, member))
    if !wasCut, subscriptions[channel]?.roster?.isCut == true {
      report(.membersLeftOut(channel: channel, options.presence))
    }
  }

  private mutating func memberRemoved(_ channel: String, _ userID: String) {
    let known = subscriptions[channel]?.roster?.remove(userID)
    report(.memberRemoved(channel: channel, known ?? PusherPresenceChannelMember(userId: userID)))
  }

  private mutating func fail(_ channel: String, _ failure: SubscriptionFailure, at now: Instant) {
    guard isConnected, let subscription = subscriptions[channel], !subscription.state.isSettled
    else { return }
    subscriptions[channel]?.state = .failed
    subscriptions[channel]?.authorization = nil
    report(.subscriptionFailed(channel: channel, failure))
    if case .requested = subscription.state { noteAnswered(at: now) }
    closeGapIfSettled(at: now)
  }

  private mutating func tickSubscriptions(at now: Instant) {
    while let channel = subscriptions.firstDue(at: now, ignoringRequests: isReadingPaused),
      let subscription = subscriptions[channel]
    {
      if case .delayed = subscription.state {
        askForAuthorization(channel)
      } else if !subscription.signatures.haveWorked, let remark = subscription.remark {
        let time = options.connectTimeout.inWords
        let message = "no confirmation within \(time); the server said: \(remark)"
        fail(channel, SubscriptionFailure(type: "SubscriptionError", message: message), at: now)
      } else if subscription.signatures.haveWorked || options.reconnect.mode == .always {
        // The channel has worked before, so the connection is at fault.
        emit(.abort)
        let time = options.connectTimeout.inWords
        lost(.dropped("no answer to the subscription of \(channel) within \(time)"), at: now)
        return
      } else {
        fail(channel, .timeout(options.connectTimeout), at: now)
      }
    }
  }

  /// Sends a client event; returns `false`, and sends nothing, while its channel is not subscribed.
  ///
  /// The owner queues waiting events, because the queue outlives the session.
  package mutating func trigger(_ event: ClientEvent, at now: Instant) -> Bool {
    guard isConnected, subscriptions[event.channel]?.state == .subscribed else { return false }
    pace.noteClientEvent(at: now)
    emit(.send(command.clientEvent(event)))
    return true
  }
}

/// Close codes of the protocol page, section "Connection closure".
extension ConnectionLoss {
  /// The reaction to the loss; a stable connection is dialled again at once, as in libPusher.
  ///
  /// - Parameter lastError: Code of the last `pusher:error`. It counts if no close frame brings a
  ///   4xxx code: Reverb sends only the error, and drops the socket or leaves it open without a
  ///   greeting.
  func decision(lastError: Int?) -> ReconnectDecision {
    if let code = effectiveCode(lastError: lastError) {
      return switch code {
      case 4000..<4100: .refused
      case 4200..<4300: .atOnce
      default: .backOff
      }
    }
    return switch self {
    case .refused(let status, _, _): HTTPStatus.isTemporary(status) ? .backOff : .refused
    case .dropped, .handshakeTimeout: .backOff
    default: .atOnce
    }
  }

  /// Returns the 4xxx code that explains the loss.
  func effectiveCode(lastError: Int?) -> Int? {
    switch self {
    case .closed(let code?, _) where (4000..<5000).contains(code): code
    case .closed, .network, .handshakeTimeout:
      lastError.flatMap { (4000..<4300).contains($0) ? $0 : nil }
    default: nil
    }
  }
}

/// Detects a connection that died without a close.
///
/// It pings after the activity timeout without a byte; the connection is dead if the pong timeout
/// passes too. Source: the protocol page, section "Ping and pong messages".
package struct Keepalive {
  package enum Action: Equatable {
    case sendPing
    case dead
  }

  let activityTimeout: Duration
  let pongTimeout: Duration
  private(set) var lastActivity: Instant
  private var pingSent: Instant?
  /// While the output stalls, nothing is read and silence proves nothing; pings still go out,
  /// because servers drop silent clients.
  private(set) var isPaused = false

  package init(activityTimeout: Duration, pongTimeout: Duration, at now: Instant) {
    (self.activityTimeout, self.pongTimeout) = (activityTimeout, pongTimeout)
    lastActivity = now
  }

  package mutating func noteActivity(at now: Instant) {
    lastActivity = now
    pingSent = nil
  }

  mutating func setPaused(_ paused: Bool, at now: Instant) {
    guard paused != isPaused else { return }
    isPaused = paused
    noteActivity(at: now)
  }

  package var deadline: Instant {
    guard let pingSent else { return lastActivity.advanced(by: activityTimeout) }
    return pingSent.advanced(by: isPaused ? activityTimeout : pongTimeout)
  }

  package mutating func tick(at now: Instant) -> Action? {
    guard now >= deadline else { return nil }
    if pingSent != nil, !isPaused { return .dead }
    pingSent = now
    return .sendPing
  }
}

package enum SessionEvent: Sendable, Equatable {
  case connected(socketID: String, activityTimeout: Duration)
  case pong
  /// `presence` has the members on presence channels.
  case subscribed(channel: String, presence: PresenceRoster?)
  /// Not retried on this connection.
  case subscriptionFailed(channel: String, SubscriptionFailure)
  /// The signer is unavailable now and is asked again.
  case authorizationDelayed(channel: String, reason: String, retryIn: Duration)
  /// The server knows the user; events for the user come on ``UserChannel``.
  case signedIn(userID: String, userData: JSONValue)
  /// Not retried on this connection; the channels are subscribed without it.
  case signInFailed(SubscriptionFailure)
  case signInDelayed(reason: String, retryIn: Duration)
  case watchlist(PusherWatchlistEvent)
  /// A presence channel has more members than the limit; reported once for each list.
  case membersLeftOut(channel: String, PresenceLimits)
  case memberAdded(channel: String, PusherPresenceChannelMember)
  case memberRemoved(channel: String, PusherPresenceChannelMember)
  /// The server's rate limit dropped or delays subscriptions or the sign-in; they are sent later.
  ///
  /// Reported after each drop, and once for each connection with the plan.
  case rateLimited(RateLimit)
  /// The server's rate limit dropped client events; `message` has the server's words.
  case clientEventsDropped(count: Int, message: String)
  /// The server refused a client event for good; `message` has the server's words.
  case clientEventRefused(message: String)
  /// A `pusher:error`, which does not end the connection.
  case error(code: Int?, message: String)
  /// The server has replayed all events after a lost connection; `count` is their number.
  case recovered(channel: String, count: Int, StreamPosition?)
  /// Events of one channel may be missing between the two times, before the next event.
  case missed(channel: String, StreamGap, from: Instant, to: Instant)
  /// The earlier events of a subscription have come; with the server's `rewind_complete`.
  case rewound(channel: String, JSONValue)
  /// An event of the connection; a gap ends when every channel is subscribed again.
  case connection(ConnectionEvent)
  /// `data` is the ciphertext of an event that was dropped.
  case decryptionFailed(channel: String, event: String, data: String?, reason: String)
  /// The event was dropped because this version does not know it.
  case unknownInternalEvent(name: String, channel: String?)
  /// The message was dropped because it breaks the protocol.
  case malformed(reason: String, bytes: [UInt8])
}

/// Failure of a subscription.
public struct SubscriptionFailure: Error, Sendable, Equatable {
  /// `AuthError`, `Timeout`, or the server's name for it.
  public var type: String
  /// The problem, in the server's or the signer's words.
  public var message: String
  /// The HTTP status that explains the failure, if any.
  public var status: Int?
  /// The side that has to act.
  public var fault: Fault
  /// The error of your ``AsyncAuthorizer`` that is the cause; `==` does not compare it.
  public var underlyingError: (any Error)?

  /// Creates a failure; the default fault is the user's.
  public init(
    type: String, message: String, status: Int? = nil, fault: Fault = .you,
    underlyingError: (any Error)? = nil
  ) {
    (self.type, self.message, self.status) = (type, message, status)
    (self.fault, self.underlyingError) = (fault, underlyingError)
  }

  /// Compares type, message, status and fault.
  public static func == (left: SubscriptionFailure, right: SubscriptionFailure) -> Bool {
    (left.type, left.message, left.status) == (right.type, right.message, right.status)
      && left.fault == right.fault
  }

  static func timeout(_ time: Duration) -> SubscriptionFailure {
    SubscriptionFailure(
      type: "Timeout", message: "no answer within \(time.inWords)", fault: .network)
  }
}

/// Tasks for the owner of a session, in order.
package enum SessionOutput: Sendable, Equatable {
  case dial
  case send(String)
  /// Answer a ping with this message; one of several waiting answers is enough.
  case answerPing(String)
  /// Ask for a signature, and pass the answer to ``Session/authorized(_:_:at:)``.
  case authorize(AuthorizationRequest)
  /// Pass on an event that waited for a key or for its turn: a message for
  /// ``Envelope/init(_:isDecrypted:)``.
  case deliver([UInt8], isDecrypted: Bool)
  case close
  /// Drop the socket, or the attempt to get one.
  case abort
  case report(SessionEvent)
}

package struct SessionOptions: Sendable {
  package var service: PusherService
  /// Silence before a ping is sent; a shorter timeout of the server takes precedence.
  package var activityTimeout: Duration
  package var pongTimeout: Duration
  /// From name resolution to `connection_established`, and from each subscription to its answer.
  package var connectTimeout: Duration
  package var reconnect: ReconnectPolicy
  package var presence = PresenceLimits()
  /// Earlier events with which subscriptions begin, for a service that replays events.
  package var rewind: PusherRewind?
  /// Positions of an earlier run, after which the channels go on.
  package var positions: [(channel: String, position: StreamPosition)] = []
  /// False for an owner whose sink takes events with serials past the session.
  package var ordersEvents = true
  var recoversEvents: Bool { ordersEvents && service.replaysEvents }
  /// True if a retry without a wait is planned first, so that the owner can move or stop it.
  package var announcesRetries = false

  /// The defaults are those of the protocol page.
  package init(
    service: PusherService = .pusher, activityTimeout: Duration = .seconds(120),
    pongTimeout: Duration = .seconds(30), connectTimeout: Duration = .seconds(10),
    reconnect: ReconnectPolicy = ReconnectPolicy()
  ) {
    (self.service, self.activityTimeout) = (service, activityTimeout)
    (self.pongTimeout, self.connectTimeout) = (pongTimeout, connectTimeout)
    self.reconnect = reconnect
  }
}

/// The sign-in, which the server confirms as it confirms a subscription.
struct SignIn: Equatable {
  /// If false, ``state`` stays at its beginning.
  var isWanted = false
  var state = Subscription.State.waiting
  /// Signature for the present connection.
  var authorization: Authorization?
  var signatures = SignatureAttempts()
  /// The user's own channel, once subscribed.
  var channel: String?

  /// Some channels are only for users who are signed in.
  var isPending: Bool { isWanted && !state.isSettled }
  var isHeld: Bool { state == .held }

  /// Answers are not late while nothing is read.
  func deadline(ignoringRequests: Bool) -> Instant? {
    switch state {
    case .delayed(let until): until
    case .requested(let until): ignoringRequests ? nil : until
    case .waiting, .authorizing, .held, .subscribed, .failed: nil
    }
  }
}
