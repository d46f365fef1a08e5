/// Runs on a client's thread: executes orders and reports their results.
final class ClientDriver: LoopMember {
  private static let goodbyeTime = Duration.seconds(1)
  private let loop: EventLoop
  private let connection: PusherConnection
  /// Session of the last `connect()`, until it ends.
  private var run: ClientRun?
  /// Sessions that are closing while a new one may already be connecting.
  private var retired: [(feed: ChannelsFeed, goodbye: LoopTimer)] = []
  private lazy var drops = DropReporter(loop, connection.readers) { [unowned self] number in
    count(.dropped, by: number)
    log(.warning, "a reader of events() is too slow; events dropped: \(number)")
    tell(.dropped(number))
  }
  /// True after the thread asked all members to end; no connection may follow.
  private var isEnding = false

  /// One call of `connect()`, with all its reconnects.
  private final class ClientRun {
    let generation: Int
    let feed: ChannelsFeed
    /// Parts for the current place; `switch(to:)` replaces them.
    var parts: Parts
    var dispatcher: EventDispatcher { parts.dispatcher }
    var signer: MethodSigner { parts.signer }
    var isMoving = false
    var isEstablished = false
    /// Reason why this side ended the session.
    var veto: ConnectionLoss?
    var end: ConnectionEnd?
    var goodbye: LoopTimer?

    init(generation: Int, feed: ChannelsFeed, _ parts: Parts) {
      (self.generation, self.feed, self.parts) = (generation, feed, parts)
    }
  }

  private typealias Parts = (
    place: PusherConnection.Target, destination: Destination, session: SessionOptions,
    dispatcher: EventDispatcher, signer: MethodSigner
  )

  /// Makes the parts for the current place.
  private func parts(_ generation: Int) throws(PusherConfigurationError) -> Parts {
    let place = connection.state.withLock { $0.place }
    let destination = try place.options.destination(key: place.key)
    let dispatcher = EventDispatcher(
      connection: connection, service: place.options.service, generation: generation)
    let signer = MethodSigner(
      loop: loop, connection: connection, place: place, dispatcher: dispatcher,
      network: destination)
    return (place, destination, try place.options.sessionOptions(), dispatcher, signer)
  }

  init(loop: EventLoop, connection: PusherConnection) {
    (self.loop, self.connection) = (loop, connection)
  }

  func beginRound() {
    if let events = run?.dispatcher.beginRound(), events > 0 { count(.events, by: events) }
    drops.beginRound()
    for (feed, goodbye) in retired where feed.isClosed { loop.remove(goodbye) }
    retired.removeAll(where: \.feed.isClosed)
    connection.thread.serve(self, on: loop) {
      guard run == nil, retired.isEmpty, isEnding || connection.isShutDown else { return false }
      drops.end()
      return true
    }
  }

  func end() {
    isEnding = true
    connection.disconnect()
  }

  // MARK: Orders

  func signIn() { run?.feed.signIn() }

  /// The caller's code answered the question with this number.
  func answered(_ question: Int, _ answer: CallerAnswer) { run?.signer.answer(question, answer) }

  /// Releases handlers that were unbound.
  func trim() { run?.dispatcher.trim() }

  /// Resumes reading, unless a reader is behind.
  func read() { run?.feed.isPaused = connection.readers.areBehind }

  /// Starts a new session, for this call of `connect()`.
  func connect(_ generation: Int) {
    reportRefused()
    let (isCurrent, isWanted) = connection.state.withLock {
      ($0.generation == generation && !$0.isShutDown, $0.connectionState == .connecting)
    }
    guard isCurrent else { return }
    retire()
    // A `disconnect()` since then has posted no order if there was no thread yet.
    if isEnding || !isWanted || connection.delegate?.connectionWillConnect(connection) == false {
      connection.change(to: .disconnected, generation: generation)
      return
    }
    do throws(PusherConfigurationError) {
      let run = try make(generation)
      self.run = run
      if connection.state.withLock({ $0.user.isWanted }) { run.feed.signIn() }
      for channel in connection.wantedChannels.elements.sorted(by: { $0.serial < $1.serial }) {
        // A gap of the former session is none of this one.
        channel.takeLoss()
        run.dispatcher.channels[channel.name] = channel
        run.feed.subscribe(channel.name)
      }
      run.feed.isPaused = connection.readers.areBehind
      run.feed.connect()
    } catch {
      connection.change(to: .disconnected, generation: generation, because: error)
      log(.error, "cannot connect: \(error)")
      tell(.failed(error, willRetry: false))
    }
  }

