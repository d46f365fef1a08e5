/// The part of the session that joins channels and keeps them joined.
extension Session {
  /// How often a signature is asked for before a channel that never was joined is given up.
  private static let authorizationTries = 3

  /// Wants a channel from now on, over every reconnect; nothing happens when it is wanted already.
  package mutating func subscribe(_ channel: String, at now: Instant) {
    guard subscriptions[channel] == nil else { return }
    subscriptions[channel] = Subscription(channel: channel)
    channelOrder.append(channel)
    if isConnected { begin(channel, at: now) }
  }

  /// Wants a channel no longer, whatever its state.
  package mutating func unsubscribe(_ channel: String, at now: Instant) {
    guard let subscription = subscriptions.removeValue(forKey: channel) else { return }
    channelOrder.removeAll { $0 == channel }
    switch subscription.state {
    case .requested where isConnected, .subscribed where isConnected:
      emit(.send(command.unsubscribe(channel: channel)))
    default: break
    }
    closeGapIfSettled(at: now)
  }

  /// The channels that are wanted, in the order in which they were asked for.
  package var channels: [String] { channelOrder }

  /// Whether the server has confirmed every channel on the present connection.
  package var isFullySubscribed: Bool {
    isConnected && subscriptions.values.allSatisfy { $0.state == .subscribed }
  }

  /// Starts to join one channel on a fresh connection.
  mutating func begin(_ channel: String, at now: Instant) {
    guard let subscription = subscriptions[channel], subscription.state == .waiting else { return }
    subscriptions[channel]?.authorizationAttempts = 0
    if subscription.kind.needsAuthorization {
      askForAuthorization(channel)
    } else {
      request(channel, auth: nil, at: now)
    }
  }

  private mutating func askForAuthorization(_ channel: String) {
    guard let socketID else { return }
    subscriptions[channel]?.state = .authorizing
    emit(
      .authorize(
        AuthorizationRequest(channel: channel, socketID: socketID, generation: generation)))
  }

  private mutating func request(_ channel: String, auth: PusherAuth?, at now: Instant) {
    let deadline = now.advanced(by: options.connectTimeout)
    subscriptions[channel]?.state = .requested(until: deadline)
    emit(.send(command.subscribe(channel: channel, auth: auth)))
  }

  /// The answer to an ``SessionOutput/authorize(_:)``; ignored when the connection has changed since.
  package mutating func authorized(
    _ request: AuthorizationRequest, _ result: Result<PusherAuth, AuthorizationFailure>,
    at now: Instant
  ) {
    guard request.generation == generation,
      let subscription = subscriptions[request.channel], subscription.state == .authorizing
    else { return }
    switch result {
    case .success(let auth): self.request(request.channel, auth: auth, at: now)
    case .failure(let failure): authorizationFailed(subscription, failure, at: now)
    }
  }

  private mutating func authorizationFailed(
    _ subscription: Subscription, _ failure: AuthorizationFailure, at now: Instant
  ) {
    let channel = subscription.channel
    switch failure {
    case .refused(let status, let message):
      fail(
        channel, SubscriptionFailure(type: "AuthError", message: message, status: status), at: now)
    case .unusable(let message) where subscription.wasSubscribed:
      // The endpoint has answered properly before: what came now is some stranger's page.
      authorizationUnavailable(subscription, status: nil, message, at: now)
    case .unusable(let message):
      fail(channel, SubscriptionFailure(type: "AuthError", message: message, fault: .peer), at: now)
    case .unavailable(let status, let message):
      authorizationUnavailable(subscription, status: status, message, at: now)
    }
  }

  /// Asks again after a while, for ever once the channel has been joined.
  private mutating func authorizationUnavailable(
    _ subscription: Subscription, status: Int?, _ message: String, at now: Instant
  ) {
    let channel = subscription.channel
    let attempt = subscription.authorizationAttempts + 1
    // A forwarder that runs for months must outlive a deploy of the app that signs for it.
    guard subscription.wasSubscribed || attempt < Self.authorizationTries else {
      let fault: Fault = status == nil ? .network : .peer
      let failure = SubscriptionFailure(
        type: "AuthError", message: message, status: status, fault: fault)
      fail(channel, failure, at: now)
      return
    }
    let delay = options.reconnect.backoff.delay(attempt: attempt - 1, random: nextRandom())
    subscriptions[channel]?.authorizationAttempts = attempt
    subscriptions[channel]?.state = .delayed(until: now.advanced(by: delay))
    report(.authorizationDelayed(channel: channel, reason: message, retryIn: delay))
  }

