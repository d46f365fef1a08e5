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
      switch ErrorSubject(code: code, message: message) {
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
      for change in changes {
        report(.watchlist(isOnline: change.isOnline, userIDs: change.userIDs))
      }
    case .memberAdded(let channel, let member): memberAdded(channel, member)
    case .memberRemoved(let channel, let userID): memberRemoved(channel, userID)
    case .malformed(let reason): report(.malformed(reason: reason, bytes: envelope.message.array))
    case .unknownInternal(let name):
      report(.unknownInternalEvent(name: name, channel: envelope.channelName))
    case .application, .channelNotice, .unknown: break
    }
  }
}