  private func make(_ generation: Int) throws(PusherConfigurationError) -> ClientRun {
    let parts = try parts(generation)
    let feed: ChannelsFeed
    do throws(TLSError) {
      feed = try ChannelsFeed(
        loop: loop, destination: parts.destination, settings: parts.place.options.webSocket,
        options: parts.session, signer: SigningQueue(parts.signer), sink: parts.dispatcher)
    } catch { throw .tls("\(error)") }
    feed.delegate = self
    return ClientRun(generation: generation, feed: feed, parts)
  }

  /// Moves to the place of `switch(to:)`; without a session the next `connect()` uses it.
  func move() {
    guard let run, run.end == nil, run.veto == nil, !run.feed.isClosed,
      connection.state.withLock({ $0.place.number }) != run.parts.place.number
    else { return }
    do {
      let parts = try parts(run.generation)
      parts.dispatcher.channels = run.dispatcher.channels
      run.parts = parts
      run.isMoving = true
      defer { run.isMoving = false }
      log(.debug, "switching to \(parts.destination.url.place)")
      try run.feed.move(
        to: parts.destination, settings: parts.place.options.webSocket, options: parts.session,
        signer: SigningQueue(parts.signer), sink: parts.dispatcher,
        reason: "the client switches to another server or app")
    } catch {
      // `switch(to:)` has checked the options, but a file may have disappeared since.
      run.veto = .dropped("\(error)")
      run.feed.disconnect()
    }
  }

  /// Ends the current session in the background, so that another can start.
  func retire() {
    guard let run else { return }
    self.run = nil
    noteLost(run)
    loop.cancel(&run.goodbye)
    run.feed.delegate = nil
    run.feed.disconnect()
    if !run.feed.isClosed { retired.append((run.feed, limitGoodbye(of: run.feed))) }
  }

  private func noteLost(_ run: ClientRun) {
    for channel in run.dispatcher.channels.elements { channel.noteLost() }
    connection.noteUserLost()
  }

  func disconnect() {
    guard let run else {
      let (state, generation) = connection.state.withLock { ($0.connectionState, $0.generation) }
      if state == .disconnecting { connection.change(to: .disconnected, generation: generation) }
      return
    }
    run.goodbye = limitGoodbye(of: run.feed)
    run.feed.disconnect()
  }

  private func limitGoodbye(of feed: ChannelsFeed) -> LoopTimer {
    loop.schedule(after: Self.goodbyeTime) { feed.abort() }
  }

  // MARK: Channels

  func subscribe(_ channel: PusherChannel) {
    guard let run, connection.channel(channel.name) === channel else { return }
    let known = run.dispatcher.channels[channel.name]
    if known === channel, channel.failure == nil { return }
    channel.noteAsked()
    if known != nil { run.feed.unsubscribe(channel.name) }
    run.dispatcher.channels[channel.name] = channel
    run.feed.subscribe(channel.name)
  }

  func unsubscribe(_ channel: PusherChannel) {
    guard let run, run.dispatcher.channels[channel.name] === channel else { return }
    run.dispatcher.channels[channel.name] = nil
    run.feed.unsubscribe(channel.name)
  }

  func flush(_ channel: PusherChannel) {
    guard let run, run.dispatcher.channels[channel.name] === channel else { return }
    channel.sendUnsent(run.feed.trigger)
  }

  /// Reports the refused subscriptions to the delegate.
  func reportRefused() {
    for channel in connection.takeRefused() {
      guard let failure = channel.failure else { continue }
      tell(.subscriptionFailed(channel: channel.name, response: nil, data: nil, error: failure))
    }
  }

  // MARK: Reporting

  private func tell(_ notice: @autoclosure () -> DelegateNotice) { connection.tell(notice()) }

  private func log(_ level: PusherLogLevel, _ message: @autoclosure () -> String) {
    connection.logger?.log(level, message)
    tell(.log(message()))
  }

  private func count(_ what: PusherCount, by amount: Int = 1) {
    connection.metrics?.count(what, by: amount)
  }
}

