package import PusherCore

extension ClientSession {
  func handle(_ message: ClientMessage, at now: Instant) {
    switch message {
    case .ping: answerPing(at: now)
    case .pong: break
    case .signIn(let auth, let userData): signIn(auth: auth, userData: userData, at: now)
    case .subscribe(let channel, let auth, let channelData):
      subscribe(to: channel, auth: auth, channelData: channelData, at: now)
    case .unsubscribe(let channel): unsubscribe(from: channel, at: now)
    case .clientEvent(let name, let channel, let data):
      relay(name: name, channel: channel, data: data, at: now)
    case .unknown(let name):
      complain(
        "Unknown event '\(name)': client events begin with client-", .uselessMessage, at: now)
    case .malformed(let reason): complain("Invalid message: \(reason)", .uselessMessage, at: now)
    }
  }

  /// Returns false for a message above the rate limit: an error event answers it, or the connection
  /// ends.
  ///
  /// Reverb ends its output before it writes the error, so a client whose connection ends sees
  /// neither an error nor a close frame.
  func admitsMessage(at now: Instant) -> Bool {
    guard let limit = rates.messages?.limit, rates.messages?.admit(at: now) == false else {
      return true
    }
    let seconds = limit.window.components.seconds
    let reason = "above the rate limit of messages: \(limit.messages) in \(seconds) s"
    if limit.endsConnection {
      finish(reason: reason, at: now)
    } else {
      complain(reason, .messageRate, at: now)
    }
    return false
  }

  /// Reports a mistake with an error event, if the dialect does; the socket stays open.
  private func complain(
    _ reason: String, _ mistake: Dialect.Mistake, code: PusherCode? = nil,
    channel: String? = nil, at now: Instant
  ) {
    hub.log(.clientError(socketID: socketID, reason: reason))
    var message = (code: code, text: reason)
    switch context.dialect.mistakes[mistake] {
    case nil: break
    case .code(let usual): message.code = code ?? usual
    case .words(let own, let words): if code == nil { message = (own, words) }
    case .silence: return
    }
    send(hub.text.error(code: message.code, message: message.text, channel: channel), at: now)
  }

  // MARK: The user

  private func signIn(auth: String, userData: String, at now: Instant) {
    guard context.dialect.has(.knowsSignIn) else {
      complain("sign-in is not supported", .uselessMessage, at: now)
      return
    }
    if let user {
      complain("The connection is already signed in as user \(user.id)", .uselessMessage, at: now)
      return
    }
    do throws(SubscriptionRefusal) {
      let user = try hub.application.user(
        auth, socketID: socketID, userData: userData, limits: hub.limits,
        form: context.dialect.memberForm)
      hub.signIn(self, as: user, SignInProof(auth: auth, userData: userData), at: now)
    } catch {
      hub.log(.signInRefused(socketID: socketID, reason: error.reason))
      send(hub.text.error(code: error.code, message: error.reason), at: now)
      close(.unauthorized, reason: "The sign-in is not valid", at: now)
    }
  }

  // MARK: Subscriptions

  private func subscribe(to channel: String, auth: String, channelData: String?, at now: Instant) {
    do throws(SubscriptionRefusal) {
      guard rates.joins.admit(hub.limits, at: now) else { throw hub.tooFast(self) }
      let member = try checkSubscription(channel: channel, auth: auth, channelData: channelData)
      subscriptions.insert(channel)
      hub.subscribe(self, to: channel, as: member, at: now)
    } catch { tell(error, channel, at: now) }
  }

  package func refuse(
    _ channel: String, _ refusal: SubscriptionRefusal, isSubscribed: Bool, at now: Instant
  ) {
    if !isSubscribed { subscriptions.remove(channel) }
    tell(refusal, channel, at: now)
  }

  private func tell(_ refusal: SubscriptionRefusal, _ channel: String, at now: Instant) {
    hub.log(.subscriptionRefused(socketID: socketID, channel: channel, reason: refusal.reason))
    send(context.dialect.answers.message(hub.text, refusal, channel: channel), at: now)
  }

