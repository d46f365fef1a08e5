import PusherCore
import PusherLines
import TestSupport

/// Checks the Pusher protocol of a client: messages, losses, answers of signers and time.
///
/// Input: a byte of options, then one step a line, named by its first letter. In every phase
/// outputs keep their order, deadlines pass, and sent and printed text is JSON.
func fuzzSession(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  var input = FuzzInput(start, count)
  input.take(SessionWalk.self)
  return 0
}

private struct SessionWalk: Walk {
  private var session: Session
  private var now = Instant(nanoseconds: 0)
  private var rules = SessionRules()
  private let output = ByteBuffer()
  private let maker: LineMaker
  private static let losses: [ConnectionLoss] = [
    .closed(code: 4001, reason: ""), .closed(code: 4100, reason: "a"),
    .closed(code: 4200, reason: ""), .closed(code: nil, reason: "x"),
    .closed(code: 1006, reason: ""), .refused(status: 503, reason: ""),
    .refused(status: 404, reason: ""), .network("x"), .untrusted("x"), .violation("x"),
    .handshakeTimeout(.seconds(10)), .noPong(.seconds(30)), .dropped("x"),
    .closed(code: .max, reason: ""), .closed(code: .min, reason: ""),
    .refused(status: 429, reason: "", retryAfter: .seconds(7)),
    .refused(status: 503, reason: "", retryAfter: .seconds(100 * 365 * 86_400)),
  ]

  init(options: UInt8) {
    let modes: [ReconnectPolicy.Mode] = [.automatic, .always, .never, .automatic]
    let policy = ReconnectPolicy(
      mode: modes[Int(options & 3)], maximumAttempts: options & 4 == 0 ? nil : 2)
    session = Session(
      options: SessionOptions(reconnect: policy), random: SeededGenerator(seed: UInt64(options)))
    maker = LineMaker(output: output, service: .pusher)
  }

  mutating func step(_ line: ArraySlice<UInt8>) {
    let rest = Array(line.dropFirst())
    let number = text(rest.prefix(6)).utf8.reduce(0) { ($0 &* 10 &+ Int($1)) & 0xFFFF }
    switch line.first {
    case UInt8(ascii: "<"): receive(rest)
    case UInt8(ascii: "b"): withView(rest) { session.receivedBinary($0, at: now) }
    case UInt8(ascii: "+"): session.subscribe(text(rest), at: now)
    case UInt8(ascii: "-"): session.unsubscribe(text(rest), at: now)
    case UInt8(ascii: "s"): session.signIn(at: now)
    case UInt8(ascii: "u"): answerUser(rest)
    case UInt8(ascii: "e"): receiveEncrypted(rest)
    case UInt8(ascii: "c"): session.connect(at: now)
    case UInt8(ascii: "d"): session.disconnect(at: now)
    case UInt8(ascii: "l"): session.lost(Self.losses[number % Self.losses.count], at: now)
    case UInt8(ascii: "p"):
      rules.isPaused = number & 1 == 0
      session.setReadingPaused(rules.isPaused, at: now)
    case UInt8(ascii: "n"): session.noteDelivery(at: now)
    case UInt8(ascii: "r"): session.redirected(status: number, to: text(rest))
    case UInt8(ascii: "k"): session.tick(at: now)
    case UInt8(ascii: "a"): answer(rest)
    case UInt8(ascii: "t"): advance(.milliseconds(number * 10))
    default: return
    }
    drain()
  }

  /// Receives a message as the frame decoder delivers it: UTF-8.
  private mutating func receive(_ bytes: [UInt8]) {
    session.noteActivity(at: now)
    withView(Array(text(bytes).utf8)) { view in
      guard case .event(let envelope, let name) = session.receive(view, at: now) else { return }
      output.removeAll()
      maker.write(envelope, named: name)
      requireJSON(output.array.dropLast(), "a line")
    }
  }

  /// Receives an event that the key of the first byte decrypts.
  private mutating func receiveEncrypted(_ rest: [UInt8]) {
    let byte = rest.first ?? 0
    let secret = Base64.encode([UInt8](repeating: byte, count: 32))
    guard let key = try? ChannelKey(sharedSecret: secret) else { return }
    let data = key.seal(Array(rest.dropFirst()), nonce: [UInt8](repeating: 1, count: 24))
    let message = JSONValue.object([
      .init("event", .string("e")), .init("channel", .string("private-encrypted-a")),
      .init("data", .string(data)),
    ])
    receive(Array(JSONWriter.text(message).utf8))
  }