extension ClientDriver: ChannelsFeedDelegate {
  func feedSinkIsFull() { pauseWhileHeld() }

  /// Stops reading while a sequence is behind; the `read` order resumes it.
  private func pauseWhileHeld() {
    if connection.readers.areBehind { run?.feed.isPaused = true }
  }

  func feed(received event: Envelope, named name: String?, at now: Instant) {
    guard let dispatcher = run?.dispatcher, dispatcher.isLive else { return }
    var notice: DelegateNotice?
    if name == publicName("subscription_count"), let name = event.channelName,
      let channel = dispatcher.channels[name], let count = event.data["subscription_count"]?.integer
    {
      channel.noteSubscriptionCount(count)
      notice = .subscriptionCount(channel: name, count)
    }
    dispatcher.dispatch(event, named: name)
    if let notice { tell(notice) }
    pauseWhileHeld()
  }

  func feed(exchanged text: @autoclosure () -> String, isSent: Bool) {
    log(.trace, isSent ? "sent: \(Self.masked(text()))" : "received: \(text())")
    // An asynchronous delegate may be behind because of log messages alone.
    pauseWhileHeld()
  }

  func feedClosed() {
    guard let run else { return }
    self.run = nil
    loop.cancel(&run.goodbye)
    noteLost(run)
    let loss: ConnectionLoss? =
      switch run.end {
      case .lost(let loss, _), .retriesExhausted(let loss, _, _): loss
      case .asked, .finished, nil: nil
      }
    let isChanged = connection.change(
      to: .disconnected, generation: run.generation, because: loss ?? run.veto)
    if let loss {
      log(.error, "disconnected, not retrying: \(loss)")
      if isChanged { lost(loss, run, willAttemptReconnect: false) }
    } else if let veto = run.veto {
      log(.warning, "not retrying, as the delegate decided: \(veto)")
    } else if run.isEstablished {
      tell(.disconnected(nil, willRetry: false))
    }
  }

  func feed(reports event: ConnectionEvent, at now: Instant) {
    guard let run else { return }
    switch event {
    case .disconnected(let loss, _, let delay, let attempt):
      connection.state.withLock { $0.failedAttempts = attempt }
      disconnected(run, loss, retryIn: delay)
    case .ended(let end): run.end = end
    case .gap(let start, let end):
      guard run.dispatcher.isLive else { return }
      let affected = run.dispatcher.channels.elements.filter { $0.takeLoss() }
      missed(PusherGap(from: start, to: end, at: now), start.duration(to: end), affected, "")
    case .opened, .upgraded, .redirected, .reconnectionTime, .resumedElsewhere: break
    }
  }

  /// Tells a gap to these channels and to the client; `cause` is for the log.
  private func missed(
    _ gap: PusherGap, _ length: Duration, _ channels: [PusherChannel], _ cause: String
  ) {
    count(.gaps)
    for channel in channels { channel.bindings.tell(gap) }
    connection.bindings.tell(gap)
    log(.warning, "subscribed again; events of \(length.inWords) may be missing\(cause)")
    tell(.gap(gap, length: length))
  }

  func feed(reports event: SessionEvent, at now: Instant) {
    guard let run else { return }
    defer { pauseWhileHeld() }
    if case .connected(let socketID, _) = event { return connected(run, socketID) }
    if run.dispatcher.isLive { report(event, run, at: now) }
  }

  private func connected(_ run: ClientRun, _ socketID: String) {
    run.isEstablished = true
    connection.state.withLock { $0.failedAttempts = 0 }
    count(.connections)
    log(.info, "connected as socket \(socketID)")
    guard
      connection.change(to: .connected, generation: run.generation, socketId: socketID)
    else { return }
    tell(.connected)
  }

  private func disconnected(_ run: ClientRun, _ loss: ConnectionLoss, retryIn delay: Duration?) {
    noteLost(run)
    guard let delay else { return }
    log(.warning, "\(run.isEstablished ? "connection lost" : "cannot connect"): \(loss)")
    var planned: Duration? = delay
    if let delegate = connection.delegate, !run.isMoving {
      planned = delegate.connectionWillReconnect(connection, afterDelay: delay)
    }
    if planned != nil {
      connection.change(to: .reconnecting, generation: run.generation, because: loss)
    } else {
      run.veto = loss
    }
    if run.dispatcher.isLive { lost(loss, run, willAttemptReconnect: planned != nil) }
    run.isEstablished = false
    guard let planned else { return run.feed.disconnect() }
    if planned != delay { run.feed.retry(in: planned) }
  }

