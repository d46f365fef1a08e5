extension Session {
  /// Keeps a channel subscribed from now on, over every reconnect.
  package mutating func subscribe(_ channel: String, at now: Instant) {
    guard subscriptions[channel] == nil else { return }
    subscriptions[channel] = Subscription(channel: channel)
    if isConnected, !signIn.isPending { begin(channel, at: now) }
  }

  package mutating func unsubscribe(_ channel: String, at now: Instant) {
    guard let subscription = subscriptions[channel] else { return }
    subscriptions[channel] = nil
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

  mutating func beginChannels(at now: Instant) {
    guard !signIn.isPending else { return }
    for channel in channels { begin(channel, at: now) }
    closeGapIfSettled(at: now)
  }

  mutating func begin(_ channel: String, at now: Instant) {
    guard let subscription = subscriptions[channel], subscription.state == .waiting else { return }
    subscriptions[channel]?.signatures.restart()
    if subscription.kind.needsAuthorization {
      askForAuthorization(channel)
    } else {
      request(channel, auth: nil, at: now)
    }
  }

  private mutating func askForAuthorization(_ channel: String) {
    guard let socketID else { return }
    subscriptions[channel]?.state = .authorizing
    ask(.channel(channel), socketID)
  }

  mutating func ask(_ subject: AuthorizationRequest.Subject, _ socketID: String) {
    emit(.authorize(AuthorizationRequest(subject, socketID: socketID, generation: link.generation)))
  }

  private mutating func request(_ channel: String, auth: Authorization?, at now: Instant) {
    subscriptions[channel]?.authorization = auth
    subscriptions[channel]?.state = .held
    sendHeld(at: now)
  }

  mutating func send(subscription channel: String, at now: Instant) {
    let deadline = now.advanced(by: options.connectTimeout)
    subscriptions[channel]?.remark = nil
    subscriptions[channel]?.state = .requested(until: deadline)
    let auth = subscriptions[channel]?.authorization
    emit(.send(command.subscribe(channel: channel, auth: auth)))
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
  mutating func succeeded(_ channel: String, _ envelope: Envelope, at now: Instant) {
    guard var subscription = subscriptions[channel] else { return }
    let isNew = subscription.state != .subscribed
    switch subscription.state {
    case .requested(let until):
      link.delivery.noteAnswer(to: until.advanced(by: .zero - options.connectTimeout), at: now)
    case .held, .subscribed: break
    default: return
    }
    let former = subscription.roster
    subscription.state = .subscribed
    subscription.authorization = nil
    subscription.signatures.noteConfirmed()
    if subscription.kind == .presence {
      subscription.roster = PresenceRoster(envelope, limits: options.presence)
    }
    subscriptions[channel] = subscription
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

  mutating func memberAdded(_ channel: String, _ member: PusherPresenceChannelMember) {
    let wasCut = subscriptions[channel]?.roster?.isCut ?? true
    subscriptions[channel]?.roster?.insert(member.userId, member.userInfo)
    report(.memberAdded(channel: channel, member))
    if !wasCut, subscriptions[channel]?.roster?.isCut == true {
      report(.membersLeftOut(channel: channel, options.presence))
    }
  }

  mutating func memberRemoved(_ channel: String, _ userID: String) {
    let known = subscriptions[channel]?.roster?.remove(userID)
    report(.memberRemoved(channel: channel, known ?? PusherPresenceChannelMember(userId: userID)))
  }

  mutating func fail(_ channel: String, _ failure: SubscriptionFailure, at now: Instant) {
    guard isConnected, let subscription = subscriptions[channel], !subscription.state.isSettled
    else { return }
    subscriptions[channel]?.state = .failed
    subscriptions[channel]?.authorization = nil
    report(.subscriptionFailed(channel: channel, failure))
    if case .requested = subscription.state { noteAnswered(at: now) }
    closeGapIfSettled(at: now)
  }

  mutating func tickSubscriptions(at now: Instant) {
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
    rates.clientEvents.noteSent(at: now)
    emit(.send(command.clientEvent(event)))
    return true
  }
}
