import TestSupport
import Testing

@testable import PusherCore

/// Sends random inputs in every phase and checks the rules that always hold.
@Suite struct SessionRandomWalkTests {
  private let channels = [
    "c", "d", "private-a", "private-ab", "presence-p", "private-encrypted-e", "",
  ]
  private let losses: [ConnectionLoss] = [
    .closed(code: 4001, reason: ""), .closed(code: 4100, reason: ""),
    .closed(code: 4200, reason: ""),
    .closed(code: nil, reason: "x"), .closed(code: 1006, reason: ""),
    .refused(status: 503, reason: ""),
    .refused(status: 404, reason: ""), .network("x"), .untrusted("x"), .violation("x"),
    .handshakeTimeout(.seconds(10)), .noPong(.seconds(30)), .dropped("x"),
  ]
  private let messages = [
    #"{"event":"pusher:connection_established","data":"{\"socket_id\":\"1.2\",\"activity_timeout\":30}"}"#,
    #"{"event":"pusher:connection_established","data":{"socket_id":"3.4"}}"#,
    #"{"event":"pusher:connection_established"}"#,
    #"{"event":"pusher_internal:subscription_succeeded","channel":"CHANNEL","data":"{}"}"#,
    #"{"event":"pusher_internal:subscription_succeeded","channel":"CHANNEL"}"#,
    #"{"event":"pusher_internal:subscription_succeeded","channel":"CHANNEL","data":{"presence":{"ids":[1,2],"hash":[]}}}"#,
    #"{"event":"pusher_internal:member_added","channel":"CHANNEL","data":{"user_id":3}}"#,
    #"{"event":"pusher_internal:member_removed","channel":"CHANNEL","data":{"user_id":1}}"#,
    #"{"event":"pusher:subscription_error","channel":"CHANNEL","data":{"status":401}}"#,
    #"{"event":"pusher:error","data":{"code":4009,"message":"no"}}"#,
    #"{"event":"pusher:error","channel":"CHANNEL","data":{"code":4009}}"#,
    #"{"event":"pusher:error","data":"Invalid signature of 1.2:CHANNEL, but"}"#,
    #"{"event":"pusher:error","data":{"code":4301,"message":"Rate limit exceeded"}}"#,
    #"{"event":"pusher:error","channel":"CHANNEL","data":{"code":4301}}"#,
    #"{"event":"pusher:error","data":{"code":4004}}"#, #"{"event":"pusher:error"}"#,
    #"{"event":"pusher:ping"}"#, #"{"event":"pusher:pong"}"#, #"{"event":"pusher:cache_miss"}"#,
    #"{"event":"e","channel":"CHANNEL","data":"{}"}"#, #"{"event":"pusher:new"}"#, "{}", "", "[",
    "\0",
  ]

  @Test(arguments: [ReconnectPolicy.Mode.automatic, .always, .never], [nil, 0, 2])
  func `no input traps or breaks the order`(mode: ReconnectPolicy.Mode, maximumAttempts: Int?) {
    var phases: Set<String> = []
    for seed in UInt64(1)...60 {
      var random = SeededGenerator(seed: seed)
      var harness = SessionHarness(
        SessionOptions(
          reconnect: ReconnectPolicy(mode: mode, maximumAttempts: maximumAttempts)), seed: seed)
      var observer = SessionObserver()
      for _ in 0..<150 {
        step(&harness, &observer, &random)
        phases.insert(String("\(harness.session.phase)".prefix { $0.isLetter }))
      }
    }
    #expect(phases.isSuperset(of: ["idle", "connecting", "connected", "ended"]))
    #expect(phases.contains("waiting") == (mode != .never && maximumAttempts != 0))
  }

  private func step(
    _ harness: inout SessionHarness, _ observer: inout SessionObserver,
    _ random: inout SeededGenerator
  ) {
    let channel = channels[Int.random(in: 0..<channels.count, using: &random)]
    let outputs: [SessionOutput]
    switch Int.random(in: 0..<100, using: &random) {
    case 0: outputs = harness.disconnect()
    case 1..<9: outputs = harness.dial()
    case 9..<16: outputs = harness.subscribe(channel)
    case 16..<20: outputs = harness.unsubscribe(channel)
    case 20..<26:
      outputs = harness.lose(losses[Int.random(in: 0..<losses.count, using: &random)])
    case 26..<42: outputs = harness.greet()
    case 42..<68:
      let message = messages[Int.random(in: 0..<messages.count, using: &random)]
      outputs = harness.receive(message.replacing("CHANNEL", with: channel))
    case 68..<82: outputs = answer(&harness, observer, &random)
    case 82..<84:
      let paused = Bool.random(using: &random)
      outputs = harness.pause(paused)
    case 84..<86: outputs = harness.perform { $0.tick(at: $1) }
    default:
      outputs = harness.advance(.milliseconds(Int.random(in: 0...40_000, using: &random)))
    }
    observer.look(outputs, harness.session)
  }

  private func answer(
    _ harness: inout SessionHarness, _ observer: SessionObserver, _ random: inout SeededGenerator
  ) -> [SessionOutput] {
    guard let request = observer.requests.suffix(4).randomElement(using: &random) else { return [] }
    let results: [Result<PusherAuth, AuthorizationFailure>] = [
      .success(PusherAuth(auth: "K:S")), .success(PusherAuth(auth: "K:S", channelData: "{}")),
      .failure(.refused(status: 403, "no")), .failure(.unavailable(status: nil, "busy")),
      .failure(.unusable("odd")),
    ]
    return harness.answer(request, results[Int.random(in: 0..<results.count, using: &random)])
  }
}

private struct SessionObserver {
  private(set) var requests: [AuthorizationRequest] = []
  private var isDialled = false
  private var isConnected = false
  private var hasEnded = false
  private var lastGap: Instant?

  mutating func look(_ outputs: [SessionOutput], _ session: Session) {
    for output in outputs { look(output) }
    #expect(session.isConnected == isConnected)
    #expect(isConnected == (session.socketID != nil))
    let hasNothingToDo =
      hasEnded || !isDialled && !isWaiting(session) || session.isReadingPaused && !isConnected
    #expect((session.deadline == nil) == hasNothingToDo)
    #expect(Set(session.channels).count == session.channels.count)
  }

  private func isWaiting(_ session: Session) -> Bool {
    if case .waiting = session.phase { true } else { false }
  }

  private mutating func look(_ output: SessionOutput) {
    switch output {
    case .dial:
      #expect(!isDialled && !hasEnded, "one connection at a time")
      isDialled = true
    case .send: #expect(isConnected, "sent without a connection")
    case .answerPing: #expect(isConnected || isDialled, "answered without a connection")
    case .close, .deliver: #expect(isConnected)
    case .authorize(let request):
      #expect(isConnected)
      requests.append(request)
    case .abort: #expect(isDialled, "dropped what was not there")
    case .report(let event): look(event)
    }
  }

  private mutating func look(_ event: SessionEvent) {
    #expect(!hasEnded, "\(event) after the end")
    switch event {
    case .connected:
      #expect(isDialled && !isConnected)
      isConnected = true
    case .connection(.disconnected):
      #expect(isDialled)
      (isDialled, isConnected) = (false, false)
    case .connection(.ended):
      (isDialled, isConnected, hasEnded) = (false, false, true)
    case .subscribed, .subscriptionFailed, .authorizationDelayed: #expect(isConnected)
    case .connection(.gap(let from, let to)):
      #expect(isConnected && from <= to && from >= lastGap ?? from)
      lastGap = to
    default: break
    }
  }
}
