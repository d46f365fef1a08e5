/// Client events that the server may still drop or refuse.
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

  /// Returns the number of client events among `count` messages that the server did not pass on.
  mutating func take(_ count: Int, at now: Instant) -> Int {
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
  var silent = SilentLimit()
  var clientEvents = ClientEventRisk()
  /// The server's words about its limit, if it ever used any.
  var message: String?
  /// True after the plan was reported on this connection.
  var hasToldPlan = false
}

/// Obeys the server's rate limit.
///
/// The limit is never a refusal: dropped requests are sent again, as ``RequestPace`` decides.
extension Session {
  /// Handles an error of the rate limit: the server dropped a message.
  mutating func dropped(_ message: String, channel: String?, at now: Instant) {
    if let channel, !isUnanswered(channel) {
      return reportDroppedEvents(1, message, at: now)
    }
    rates.message = message
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

  /// Handles an error about client events that is no limit; returns `false` if none was sent.
  ///
  /// The refusal is final and concerns no subscription, so requests are not held.
  mutating func refusedClientEvent(_ message: String, channel: String?, at now: Instant) -> Bool {
    if let channel, isUnanswered(channel) { return false }
    guard rates.clientEvents.take(1, at: now) > 0 else { return false }
    report(.clientEventRefused(message: message))
    return true
  }

  private func isUnanswered(_ channel: String) -> Bool {
    subscriptions.isRequest(channel) || subscriptions.isHeld(channel)
  }

  private mutating func reportDroppedEvents(_ count: Int, _ message: String, at now: Instant) {
    let events = rates.clientEvents.take(count, at: now)
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
    tellPlan(at: now)
  }

  /// Reports once for each connection how long the limit delays the requests.
  private mutating func tellPlan(at now: Instant) {
    guard isConnected, !rates.hasToldPlan, signIn.isHeld || subscriptions.firstHeld != nil
    else { return }
    // Channels whose turn has not come count too.
    let waiting = subscriptions.unsentCount + (signIn.isHeld ? 1 : 0)
    guard let plan = rates.pace.plan(for: waiting, at: now),
      let next = rates.pace.deadline(isAnyHeld: true)
    else { return }
    rates.hasToldPlan = true
    report(
      .rateLimited(
        RateLimit(
          message: rates.message, waiting: waiting, retryIn: now.duration(to: next), plan: plan)))
  }

  mutating func noteAnswered(at now: Instant) {
    rates.pace.noteAnswered()
    rates.silent.noteAnswered()
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

  /// A limit that was just met explains a close without a code of the protocol.
  ///
  /// An end without any code may be the limit itself: see ``SilentLimit``.
  mutating func explained(_ loss: ConnectionLoss, at now: Instant) -> ConnectionLoss {
    let isSilent: Bool
    switch loss {
    case .closed(let code, _) where code.map({ !(4000..<5000).contains($0) }) ?? true:
      isSilent = code == nil || code == 1006
    case .network where isConnected: isSilent = true
    default: return loss
    }
    if let message = rates.pace.explanation(at: now) {
      return .closed(code: RateLimit.code, reason: message)
    }
    guard isSilent, link.lastError == nil else { return loss }
    let unanswered = subscriptions.requestedCount + (signIn.isRequested ? 1 : 0)
    if let burst = rates.silent.connectionEnded(unanswered: unanswered) {
      rates.pace.noteSilentEnd(burst: burst)
    }
    return loss
  }

  /// Resets the pace after a loss, but remembers a limit that was met.
  mutating func forgetPace(at now: Instant) {
    let message = rates.pace.lastMessage
    reportDroppedEvents(rates.pace.connectionLost(), message, at: now)
    rates.clientEvents = ClientEventRisk()
    rates.silent.connectionLost()
    rates.hasToldPlan = false
    signIn.authorization = nil
  }
}