  private mutating func answerUser(_ body: [UInt8]) {
    guard let request = rules.requests.last(where: { $0.channel == nil }) else { return }
    session.authorized(request, Self.answer(to: request, body), at: now)
  }

  /// Answers one of the last requests with a signer's body.
  private mutating func answer(_ rest: [UInt8]) {
    let recent = rules.requests.filter { $0.channel != nil }.suffix(4)
    guard let choice = rest.first, !recent.isEmpty else { return }
    let request = recent[recent.startIndex + Int(choice) % recent.count]
    session.authorized(request, Self.answer(to: request, Array(rest.dropFirst())), at: now)
  }

  private static func answer(
    to request: AuthorizationRequest, _ body: [UInt8]
  ) -> Authorization.Result {
    switch body.first {
    case UInt8(ascii: "!"): .failure(.refused(status: 403, text(body)))
    case UInt8(ascii: "?"): .failure(.unavailable(status: nil, text(body)))
    default: Authorization.result(of: body, to: request)
    }
  }

  private mutating func advance(_ time: Duration) {
    let end = now.advanced(by: time)
    var ticks = 0
    while let deadline = session.deadline, deadline <= end {
      now = max(now, deadline)
      session.tick(at: now)
      drain()
      ticks += 1
      require(ticks < 5000, "the deadline does not pass: \(deadline)")
    }
    now = end
    session.tick(at: now)
  }

  private mutating func drain() {
    while let output = session.nextOutput() { rules.look(output) }
    rules.check(session)
  }

  /// Checks that a disconnect always ends the session.
  mutating func finish() {
    session.disconnect(at: now)
    drain()
    require(session.deadline == nil && !session.isConnected, "alive after the end")
  }
}

private struct SessionRules {
  private(set) var requests: [AuthorizationRequest] = []
  var isPaused = false
  private var isDialled = false
  private var isConnected = false
  private var hasEnded = false
  private var lastGap: Instant?

  func check(_ session: Session) {
    require(session.isConnected == isConnected, "connected, or not")
    require(isConnected == (session.socketID != nil), "a socket id without a socket")
    require(Set(session.channels.map { Array($0.utf8) }).count == session.channels.count, "twice")
    // A paused connection cannot be answered, so it has no deadline before the greeting.
    if isDialled, isConnected || !isPaused {
      require(session.deadline != nil, "a connection without a deadline")
    }
    if hasEnded { require(session.deadline == nil, "a deadline after the end") }
  }

  mutating func look(_ output: SessionOutput) {
    switch output {
    case .dial:
      require(!isDialled && !hasEnded, "two connections at a time")
      isDialled = true
    case .send(let text), .answerPing(let text):
      require(isConnected || isDialled && text.contains(":pong"), "sent without a connection")
      requireJSON(Array(text.utf8), "a sent text")
    case .close: require(isConnected, "closed what was not there")
    case .authorize(let request):
      require(isConnected, "asked without a connection")
      requests.append(request)
    case .deliver(let message, let isDecrypted):
      require(isConnected, "an event without a connection")
      withView(message) { view in
        require((try? Envelope(view, isDecrypted: isDecrypted)) != nil, "no event: \(view.text)")
      }
    case .abort: require(isDialled, "dropped what was not there")
    case .report(let event): look(event)
    }
  }

  private mutating func look(_ event: SessionEvent) {
    require(!hasEnded, "\(event) after the end")
    switch event {
    case .connected:
      require(isDialled && !isConnected, "connected twice")
      isConnected = true
    case .connection(.disconnected):
      require(isDialled, "lost what was not there")
      (isDialled, isConnected) = (false, false)
    case .connection(.ended):
      (isDialled, isConnected, hasEnded) = (false, false, true)
    case .subscribed, .subscriptionFailed, .authorizationDelayed, .signedIn, .signInFailed,
      .signInDelayed:
      require(isConnected, "\(event) without a connection")
    case .connection(.gap(let from, let to)):
      require(isConnected && from <= to && from >= lastGap ?? from, "a gap out of order")
      lastGap = to
    default: break
    }
  }
}
