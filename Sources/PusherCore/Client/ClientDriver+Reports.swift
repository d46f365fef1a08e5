/// What the client's own thread tells the outside.
extension ClientDriver: ChannelsClientDelegate {
  func clientTapIsFull(_ client: ChannelsClient) {}

  func client(
    _ client: ChannelsClient, received event: Envelope, named name: String?, at now: Instant
  ) {
    guard let dispatcher = attempt?.dispatcher, dispatcher.isLive else { return }
    dispatcher.dispatch(event, named: name)
  }

  func client(_ client: ChannelsClient, receives message: ByteView) {
    log("received: \(message.text)")
  }

  func client(_ client: ChannelsClient, sends message: String) {
    log("sent: \(Self.masked(message))")
  }

  func clientClosed(_ client: ChannelsClient) {
    guard let attempt else { return }
    self.attempt = nil
    if let goodbye = attempt.goodbye { loop.remove(goodbye) }
    for channel in attempt.dispatcher.channels.values { channel.noteLost() }
    let wasEstablished = attempt.isEstablished
    let isChanged = connection.change(to: .disconnected, generation: attempt.generation)
    switch attempt.end {
    case .asked, nil:
      if let veto = attempt.veto {
        log("not connected again: \(veto)")
      } else if wasEstablished {
        delegate?.connectionDidDisconnect(connection, error: nil, willAttemptReconnect: false)
      }
    case .lost(let loss, _), .retriesExhausted(let loss, _, _):
      log("disconnected for good: \(loss)")
      if isChanged { lost(loss, attempt, willAttemptReconnect: false) }
    }
  }

  func client(_ client: ChannelsClient, reports event: SessionEvent, at now: Instant) {
    guard let attempt, attempt.client === client else { return }
    switch event {
    case .connected(let socketID, _): connected(attempt, socketID)
    case .disconnected(let loss, _, let delay, _): disconnected(attempt, loss, retryIn: delay)
    case .ended(let end): attempt.end = end
    case .gap(let start, let end):
      guard attempt.dispatcher.isLive else { return }
      delegate?.connectionMayHaveMissedEvents(connection, during: start.duration(to: end))
    default:
      if attempt.dispatcher.isLive { report(event, attempt) }
    }
  }

  private func connected(_ attempt: Attempt, _ socketID: String) {
    attempt.isEstablished = true
    log("connected as socket \(socketID)")
    guard
      connection.change(to: .connected, generation: attempt.generation, socketId: socketID)
    else { return }
    delegate?.connectionDidConnect(connection)
  }

  private func disconnected(_ attempt: Attempt, _ loss: ConnectionLoss, retryIn delay: Duration?) {
    for channel in attempt.dispatcher.channels.values { channel.noteLost() }
    guard let delay else { return }
    log("connection lost: \(loss)")
    var planned: Duration? = delay
    if let delegate {
      planned = delegate.connectionWillReconnect(connection, afterDelay: delay)
    }
    if planned != nil {
      connection.change(to: .reconnecting, generation: attempt.generation)
    } else {
      attempt.veto = loss
    }
    if attempt.dispatcher.isLive { lost(loss, attempt, willAttemptReconnect: planned != nil) }
    attempt.isEstablished = false
    guard let planned else { return attempt.client.disconnect() }
    if planned != delay { attempt.client.retry(in: planned) }
  }

  private func lost(_ loss: ConnectionLoss, _ attempt: Attempt, willAttemptReconnect: Bool) {
    if attempt.isEstablished {
      delegate?.connectionDidDisconnect(
        connection, error: loss, willAttemptReconnect: willAttemptReconnect)
    } else {
      delegate?.connectionDidFail(
        connection, error: loss, willAttemptReconnect: willAttemptReconnect)
    }
  }

  /// Tells what happened to channels.
  private func report(_ event: SessionEvent, _ attempt: Attempt) {
    switch event {
    case .subscribed(let name, let roster): subscribed(attempt, name, roster)
    case .subscriptionFailed(let name, let failure): failed(attempt, name, failure)
    case .memberAdded(let name, let member):
      (attempt.dispatcher.channels[name] as? PusherPresenceChannel)?.noteAdded(member)
      attempt.dispatcher.dispatch(publicName("member_added"), channel: name) {
        Self.json(member)
      }
    case .memberRemoved(let name, let member):
      (attempt.dispatcher.channels[name] as? PusherPresenceChannel)?.noteRemoved(member)
      attempt.dispatcher.dispatch(publicName("member_removed"), channel: name) {
        Self.json(member)
      }
    case .error(let code, let message):
      log("error \(code.map(String.init) ?? "without code"): \(message)")
      delegate?.receivedError(error: PusherError(message: message, code: code))
      attempt.dispatcher.dispatch(publicName("error"), channel: nil) {
        ["code": code.map(JSONValue.integer) ?? .null, "message": .string(message)]
      }
    case .authorizationDelayed(let name, let reason, let delay):
      log("authorisation of \(name) is asked for again in \(delay.inWords): \(reason)")
    case .malformed(let reason, _): log("a message was left out: \(reason)")
    default: break
    }
  }

  private func subscribed(_ attempt: Attempt, _ name: String, _ roster: PresenceRoster?) {
    guard let channel = attempt.dispatcher.channels[name] else { return }
    channel.noteSubscribed()
    if let roster, let presence = channel as? PusherPresenceChannel {
      presence.noteMembers(roster, myId: attempt.authorizer.memberID(of: name))
      presence.delegate?.presenceChannelDidSubscribe(presence)
    }
    delegate?.subscribedToChannel(name: name)
    attempt.dispatcher.dispatch(publicName("subscription_succeeded"), channel: name) {
      guard let roster else { return .object([]) }
      return ["presence": roster.json]
    }
    flush(channel)
  }

  private func failed(_ attempt: Attempt, _ name: String, _ failure: SubscriptionFailure) {
    log("subscription of \(name) failed: \(failure.message)")
    attempt.dispatcher.channels[name]?.noteFailed(failure)
    let answer = attempt.authorizer.takeAnswer(about: name)
    delegate?.failedToSubscribeToChannel(
      name: name, response: answer?.response, data: answer?.body, error: failure)
    attempt.dispatcher.dispatch(publicName("subscription_error"), channel: name) {
      [
        "type": .string(failure.type), "error": .string(failure.message),
        "status": failure.status.map(JSONValue.integer) ?? .null,
      ]
    }
  }

  private func publicName(_ name: String) -> String {
    connection.options.service.eventPrefix + name
  }

  private static func json(_ member: PusherPresenceChannelMember) -> JSONValue {
    ["user_id": .string(member.userId), "user_info": member.userInfo]
  }

  /// A message without what proves who may do something.
  private static func masked(_ message: String) -> String {
    guard case .object(var members)? = try? JSONParser.parse(message),
      let place = members.firstIndex(where: { $0.name == "data" }),
      case .object(var data) = members[place].value
    else { return message }
    for index in data.indices where data[index].name == "auth" {
      data[index].value = "(left out)"
    }
    members[place].value = .object(data)
    return JSONValue.object(members).jsonText
  }
}
