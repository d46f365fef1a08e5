/// When an event source asks again, and how long it waits for what.
package struct EventSourceOptions: Sendable {
  /// When a lost stream is asked for again; the back-off's ceiling also bounds what the server asks for.
  package var reconnect: ReconnectPolicy
  /// The wait before a new attempt until the server names one (`retry:`).
  package var reconnectionTime: Duration
  /// A stream on which nothing comes for this time, not even a comment, is given up and asked for again.
  package var silenceTimeout: Duration?

  package init(
    reconnect: ReconnectPolicy = ReconnectPolicy(), reconnectionTime: Duration = .seconds(3),
    silenceTimeout: Duration? = nil
  ) {
    self.reconnect = reconnect
    self.reconnectionTime = reconnectionTime
    self.silenceTimeout = silenceTimeout
  }
}

/// What the owner of an ``EventSourceSession`` has to do.
package enum EventSourceOutput: Equatable, Sendable {
  /// Ask for the stream, behind the last event that came.
  case dial
  /// Drop the connection.
  case abort
  case report(EventSourceReport)
}

/// What happens to an event source.
package enum EventSourceReport: Equatable, Sendable {
  /// The stream has begun.
  case opened
  /// The request goes elsewhere.
  case redirected(status: Int, to: String)
  /// The stream has named the wait before a new attempt.
  case reconnectionTime(Duration)
  /// The stream is over; with `retryIn` it is asked for again after this time.
  case disconnected(EventSourceError, retryIn: Duration?, attempt: Int)
  /// There is a stream again; for as long there was none.
  case gap(from: Instant, to: Instant)
  /// Nothing more happens.
  case ended(EventSourceEnd)
}

/// How an event source ends.
package enum EventSourceEnd: Equatable, Sendable {
  /// This side wanted it.
  case asked
  /// The server answered 204: there is nothing more to come, now or later.
  case finished
  case lost(EventSourceError)
  case retriesExhausted(EventSourceError, attempts: Int)
}

