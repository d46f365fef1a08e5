/// Signs the user in: `pusher:signin`.
///
/// It comes before the subscriptions of each connection, because some channels need it. An error
/// that names no channel then belongs to it. Source: Pusher's page "Authenticating users".
extension Session {
  /// Keeps the user signed in from now on, over every reconnect; retries after a failure.
  package mutating func signIn(at now: Instant) {
    guard signIn.state == .unwanted || signIn.state == .failed else { return }
    signIn.state = .waiting
    beginSignIn()
  }

  package var userID: String? { signIn.userID }

  mutating func beginSignIn() {
    guard signIn.state == .waiting, isConnected else { return }
    signIn.signatures.restart()
    askForAuthentication()
  }

  private mutating func askForAuthentication() {
    guard let socketID else { return }
    signIn.state = .authenticating
    ask(.user, socketID)
  }

  mutating func authenticated(_ result: Authorization.Result, at now: Instant) {
    guard signIn.state == .authenticating else { return }
    do throws(AuthorizationFailure) {
      let auth = try result.get()
      signIn.state = .held(auth)
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
  mutating func signedIn(_ userData: JSONValue, at now: Instant) {
    switch signIn.state {
    case .requested(let until):
      link.delivery.noteAnswer(to: until.advanced(by: .zero - options.connectTimeout), at: now)
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
    signIn.state = .done(userID: userID)
    signIn.signatures.noteConfirmed()
    report(.signedIn(userID: userID, userData: userData))
    let channel = UserChannel.name(userID: userID)
    if let former = signIn.channel, !former.isSame(as: channel) { unsubscribe(former, at: now) }
    signIn.channel = channel
    subscribe(channel, at: now)
    beginChannels(at: now)
  }

  /// Gives up the sign-in on this connection, and subscribes to the channels that do not need it.
  mutating func signInFailed(_ failure: SubscriptionFailure, at now: Instant) {
    guard signIn.isPending else { return }
    if case .requested = signIn.state { noteAnswered(at: now) }
    signIn.state = .failed
    report(.signInFailed(failure))
    beginChannels(at: now)
  }

  /// Reports whether an error that names no channel answered the sign-in.
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

  /// Returns `false` if the connection was given up.
  mutating func tickSignIn(at now: Instant) -> Bool {
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
