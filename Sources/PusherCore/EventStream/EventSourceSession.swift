/// When an event source reconnects, and its time limits.
package struct EventSourceOptions: Sendable {
  /// When a lost stream is asked for again; the back-off's ceiling also bounds what the server asks for.
  package var reconnect: ReconnectPolicy
  /// The wait before a new attempt until the server names one (`retry:`).
  package var reconnectionTime: Duration
  /// From the name's resolution to the answer's head, redirects included; events have no time limit.
  package var connectTimeout: Duration
  /// A stream that is silent for this time, without even a comment, is closed and requested again.
  package var silenceTimeout: Duration?

  package init(
    reconnect: ReconnectPolicy = ReconnectPolicy(), reconnectionTime: Duration = .seconds(3),
    connectTimeout: Duration = .seconds(10), silenceTimeout: Duration? = nil
  ) {
    (self.reconnect, self.reconnectionTime) = (reconnect, reconnectionTime)
    (self.connectTimeout, self.silenceTimeout) = (connectTimeout, silenceTimeout)
  }
}

/// What the owner of an ``EventSourceSession`` has to do.
package enum EventSourceOutput: Equatable, Sendable {
  /// Request the stream after the last event that came.
  case dial
  /// Drop the connection.
  case abort
  case report(ConnectionEvent)
}

