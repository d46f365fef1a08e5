package struct EventSourceOptions: Sendable {
  /// The back-off's ceiling also limits the server's wait.
  package var reconnect: ReconnectPolicy
  /// Wait before a new attempt, until the server names one (`retry:`).
  package var reconnectionTime: Duration
  /// From name resolution to the answer's head, redirects included; events have no limit.
  package var connectTimeout: Duration
  /// A stream without a byte for this time, not even a comment, is closed and requested again.
  package var silenceTimeout: Duration?
  /// The request is not repeated, but a GET continues it after an event with an ID and no data.
  ///
  /// Source: MCP of 2025-11-25, "Streamable HTTP", section "Sending Messages to the Server".
  package var needsPriming = false

  package init(
    reconnect: ReconnectPolicy = ReconnectPolicy(), reconnectionTime: Duration = .seconds(3),
    connectTimeout: Duration = .seconds(10), silenceTimeout: Duration? = nil
  ) {
    (self.reconnect, self.reconnectionTime) = (reconnect, reconnectionTime)
    (self.connectTimeout, self.silenceTimeout) = (connectTimeout, silenceTimeout)
  }
}

package enum EventSourceOutput: Equatable, Sendable {
  /// Request the stream after the last received event.
  case dial
  case abort
  case report(ConnectionEvent)
}

/// An event source over any number of streams (HTML section 9.2.3), by the rules of ``Session``.
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
  /// Everything that was sent until then is known to have arrived.
  private var delivered: Instant?
  private var isPaused = false
  /// True after the event that lets a GET continue the stream.
  private(set) var isPrimed = false

  package init(options: EventSourceOptions, random: any RandomNumberGenerator) {
    (self.options, self.random) = (options, random)
    reconnector = Reconnector(options.reconnect, namedWait: options.reconnectionTime)
  }

  package mutating func nextOutput() -> EventSourceOutput? { outbox.popFirst() }

  /// The last wait that the server named, else the option's.
  package var reconnectionTime: Duration { reconnector.namedWait ?? options.reconnectionTime }

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

  package mutating func disconnect(at now: Instant) {
    guard phase != .ended else { return }
    if phase != .idle { outbox.append(.abort) }
    end(.asked)
  }

  private mutating func end(_ reason: ConnectionEnd) {
    phase = .ended
    outbox.append(.report(.ended(reason)))
  }

  package mutating func redirected(status: Int, to place: String) {
    guard case .connecting = phase else { return }
    outbox.append(.report(.redirected(status: status, to: place)))
  }

  /// - Parameter resumption: The place where the stream begins, if it is not the one asked for.
  package mutating func opened(at now: Instant, _ resumption: Resumption? = nil) {
    guard case .connecting = phase else { return }
    phase = .open(since: now)
    lastActivity = now
    delivered = now
    reconnector.noteOpen()
    outbox.append(.report(.opened))
    let start = reconnector.closeGap(at: now)
    if let resumption {
      outbox.append(
        .report(.resumedElsewhere(after: resumption.answered, insteadOf: resumption.asked)))
    }
    // Without an earlier stream, the time of the loss is unknown, and the gap has no length.
    guard let start = start ?? (resumption == nil ? nil : now) else { return }
    outbox.append(.report(.gap(from: start, to: now)))
  }

  /// Handles status 204.
  package mutating func finished() {
    guard case .connecting = phase else { return }
    end(.finished)
  }

  package mutating func noteActivity(at now: Instant) { lastActivity = now }

  /// Everything sent by `now` was handed out, so a later loss cannot affect it.
  package mutating func noteDelivery(at now: Instant) { delivered = now }

  /// The stream works, so a later loss begins a new count of attempts.
  package mutating func noteEvent() { hasReceivedEvent = true }

  /// Takes an event; returns true for one that only lets a GET continue the stream.
  mutating func takesAsPriming(_ event: EventStreamEvent) -> Bool {
    guard options.needsPriming, event.data.isEmpty, !event.lastEventID.isEmpty else { return false }
    isPrimed = true
    return true
  }

  package mutating func setReconnectionTime(milliseconds: Int) {
    let time = Duration.milliseconds(milliseconds)
    reconnector.namedWait = time
    outbox.append(.report(.reconnectionTime(time)))
  }

  /// While the owner does not read, silence proves nothing and nothing is dialled.
  package mutating func setReadingPaused(_ paused: Bool, at now: Instant) {
    isPaused = paused
    guard !paused else { return }
    lastActivity = now
    if case .connecting = phase {
      phase = .connecting(until: now.advanced(by: options.connectTimeout))
    }
  }

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
    if loss.asksForAnotherTry { decision = .asked }
    if options.needsPriming, !isPrimed, decision == .backOff { decision = .stop }
    let verdict = reconnector.lost(decision, retryAfter: loss.retryAfter, random: &random)
    let attempts = reconnector.attempts
    outbox.append(
      .report(.disconnected(loss, code: nil, retryIn: verdict.delay, attempt: attempts)))
    switch verdict {
    case .retry(let delay): phase = .waiting(until: now.advanced(by: delay))
    case .stop: end(.lost(loss, code: nil))
    case .giveUp: end(.retriesExhausted(loss, code: nil, attempts: attempts))
    }
  }

  /// `stage` is the step that an attempt waits for, for the message if it is given up.
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
  /// True for the standard's "fail" (section 9.2.3), except temporary failures.
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

  /// True for 429 and 503 with Retry-After: the server has done nothing with the request, and names
  /// a time for the next one (RFC 9110 section 15.6.4, RFC 6585 section 4).
  package var asksForAnotherTry: Bool {
    switch self {
    case .refused(429, _, _?), .refused(503, _, _?): true
    default: false
    }
  }

  var insideEvent: ConnectionLoss {
    guard self == .ended || self == .endedUnmarked else { return self }
    return .network("the stream ended in the middle of an event, which is not printed")
  }
}