  /// The server confirmed a channel.
  mutating func succeeded(_ channel: String, data: JSONValue, at now: Instant) {
    guard var subscription = subscriptions[channel] else { return }
    let isNews = subscription.state != .subscribed
    if case .requested(let until) = subscription.state {
      let sent = until.advanced(by: .zero - options.connectTimeout)
      roundTrip = max(roundTrip, sent.duration(to: now))
    } else if isNews {
      return
    }
    let former = subscription.roster
    subscription.state = .subscribed
    subscription.wasSubscribed = true
    subscription.authorizationAttempts = 0
    if subscription.kind == .presence {
      subscription.roster = PresenceRoster(subscriptionData: data)
    }
    subscriptions[channel] = subscription
    if isNews { report(.subscribed(channel: channel, presence: subscription.roster)) }
    if let former, let roster = subscription.roster { reportChanges(channel, former, roster) }
    closeGapIfSettled(at: now)
  }

  /// Who came and who went while nobody told us.
  private mutating func reportChanges(
    _ channel: String, _ former: PresenceRoster, _ roster: PresenceRoster
  ) {
    for member in former.members where roster[member.userId] == nil {
      report(.memberRemoved(channel: channel, member))
    }
    for member in roster.members where former[member.userId] == nil {
      report(.memberAdded(channel: channel, member))
    }
  }

  mutating func memberAdded(_ channel: String, _ member: PusherPresenceChannelMember) {
    subscriptions[channel]?.roster?.insert(member.userId, member.userInfo)
    report(.memberAdded(channel: channel, member))
  }

  mutating func memberRemoved(_ channel: String, _ userID: String) {
    let known = subscriptions[channel]?.roster?.remove(userID)
    report(.memberRemoved(channel: channel, known ?? PusherPresenceChannelMember(userId: userID)))
  }

  /// Gives a channel up on this connection.
  mutating func fail(_ channel: String, _ failure: SubscriptionFailure, at now: Instant) {
    guard isConnected, let subscription = subscriptions[channel], !subscription.isSettled else {
      return
    }
    subscriptions[channel]?.state = .failed
    report(.subscriptionFailed(channel: channel, failure))
    closeGapIfSettled(at: now)
  }

  /// Finds the channel that a `pusher:error` refuses, for servers that do not name it.
  ///
  /// Pusher writes the channel into the text; Reverb says only 4009, but answers in the order of the questions, so
  /// the first unanswered one is meant. Answers whether there is such a channel.
  mutating func refused(
    code: Int?, message: String, channel: String?, at now: Instant
  ) -> Bool {
    let unanswered = channelOrder.filter { name in
      guard let subscription = subscriptions[name], subscription.kind.needsAuthorization,
        case .requested = subscription.state
      else { return false }
      return true
    }
    let isAboutSignature = code == 4009 || message.contains("ignature")
    let refused: String?
    if let channel {
      refused = unanswered.first { $0 == channel }
    } else if isAboutSignature {
      // The longest name that fits, since one channel's name may begin with another's.
      let named = unanswered.filter { message.contains(":\($0)") }
      refused = named.max { $0.utf8.count < $1.utf8.count } ?? unanswered.first
    } else {
      refused = nil
    }
    guard let refused else { return false }
    fail(refused, SubscriptionFailure(type: "AuthError", message: message, status: 401), at: now)
    return true
  }

  /// The earliest time at which a channel needs attention.
  var subscriptionDeadline: Instant? {
    subscriptions.values.reduce(nil) { Instant.earliest($0, deadline(of: $1)) }
  }

  private func deadline(of subscription: Subscription) -> Instant? {
    switch subscription.state {
    case .delayed(let until): until
    // An answer that nobody reads is not late.
    case .requested(let until): isReadingPaused ? nil : until
    case .waiting, .authorizing, .subscribed, .failed: nil
    }
  }

  mutating func tickSubscriptions(at now: Instant) {
    for channel in channelOrder {
      guard let subscription = subscriptions[channel], let deadline = deadline(of: subscription),
        now >= deadline
      else { continue }
      if case .delayed = subscription.state {
        askForAuthorization(channel)
      } else if subscription.wasSubscribed || options.reconnect.mode == .always {
        // The channel is in order, so it is the connection that does not work.
        emit(.abort)
        let time = options.connectTimeout.inWords
        lost(.dropped("no answer to the subscription of \(channel) within \(time)"), at: now)
        return
      } else {
        let failure = SubscriptionFailure(
          type: "Timeout", message: "no answer within \(options.connectTimeout.inWords)",
          fault: .peer)
        fail(channel, failure, at: now)
      }
    }
  }

  /// Gives every unanswered subscription its whole time again.
  mutating func renewRequests(at now: Instant) {
    let deadline = now.advanced(by: options.connectTimeout)
    for channel in channelOrder {
      guard case .requested = subscriptions[channel]?.state else { continue }
      subscriptions[channel]?.state = .requested(until: deadline)
    }
  }
}
