internal import PusherCore

// What a client's messages do.
extension ClientSession {
  func handle(_ message: ClientMessage, at now: Instant) {
    switch message {
    case .ping: answerPing(at: now)
    case .pong: break
    case .signIn(let auth, let userData): signIn(auth: auth, userData: userData, at: now)
    case .subscribe(let channel, let auth, let channelData):
      subscribe(to: channel, auth: auth, channelData: channelData)
    case .unsubscribe(let channel): unsubscribe(from: channel)
    case .clientEvent(let name, let channel, let data):
      relay(name: name, channel: channel, data: data, at: now)
    case .unknown(let name):
      complain(
        "Unknown event '\(name)': an event that clients send to each other begins with client-",
        .uselessMessage)
    case .malformed(let reason): complain("Invalid message: \(reason)", .uselessMessage)
    }
  }

  /// Answers with an error event, if this server does; the socket stays.
  private func complain(
    _ reason: String, _ mistake: Dialect.Mistake, code: PusherCode? = nil, channel: String? = nil
  ) {
    hub.log(.clientError(socketID: socketID, reason: reason))
    switch hub.text.dialect.answer(to: mistake) {
    case .reason(let usual):
      send(hub.text.error(code: code ?? usual, message: reason, channel: channel))
    case .words(let own, let words) where code == nil:
      send(hub.text.error(code: own, message: words, channel: channel))
    case .words: send(hub.text.error(code: code, message: reason, channel: channel))
    case .silence: break
    }
  }

  // MARK: The user

  private func signIn(auth: String, userData: String, at now: Instant) {
    guard hub.text.dialect.knowsSignIn else {
      complain("sign-in is not known", .uselessMessage)
      return
    }
    if let user {
      complain("The connection is signed in already, as user \(user.id)", .uselessMessage)
      return
    }
    do throws(SubscriptionRefusal) {
      let claim = SignInClaim(socketID: socketID, auth: auth, userData: userData)
      let user = try claim.user(for: hub.application, limits: hub.limits)
      hub.signIn(self, as: user, userData: userData, auth: auth)
    } catch {
      hub.log(.signInRefused(socketID: socketID, reason: error.reason))
      send(hub.text.error(code: error.code, message: error.reason))
      close(.unauthorized, reason: "The sign-in is not valid", at: now)
    }
  }

  // MARK: Subscriptions

  private func subscribe(to channel: String, auth: String, channelData: String?) {
    do throws(SubscriptionRefusal) {
      let member = try checkSubscription(channel: channel, auth: auth, channelData: channelData)
      guard subscriptions.insert(channel) else {
        hub.subscribeAgain(self, to: channel, as: member)
        return
      }
      hub.subscribe(self, to: channel, as: member)
    } catch {
      hub.log(
        .subscriptionRefused(socketID: socketID, channel: channel, reason: error.reason))
      send(hub.text.refusal(error, channel: channel))
    }
  }

  /// The member that a presence subscription names; `nil` on other channels.
  private func checkSubscription(
    channel: String, auth: String, channelData: String?
  ) throws(SubscriptionRefusal) -> Member? {
    let dialect = hub.text.dialect
    if let problem = dialect.problem(inChannel: channel) {
      throw SubscriptionRefusal(
        reason: "Invalid channel name: \(problem)",
        cause: channel.utf8.count > ChannelName.maximumLength ? .longName : .name)
    }
    let isOwn = user.map { channel.isSame(as: UserChannel.name(userID: $0.id)) } ?? false
    guard !channel.begins(with: "#") || isOwn else {
      throw SubscriptionRefusal(reason: "\(channel) is only for a user who is signed in")
    }
    let isSecond = subscriptions.contains(channel)
    guard !isSecond || dialect.acceptsSecondSubscription else {
      throw SubscriptionRefusal(reason: "Existing subscription to channel \(channel)")
    }
    guard isSecond || subscriptions.count < hub.limits.subscriptions else {
      throw SubscriptionRefusal(
        reason: "a connection has at most \(hub.limits.subscriptions) subscriptions")
    }
    let kind = dialect.kind(of: channel)
    guard kind.needsAuthorization else { return nil }
    guard !refusesStaged(channel) else {
      throw SubscriptionRefusal(
        reason: "Invalid signature: refused by a staged fault", cause: .unauthorized)
    }
    let claim = SubscriptionClaim(
      socketID: socketID, channel: channel, auth: auth, channelData: channelData)
    try claim.verify(for: hub.application)
    guard kind == .presence else { return nil }
    let member = try claim.member(limits: hub.limits, user: user, dialect: dialect)
    guard hub.hasRoom(for: member.userID, in: channel) else {
      throw SubscriptionRefusal(
        reason: "a presence channel has at most \(hub.limits.presenceMembers) members",
        code: .overQuota, cause: .fullChannel)
    }
    return member
  }

  private func unsubscribe(from channel: String) {
    guard subscriptions.remove(channel) else {
      complain(
        "No current subscription to channel \(channel), or subscription in progress",
        .noSubscription, channel: channel)
      return
    }
    hub.leave(self, channel)
    hub.log(.unsubscribed(socketID: socketID, channel: channel))
  }

  // MARK: Client events

  private func relay(name: String, channel: String, data: JSONValue?, at now: Instant) {
    guard let relayed = hub.text.dialect.relayed(data) else {
      complain("the data is a string that holds no JSON", .clientEvent)
      return
    }
    if let (reason, mistake, code) = refusal(of: name, channel: channel, data: data, at: now) {
      complain("Client event rejected - \(reason)", mistake, code: code, channel: channel)
      return
    }
    hub.relay(name: name, channel: channel, data: relayed, from: self)
  }

  private func refusal(
    of name: String, channel: String, data: JSONValue?, at now: Instant
  ) -> (reason: String, mistake: Dialect.Mistake, code: PusherCode?)? {
    guard hub.application.allowsClientEvents else {
      return ("client events are switched off for this app", .clientEventsOff, nil)
    }
    let dialect = hub.text.dialect
    guard dialect.passesOnClientEvents(on: dialect.kind(of: channel)) else {
      return ("only supported on private and presence channels", .clientEvent, nil)
    }
    guard subscriptions.contains(channel) else {
      return ("this connection is not subscribed to \(channel)", .notMember, nil)
    }
    if let problem = dialect.problem(inEvent: name) {
      return (problem, .clientEvent, nil)
    }
    let limits = hub.limits
    let length = data.map { $0.text?.utf8.count ?? JSONWriter.text($0).utf8.count } ?? 0
    guard length <= limits.eventData else {
      let reason = "the data has \(length) bytes, more than the maximum of \(limits.eventData)"
      return (reason, .clientEvent, nil)
    }
    guard clientEvents.admit(at: now) else {
      let limit = limits.clientEventsPerSecond ?? 0
      return ("more than \(limit) in a second", .clientEvent, .clientEventRate)
    }
    return nil
  }
}