/// An event source from the first request to the end, over any number of streams (HTML section 9.2.3).
///
/// It does no I/O and reads no clock. After each input the owner drains ``nextOutput()`` and performs the outputs in
/// that order, and calls ``tick(at:stage:)`` when ``deadline`` has come. Every input is legal in every phase.
package struct EventSourceSession {
  enum Phase: Equatable {
    case idle
    case connecting(until: Instant)
    case open(since: Instant)
    case waiting(until: Instant)
    case ended
  }

  private let options: EventSourceOptions
  private var random: any RandomNumberGenerator
  private(set) var phase = Phase.idle
  private var outbox = Fifo<EventSourceOutput>()
  private var reconnector: Reconnector
  private var hasReceivedEvent = false
  private var lastActivity = Instant(nanoseconds: 0)
  /// Until when everything that the stream was sent is known to have come.
  private var delivered: Instant?
  private var isPaused = false

  /// - Parameter random: Where the jitter comes from.
  package init(options: EventSourceOptions, random: any RandomNumberGenerator) {
    self.options = options
    self.random = random
    reconnector = Reconnector(options.reconnect, namedWait: options.reconnectionTime)
  }

  /// The next thing to do; `nil` when all is done.
  package mutating func nextOutput() -> EventSourceOutput? { outbox.popFirst() }

  /// The wait that the server has named last, else the option's.
  package var reconnectionTime: Duration { reconnector.namedWait ?? options.reconnectionTime }

  /// When ``tick(at:stage:)`` has something to do.
  package var deadline: Instant? {
    guard !isPaused else { return nil }
    let silence = options.silenceTimeout.map(lastActivity.advanced)
    return switch phase {
    case .idle, .ended: nil
    case .waiting(let until): until
    case .connecting(let until): Instant.earliest(until, silence)
    case .open: silence
    }
  }

  /// Asks for the stream for the first time.
  package mutating func connect(at now: Instant) {
    guard phase == .idle else { return }
    dial(at: now)
  }

  private mutating func dial(at now: Instant) {
    phase = .connecting(until: now.advanced(by: options.connectTimeout))
    lastActivity = now
    hasReceivedEvent = false
    outbox.append(.dial)
  }

  /// Ends from whatever phase it is in.
  package mutating func disconnect(at now: Instant) {
    guard phase != .ended else { return }
    if phase != .idle { outbox.append(.abort) }
    end(.asked)
  }

  private mutating func end(_ reason: ConnectionEnd) {
    phase = .ended
    outbox.append(.report(.ended(reason)))
  }

  /// The request was redirected.
  package mutating func redirected(status: Int, to place: String) {
    guard case .connecting = phase else { return }
    outbox.append(.report(.redirected(status: status, to: place)))
  }

  /// The server answered with an event stream.
  package mutating func opened(at now: Instant) {
    guard case .connecting = phase else { return }
    phase = .open(since: now)
    lastActivity = now
    delivered = now
    reconnector.noteOpen()
    outbox.append(.report(.opened))
    if let start = reconnector.closeGap(at: now) {
      outbox.append(.report(.gap(from: start, to: now)))
    }
  }

  /// The server has answered 204.
  package mutating func finished() {
    guard case .connecting = phase else { return }
    end(.finished)
  }

  /// Bytes came in.
  package mutating func noteActivity(at now: Instant) {
    lastActivity = now
  }

  /// Everything that was sent by `now` was handed out, so a later loss cannot affect it.
  package mutating func noteDelivery(at now: Instant) {
    delivered = now
  }

  /// An event came: the stream works, so a later loss begins a new count of attempts.
  package mutating func noteEvent() {
    hasReceivedEvent = true
  }

  /// The stream has named the wait before a new attempt, in milliseconds.
  package mutating func setReconnectionTime(milliseconds: Int) {
    let time = Duration.milliseconds(milliseconds)
    reconnector.namedWait = time
    outbox.append(.report(.reconnectionTime(time)))
  }

  /// Tells that the owner stopped reading, or reads again; until then silence proves nothing, and nothing is dialled.
  package mutating func setReadingPaused(_ paused: Bool, at now: Instant) {
    isPaused = paused
    guard !paused else { return }
    lastActivity = now
    if case .connecting = phase {
      phase = .connecting(until: now.advanced(by: options.connectTimeout))
    }
  }

  /// The stream, or the attempt to open one, has ended.
  package mutating func lost(_ loss: ConnectionLoss, at now: Instant) {
    switch phase {
    case .open(let since):
      reconnector.openGap(at: delivered ?? now)
      if hasReceivedEvent || since.duration(to: now) >= Reconnector.stableAfter {
        reconnector.noteStable()
      }
    case .connecting: break
    case .idle, .waiting, .ended: return
    }
    var decision = loss.endsEventSource ? ReconnectDecision.stop : .backOff
    if case .refused = loss, decision == .stop { decision = .refused }
    let verdict = reconnector.lost(decision, retryAfter: loss.retryAfter, random: &random)
    var delay: Duration?
    if case .retry(let time) = verdict { delay = time }
    let attempts = reconnector.attempts
    outbox.append(
      .report(.disconnected(loss, code: nil, retryIn: delay, attempt: attempts)))
    switch verdict {
    case .retry(let delay): phase = .waiting(until: now.advanced(by: delay))
    case .stop: end(.lost(loss, code: nil))
    case .giveUp: end(.retriesExhausted(loss, code: nil, attempts: attempts))
    }
  }

  /// Looks at the time; `stage` is what a connection attempt waits for, for the message if it is given up.
  package mutating func tick(at now: Instant, stage: ConnectionStage? = nil) {
    guard !isPaused, let deadline, now >= deadline else { return }
    switch phase {
    case .waiting: dial(at: now)
    case .connecting(let until) where now >= until:
      outbox.append(.abort)
      lost(.handshakeTimeout(options.connectTimeout, stage), at: now)
    case .connecting, .open:
      outbox.append(.abort)
      lost(.silent(options.silenceTimeout ?? .zero), at: now)
    case .idle, .ended: break
    }
  }
}

extension ConnectionLoss {
  /// Whether an event source asks no more after it (section 9.2.3 of the standard, "fail" against "reestablish").
  ///
  /// Unlike the standard, it also reconnects after statuses that say that the server cannot answer now.
  var endsEventSource: Bool {
    switch self {
    case .refused(let status, _, let wait):
      !(wait != nil && status >= 400 || HTTPStatus.isTemporary(status))
    case .notAnEventStream, .violation, .limit, .invalidRequest: true
    case .closed, .ended, .endedUnmarked, .network, .untrusted, .handshakeTimeout, .noPong, .silent,
      .dropped:
      false
    }
  }

  /// The same loss when the end cut an event in two, which a proper end does not report.
  var insideEvent: ConnectionLoss {
    guard self == .ended || self == .endedUnmarked else { return self }
    return .network("the stream ended in the middle of an event, which is not printed")
  }
}
