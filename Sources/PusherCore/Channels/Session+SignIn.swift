/// The part of the session that tells the server who the user is: `pusher:signin`.
///
/// It comes before the channels of each connection, since some channels are only for users who are signed in and since
/// an error that names nobody is then easily told apart. Source: Pusher's page "Authenticating users".
extension Session {
  /// How often a signature is asked for before a sign-in that never worked is given up.
  private static let signInTries = 3

  /// Wants the user signed in from now on, over every reconnect; tries again after a failure.
  package mutating func signIn(at now: Instant) {
    guard signIn.state == .unwanted || signIn.state == .failed else { return }
    signIn.state = .waiting
    beginSignIn()
  }

  /// The user that is signed in on the present connection.
  package var userID: String? { signIn.userID }

  /// Asks who the user is, when that is wanted.
  mutating func beginSignIn() {
    guard signIn.state == .waiting, isConnected else { return }
    signIn.attempts = 0
    askForAuthentication()
  }

  private mutating func askForAuthentication() {
    guard let socketID else { return }
    signIn.state = .authenticating
    emit(.authenticate(UserAuthenticationRequest(socketID: socketID, generation: generation)))
  }

  /// The answer to an ``SessionOutput/authenticate(_:)``; ignored when the connection has changed since.
  package mutating func authenticated(
    _ request: UserAuthenticationRequest, _ result: Result<PusherUserAuth, AuthorizationFailure>,
    at now: Instant
  ) {
    guard request.generation == generation, signIn.state == .authenticating else { return }
    switch result {
    case .success(let auth):
      signIn.state = .requested(until: now.advanced(by: options.connectTimeout))
      emit(.send(command.signIn(auth)))
    case .failure(.refused(let status, let reason)):
      signInFailed(SubscriptionFailure(type: "AuthError", message: reason, status: status), at: now)
    case .failure(.unusable(let reason)) where !signIn.wasDone:
      let failure = SubscriptionFailure(type: "AuthError", message: reason, fault: .peer)
      signInFailed(failure, at: now)
    case .failure(.unusable(let reason)): authenticationUnavailable(nil, reason, at: now)
    case .failure(.unavailable(let status, let reason)):
      authenticationUnavailable(status, reason, at: now)
    }
  }

  /// Asks again after a while, for ever once the user has been signed in.
  private mutating func authenticationUnavailable(
    _ status: Int?, _ reason: String, at now: Instant
  ) {
    signIn.attempts += 1
    guard signIn.wasDone || signIn.attempts < Self.signInTries else {
      let fault: Fault = status == nil ? .network : .peer
      let failure = SubscriptionFailure(
        type: "AuthError", message: reason, status: status, fault: fault)
      signInFailed(failure, at: now)
      return
    }
    let delay = options.reconnect.backoff.delay(attempt: signIn.attempts - 1, random: nextRandom())
    signIn.state = .delayed(until: now.advanced(by: delay))
    report(.signInDelayed(reason: reason, retryIn: delay))
  }

  /// The server knows the user now: the channel of the user's own events is joined, then all others.
  mutating func signedIn(_ userData: JSONValue, at now: Instant) {
    guard case .requested(let until) = signIn.state else { return }
    let sent = until.advanced(by: .zero - options.connectTimeout)
    roundTrip = max(roundTrip, sent.duration(to: now))
    guard let userID = userData["id"]?.identifier, !userID.isEmpty else {
      let failure = SubscriptionFailure(
        type: "AuthError", message: "the server's answer names no user", fault: .peer)
      signInFailed(failure, at: now)
      return
    }
    signIn.state = .done(userID: userID)
    signIn.wasDone = true
    report(.signedIn(userID: userID, userData: userData))
    let channel = UserChannel.name(userID: userID)
    if let former = signIn.channel, !former.isSame(as: channel) { unsubscribe(former, at: now) }
    signIn.channel = channel
    subscribe(channel, at: now)
    beginChannels(at: now)
  }

  /// Gives the sign-in up on this connection; the channels that need none are joined.
  mutating func signInFailed(_ failure: SubscriptionFailure, at now: Instant) {
    guard signIn.isPending else { return }
    signIn.state = .failed
    report(.signInFailed(failure))
    beginChannels(at: now)
  }

  /// Whether an error that names no channel is the answer to the sign-in.
  mutating func refusedSignIn(code: Int?, message: String, at now: Instant) -> Bool {
    guard case .requested = signIn.state else { return false }
    let isAboutChannel = message.holds("channel")
    guard message.holds("::user::") || !isAboutChannel else { return false }
    let status = code == nil || code == 4009 ? 401 : nil
    let failure = SubscriptionFailure(
      type: "AuthError", message: message, status: status, fault: status == nil ? .peer : .you)
    signInFailed(failure, at: now)
    return true
  }

  /// Looks at the time; `false` when the connection was given up.
  mutating func tickSignIn(at now: Instant) -> Bool {
    guard let deadline = signIn.deadline(ignoringRequests: isReadingPaused), now >= deadline else {
      return true
    }
    if case .delayed = signIn.state {
      askForAuthentication()
    } else if signIn.wasDone || options.reconnect.mode == .always {
      // It has worked before, so it is the connection that does not.
      emit(.abort)
      let time = options.connectTimeout.inWords
      lost(.dropped("no answer to the sign-in within \(time)"), at: now)
      return false
    } else {
      let failure = SubscriptionFailure(
        type: "Timeout", message: "no answer within \(options.connectTimeout.inWords)",
        fault: .network)
      signInFailed(failure, at: now)
    }
    return true
  }
}