/// An event source from the first request to the end, over any number of streams (HTML section 9.2.3).
///
/// It does no I/O and reads no clock. After each input the owner drains ``nextOutput()`` and performs the outputs in
/// that order, and calls ``tick(at:)`` when ``deadline`` has come. Every input is legal in every phase.
package struct EventSourceSession {
  private enum Phase: Equatable {
    case idle
    case connecting
    case open(since: Instant)
    case waiting(until: Instant)
    case ended
  }

  /// A stream that lasted so long, or brought an event, was a good one: attempts are counted anew.
  private static let stableAfter: Duration = .seconds(5)
  /// The least time between two attempts, whatever the server asks for.
  private static let shortestWait: Duration = .milliseconds(10)

  private let options: EventSourceOptions
  private var random: any RandomNumberGenerator
  private var phase = Phase.idle
  private var outputs: [EventSourceOutput] = []
  private var outputIndex = 0
  private var attempts = 0
  private var wasEverOpen = false
  private var hasReceivedEvent = false
  private var lostAt: Instant?
  private var lastActivity = Instant(nanoseconds: 0)
  private var isPaused = false
  /// The wait that the server has named last, else the option's.
  package private(set) var reconnectionTime: Duration

  /// - Parameter random: Where the jitter comes from.
  package init(options: EventSourceOptions, random: any RandomNumberGenerator) {
    self.options = options
    self.random = random
    reconnectionTime = options.reconnectionTime
  }

  /// The next thing to do; `nil` when all is done.
  package mutating func nextOutput() -> EventSourceOutput? {
    guard outputIndex < outputs.count else {
      outputs.removeAll(keepingCapacity: true)
      outputIndex = 0
      return nil
    }
    outputIndex += 1
    return outputs[outputIndex - 1]
  }

  /// When ``tick(at:)`` has something to do.
  package var deadline: Instant? {
    guard !isPaused else { return nil }
    return switch phase {
    case .idle, .ended: nil
    case .waiting(let until): until
    case .connecting, .open: options.silenceTimeout.map(lastActivity.advanced)
    }
  }

  /// Asks for the stream for the first time.
  package mutating func connect(at now: Instant) {
    guard phase == .idle else { return }
    dial(at: now)
  }

  private mutating func dial(at now: Instant) {
    phase = .connecting
    lastActivity = now
    hasReceivedEvent = false
    outputs.append(.dial)
  }

  /// Ends from whatever phase it is in.
  package mutating func disconnect() {
    guard phase != .ended else { return }
    if phase != .idle { outputs.append(.abort) }
    end(.asked)
  }

  private mutating func end(_ reason: EventSourceEnd) {
    phase = .ended
    outputs.append(.report(.ended(reason)))
  }

  /// The request goes elsewhere.
  package mutating func redirected(status: Int, to place: String) {
    guard phase == .connecting else { return }
    outputs.append(.report(.redirected(status: status, to: place)))
  }

  /// The server has answered with an event stream.
  package mutating func opened(at now: Instant) {
    guard phase == .connecting else { return }
    phase = .open(since: now)
    lastActivity = now
    wasEverOpen = true
    outputs.append(.report(.opened))
    if let lostAt {
      self.lostAt = nil
      outputs.append(.report(.gap(from: lostAt, to: now)))
    }
  }

  /// The server has answered 204.
  package mutating func finished() {
    guard phase == .connecting else { return }
    end(.finished)
  }

  /// Bytes came, of whatever kind.
  package mutating func noteActivity(at now: Instant) {
    lastActivity = now
  }

  /// An event came: the stream is worth something, so a loss of it begins a new count.
  package mutating func noteEvent() {
    hasReceivedEvent = true
  }

  /// The stream has named the wait before a new attempt, in milliseconds.
  package mutating func setReconnectionTime(milliseconds: Int) {
    reconnectionTime = .milliseconds(milliseconds)
    outputs.append(.report(.reconnectionTime(reconnectionTime)))
  }

  /// Tells that the owner stopped reading, or reads again; silence proves nothing meanwhile, and nothing is dialled.
  package mutating func setReadingPaused(_ paused: Bool, at now: Instant) {
    isPaused = paused
    if !paused { lastActivity = now }
  }

  /// The stream, or the attempt to get one, is over.
  package mutating func lost(_ error: EventSourceError, at now: Instant) {
    switch phase {
    case .open(let since):
      lostAt = now
      if hasReceivedEvent || since.duration(to: now) >= Self.stableAfter { attempts = 0 }
    case .connecting: break
    case .idle, .waiting, .ended: return
    }
    let policy = options.reconnect
    let mayRetry = policy.mode == .always || policy.mode == .automatic && wasEverOpen
    let isExhausted = attempts >= policy.maximumAttempts ?? .max
    guard error.isTransient, mayRetry, !isExhausted else {
      outputs.append(.report(.disconnected(error, retryIn: nil, attempt: attempts)))
      let gaveUp = error.isTransient && mayRetry
      return end(gaveUp ? .retriesExhausted(error, attempts: attempts) : .lost(error))
    }
    let delay = delay(after: error)
    attempts += 1
    phase = .waiting(until: now.advanced(by: delay))
    outputs.append(.report(.disconnected(error, retryIn: delay, attempt: attempts)))
  }

  /// The server's wait (HTML section 9.2.3 step 3), later longer each time that nothing comes of it.
  private mutating func delay(after error: EventSourceError) -> Duration {
    let ceiling = options.reconnect.backoff.ceiling
    let floor = max(Self.shortestWait, min(reconnectionTime, ceiling))
    let own =
      attempts == 0
      ? floor
      : Backoff(floor: floor, ceiling: ceiling).delay(attempt: attempts - 1, random: random.next())
    return max(own, min(error.retryAfter ?? .zero, ceiling))
  }

  /// Looks at the time.
  package mutating func tick(at now: Instant) {
    guard !isPaused, let deadline, now >= deadline else { return }
    switch phase {
    case .waiting: dial(at: now)
    case .connecting, .open:
      outputs.append(.abort)
      lost(.silent(options.silenceTimeout ?? .zero), at: now)
    case .idle, .ended: break
    }
  }
}