  private func lost(_ loss: ConnectionLoss, _ run: ClientRun, willAttemptReconnect: Bool) {
    count(.losses)
    tell(
      run.isEstablished
        ? .disconnected(loss, willRetry: willAttemptReconnect)
        : .failed(loss, willRetry: willAttemptReconnect))
  }

  private func report(_ event: SessionEvent, _ run: ClientRun, at now: Instant) {
    switch event {
    case .recovered(let name, let count, _):
      let channel = run.dispatcher.channels[name]
      channel?.takeLoss()
      channel?.bindings.tell(recovered: count)
      connection.bindings.tell(recovered: count)
      log(.info, "no event of \(name) is missing; the server replayed \(count)")
    case .missed(let name, let gap, let start, let end):
      let channel = run.dispatcher.channels[name]
      channel?.takeLoss()
      missed(
        PusherGap(from: start, to: end, at: now), start.duration(to: end),
        [channel].compactMap(\.self), " on \(name): \(gap.reason)")
    case .signedIn(let userID, let userData): signedIn(run, userID, userData)
    case .signInFailed(let failure): userFailed(failure, run)
    case .signInDelayed(let reason, let delay):
      log(.warning, "sign-in failed, retrying in \(delay.inWords): \(reason)")
      // Channels are subscribed after the sign-in.
      noteDelayed(.unavailable("sign-in", reason), run)
    case .watchlist(let change):
      run.dispatcher.dispatch(
        change.name, to: connection.watchlist,
        data: [
          "name": .string(change.name), "user_ids": .array(change.userIds.map(JSONValue.string)),
        ])
      tell(.watchlist(change))
    case .subscribed(let name, let roster): subscribed(run, name, roster)
    case .subscriptionFailed(let name, let failure): failed(run, name, failure)
    case .membersLeftOut(let name, let limits):
      log(
        .warning,
        "the member list of \(name) ends at \(limits.members) members or \(limits.bytes) bytes")
    case .memberAdded(let name, let member):
      if let channel = run.dispatcher.channels[name] as? PusherPresenceChannel {
        channel.noteAdded(member)
        tell(.memberAdded(member, channel))
      }
      run.dispatcher.dispatch(publicName("member_added"), channel: name) { member.json }
    case .memberRemoved(let name, let member):
      if let channel = run.dispatcher.channels[name] as? PusherPresenceChannel {
        channel.noteRemoved(member)
        tell(.memberRemoved(member, channel))
      }
      run.dispatcher.dispatch(publicName("member_removed"), channel: name) { member.json }
    case .error(let code, let message):
      log(.warning, "error \(code.map(String.init) ?? "without code"): \(message)")
      tell(.error(PusherError(message: message, code: code)))
      run.dispatcher.dispatch(publicName("error"), channel: nil) {
        ["code": code.map(JSONValue.integer) ?? .null, "message": .string(message)]
      }
    case .rateLimited(let limit):
      log(.warning, limit.inWords)
      noteDelayed(SubscriptionFailure(type: "RateLimit", message: limit.cause, fault: .peer), run)
    case .clientEventsDropped(let count, let message):
      log(.warning, "\(RateLimit.cause(message)) dropped \(count) client events")
    case .clientEventRefused(let message):
      log(.warning, "the server refused a client event: \(message)")
    case .authorizationDelayed(let name, let reason, let delay):
      log(.warning, "authorisation of \(name) failed, retrying in \(delay.inWords): \(reason)")
      run.dispatcher.channels[name]?.noteDelayed(.unavailable("authorisation", reason))
    case .decryptionFailed(let name, let event, let data, let reason):
      count(.leftOut)
      log(.warning, "cannot decrypt event \(event) on \(name): \(reason)")
      tell(.undecrypted(event: event, channel: name, data: data))
    case .unknownInternalEvent(let name, let channel):
      count(.leftOut)
      log(
        .warning,
        "event \(name)\(channel.map { " on \($0)" } ?? "") ignored: unknown to this version")
    case .malformed(let reason, _):
      count(.leftOut)
      log(.warning, "message ignored: \(reason)")
    default: break
    }
  }