  private func checkSubscription(
    channel: String, auth: String, channelData: String?
  ) throws(SubscriptionRefusal) -> Member? {
    let dialect = context.dialect
    if let problem = dialect.answers.problem(inChannel: channel) {
      throw SubscriptionRefusal(
        reason: "Invalid channel name: \(problem)",
        cause: channel.utf8.count > ChannelName.maximumLength ? .longName : .name)
    }
    let isOwn = user.map { channel.isSame(as: UserChannel.name(userID: $0.id)) } ?? false
    guard !channel.begins(with: "#") || isOwn else {
      throw SubscriptionRefusal(reason: "\(channel) is only for its signed-in user")
    }
    let isSecond = subscriptions.contains(channel)
    guard !isSecond || dialect.has(.acceptsSecondSubscription) else {
      throw SubscriptionRefusal(reason: "Existing subscription to channel \(channel)")
    }
    if !isSecond { try hub.makeSureOfRoom(for: channel, of: self) }
    let kind = dialect.answers.kind(of: channel)
    guard kind.needsAuthorization else { return nil }
    guard !refusesStaged(channel) else {
      throw SubscriptionRefusal(
        reason: "Invalid signature: refused by a staged fault", cause: .unauthorized)
    }
    try hub.application.verify(auth, socketID: socketID, channel: channel, channelData: channelData)
    guard kind == .presence else { return nil }
    return try Member(
      channelData, user: user, limits: hub.limits, form: dialect.memberForm)
  }

  private func unsubscribe(from channel: String, at now: Instant) {
    guard subscriptions.remove(channel) else {
      complain(
        "No current subscription to channel \(channel), or subscription in progress",
        .noSubscription, channel: channel, at: now)
      return
    }
    rates.joins.noteDeparture(hub.limits, at: now)
    hub.leave(self, channel, at: now)
    hub.log(.unsubscribed(socketID: socketID, channel: channel))
  }

  // MARK: Client events

  private func relay(name: String, channel: String, data: JSONValue?, at now: Instant) {
    guard let relayed = context.dialect.answers.relayed(data) else {
      complain("the data is a string, but not JSON", .clientEvent, at: now)
      return
    }
    if let (reason, mistake, code) = refusal(of: name, channel: channel, data: data, at: now) {
      complain("Client event rejected - \(reason)", mistake, code: code, channel: channel, at: now)
      return
    }
    hub.relay(name: name, channel: channel, data: relayed, from: self, at: now)
  }

  private func refusal(
    of name: String, channel: String, data: JSONValue?, at now: Instant
  ) -> (reason: String, mistake: Dialect.Mistake, code: PusherCode?)? {
    guard hub.application.allowsClientEvents else {
      return ("client events are switched off for this app", .clientEventsOff, nil)
    }
    let dialect = context.dialect
    guard dialect.clientEventKinds.contains(dialect.answers.kind(of: channel)) else {
      return ("only supported on private and presence channels", .clientEvent, nil)
    }
    guard subscriptions.contains(channel) else {
      return ("this connection is not subscribed to \(channel)", .notMember, nil)
    }
    if let problem = dialect.answers.problem(inEvent: name) { return (problem, .clientEvent, nil) }
    let limits = hub.limits
    let length = data.map { $0.text?.utf8.count ?? JSONWriter.text($0).utf8.count } ?? 0
    guard length <= limits.sizes.eventData else {
      let reason = "the data has \(length) bytes; the maximum is \(limits.sizes.eventData)"
      return (reason, .clientEvent, nil)
    }
    guard hub.isAvailable else {
      return ("the server cannot reach its other nodes now", .clientEvent, .overCapacity)
    }
    guard rates.events.admit(at: now) else {
      let limit = limits.clientEventsPerSecond ?? 0
      return ("rate limit of \(limit) in a second exceeded", .clientEvent, .clientEventRate)
    }
    return nil
  }
}