/// An event stream that begins at another place than the request named; events may be lost.
///
/// A Mercure hub answers a request for the events after an ID with the ID of the event before the
/// first one that it sends. It answers ``Resumption/earliest`` if it does not find that event, for
/// example because its history is too short (Mercure, "Reconnection, State Reconciliation, and
/// Event Sourcing").
package struct Resumption: Sendable, Equatable {
  /// ID of the event that the request named.
  package let asked: String
  /// ID in the answer.
  package let answered: String

  /// The word for the beginning of a hub's history, which is no ID of an event.
  package static let earliest = "earliest"
  /// Names of the answer's field: in version 1.0, and in its drafts.
  private static let fields = ["Mercure-Last-Event-ID", "Last-Event-ID"]
  /// Names of the parameter in the URL: in the drafts, in version 1.0, and in the first drafts.
  private static let parameters = ["lastEventID", "last_event_id", "Last-Event-ID"]

  /// Returns `nil` if the stream begins at the right place, or if one of the sides names no place.
  ///
  /// A request for everything, ``earliest``, loses nothing.
  init?(of answer: HTTPHeaders, asked: String?) {
    // A field's value has no blanks at its ends.
    guard let asked = asked.map({ ASCII.trimmed($0[...]) }), !asked.isEmpty,
      !asked.isSame(as: Self.earliest),
      let answered = Self.fields.compactMap({ answer[$0] }).first(where: { !$0.isEmpty }),
      !answered.isSame(as: asked)
    else { return nil }
    (self.asked, self.answered) = (asked, answered)
  }

  /// Returns the ID that a request names: the field, else the URL's parameter.
  static func asked(by fields: HTTPHeaders, _ url: HTTPURL) -> String? {
    fields["Last-Event-ID"] ?? url.query.flatMap(place)
  }

  /// Returns the value of the first parameter in a query that names an event.
  private static func place(in query: String) -> String? {
    for pair in query.utf8.split(separator: UInt8(ascii: "&")) {
      guard let mark = pair.firstIndex(of: UInt8(ascii: "=")),
        let name = PercentEncoding.decodeForm(String(Substring(pair[..<mark]))),
        parameters.contains(where: name.isSame)
      else { continue }
      return PercentEncoding.decodeForm(String(Substring(pair[mark...].dropFirst())))
    }
    return nil
  }
}