  private func noteDelayed(_ delay: SubscriptionFailure?, _ run: ClientRun) {
    for channel in run.dispatcher.channels.elements { channel.noteDelayed(delay) }
  }

  private func subscribed(_ run: ClientRun, _ name: String, _ roster: PresenceRoster?) {
    guard let channel = run.dispatcher.channels[name] else { return }
    let presence = roster == nil ? nil : channel as? PusherPresenceChannel
    // Set first: `noteSubscribed` resumes waiting tasks, which may read the members immediately.
    if let roster { presence?.noteMembers(roster, myId: run.signer.memberID(of: name)) }
    channel.noteSubscribed()
    if UserChannel.userID(channelName: name) != nil { return }
    if let presence { presence.delegate?.presenceChannelDidSubscribe(presence) }
    run.dispatcher.dispatch(publicName("subscription_succeeded"), channel: name) {
      guard let roster else { return .object([]) }
      return ["presence": roster.json]
    }
    // After the handlers, as in PusherSwift: a handler that is bound now gets no earlier event.
    tell(.subscribed(channel: name))
    flush(channel)
  }

  private func failed(_ run: ClientRun, _ name: String, _ failure: SubscriptionFailure) {
    count(.failedSubscriptions)
    log(.warning, "subscription of \(name) failed: \(failure.message)")
    if UserChannel.userID(channelName: name) != nil { return userFailed(failure, run) }
    let outcome = run.signer.takeOutcome(about: name)
    var failure = failure
    failure.underlyingError = outcome.error
    run.dispatcher.channels[name]?.noteFailed(failure)
    tell(
      .subscriptionFailed(
        channel: name, response: outcome.response, data: outcome.body, error: failure))
    run.dispatcher.dispatch(publicName("subscription_error"), channel: name) {
      [
        "type": .string(failure.type), "error": .string(failure.message),
        "status": failure.status.map(JSONValue.integer) ?? .null,
      ]
    }
  }

  private func publicName(_ name: String) -> String {
    (run?.parts.place.options ?? connection.options).service.eventPrefix + name
  }

  /// Returns a message without its signatures.
  private static func masked(_ message: String) -> String {
    guard case .object(var members)? = try? JSONParser.parse(message),
      let place = members.firstIndex(where: { $0.name == "data" }),
      case .object(var data) = members[place].value
    else { return message }
    for index in data.indices where data[index].name == "auth" { data[index].value = "(hidden)" }
    members[place].value = .object(data)
    return JSONValue.object(members).jsonText
  }

  // MARK: The user

  private func signedIn(_ run: ClientRun, _ userID: String, _ userData: JSONValue) {
    log(.info, "signed in as user \(userID)")
    noteDelayed(nil, run)
    let name = UserChannel.name(userID: userID)
    for former in run.dispatcher.channels.names
    where !former.isSame(as: name) && UserChannel.userID(channelName: former) != nil {
      run.dispatcher.channels[former] = nil
    }
    if run.dispatcher.channels[name] == nil {
      run.dispatcher.channels[name] = PusherChannel(
        name: name, connection: connection, bindings: connection.userBindings)
    }
    connection.noteSignedIn(userID, userData)
    run.dispatcher.dispatch(publicName("signin_success"), channel: nil) {
      ["user_data": .string(userData.jsonText)]
    }
    tell(.signedIn(userID: userID, userData: userData))
  }

  /// The sign-in failed, or the subscription of the user's own channel did.
  private func userFailed(_ failure: SubscriptionFailure, _ run: ClientRun) {
    log(.warning, "sign-in failed: \(failure.message)")
    noteDelayed(nil, run)
    let outcome = run.signer.takeOutcome()
    var failure = failure
    failure.underlyingError = outcome.error
    connection.noteSignInFailed(failure)
    tell(.signInFailed(response: outcome.response, data: outcome.body, error: failure))
  }
}

extension SubscriptionFailure {
  /// The delay until the signer is asked again.
  fileprivate static func unavailable(_ what: String, _ reason: String) -> SubscriptionFailure {
    SubscriptionFailure(type: "Unavailable", message: "the \(what) failed: \(reason)", fault: .peer)
  }
}

extension PusherPresenceChannelMember {
  fileprivate var json: JSONValue { ["user_id": .string(userId), "user_info": userInfo] }
}
