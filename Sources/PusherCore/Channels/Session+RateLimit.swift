/// Client events that the server's rate limit may still drop.
///
/// The server confirms no client event, so an error soon after one is about it.
struct ClientEventRisk {
  /// Maximum time from an event to an error about it.
  private static let time = Duration.seconds(10)

  private var sent = 0
  private var lastSent: Instant?

  mutating func noteSent(at now: Instant) {
    forgetOld(at: now)
    sent += 1
    lastSent = now
  }

  /// Returns the number of client events among `count` dropped messages.
  mutating func takeDropped(_ count: Int, at now: Instant) -> Int {
    forgetOld(at: now)
    let events = min(count, sent)
    sent -= events
    return events
  }

  private mutating func forgetOld(at now: Instant) {
    if let lastSent, lastSent.duration(to: now) > Self.time { sent = 0 }
  }
}

/// The server's rate limit, and everything it may drop.
struct RateLimits {
  var pace = RequestPace()
  var clientEvents = ClientEventRisk()
}

/// Obeys the server's rate limit.
///
/// The limit is never a refusal: dropped requests are sent again, as ``RequestPace`` decides.
extension Session {
  /// Handles an error 4301: the server dropped a message.
  mutating func dropped(_ message: String, channel: String?, at now: Instant) {
    if let channel, !subscriptions.isRequest(channel), !subscriptions.isHeld(channel) {
      return reportDroppedEvents(1, message, at: now)
    }
    switch rates.pace.noteDropped(message, at: now) {
    case .other: reportDroppedEvents(1, message, at: now)
    case .more: break
    case .hold(let time):
      subscriptions.holdRequests()
      if case .requested = signIn.state, let auth = signIn.authorization {
        signIn.state = .held(auth)
      }
      let waiting = subscriptions.heldCount + (signIn.isHeld ? 1 : 0)
      report(.rateLimited(RateLimit(message: message, waiting: waiting, retryIn: time)))
    }
  }

  private mutating func reportDroppedEvents(_ count: Int, _ message: String, at now: Instant) {
    let events = rates.clientEvents.takeDropped(count, at: now)
    if events > 0 { report(.clientEventsDropped(count: events, message: message)) }
  }

  /// Sends the requests that the rate limit allows now: the sign-in first, then channels in order.
  mutating func sendHeld(at now: Instant) {
    while isConnected, signIn.isHeld || subscriptions.firstHeld != nil, rates.pace.maySend(at: now)
    {
      rates.pace.noteSent(at: now)
      if case .held(let auth) = signIn.state {
        signIn.authorization = auth
        signIn.state = .requested(until: now.advanced(by: options.connectTimeout))
        emit(.send(command.signIn(auth)))
      } else if let channel = subscriptions.firstHeld {
        send(subscription: channel, at: now)
      }
    }
  }

  mutating func noteAnswered(at now: Instant) {
    rates.pace.noteAnswered()
    sendHeld(at: now)
  }

  /// Nothing is sent while the answers are not read.
  var paceDeadline: Instant? {
    guard !isReadingPaused else { return nil }
    return rates.pace.deadline(isAnyHeld: signIn.isHeld || subscriptions.firstHeld != nil)
  }

  mutating func tickPace(at now: Instant) {
    guard !isReadingPaused else { return }
    if let others = rates.pace.resume(at: now) {
      reportDroppedEvents(others, rates.pace.lastMessage, at: now)
    }
    sendHeld(at: now)
  }

  /// Reverb's `terminate_on_limit` closes without a code; the limit explains the loss.
  func explained(_ loss: ConnectionLoss, at now: Instant) -> ConnectionLoss {
    switch loss {
    case .closed(let code, _) where code.map({ !(4000..<5000).contains($0) }) ?? true: break
    case .network where isConnected: break
    default: return loss
    }
    guard let message = rates.pace.explanation(at: now) else { return loss }
    return .closed(code: RateLimit.code, reason: message)
  }

  /// Resets the pace after a loss, but remembers a limit that was met.
  mutating func forgetPace(at now: Instant) {
    let message = rates.pace.lastMessage
    reportDroppedEvents(rates.pace.connectionLost(), message, at: now)
    rates.clientEvents = ClientEventRisk()
    signIn.authorization = nil
  }
}
