import PusherCore
import Testing

/// Everything that the server sent and the session did not deliver lies within a reported gap.
@Suite struct SessionGapTests {
  private func gap(_ harness: inout SessionHarness) -> (from: Instant, to: Instant)? {
    harness.lose(.network("reset"))
    harness.advance(.seconds(2))
    harness.greet()
    let events = harness.succeed("c").events
    for case .connection(.gap(let from, let to)) in events { return (from, to) }
    return nil
  }

  @Test func `bytes without a whole message do not move its start`() {
    var harness = SessionHarness.connected(channels: ["c"])
    harness.advance(.seconds(10))
    harness.receive(#"{"event":"e","channel":"c"}"#)
    let start = harness.now
    harness.advance(.seconds(5))
    // Half a frame counts as activity. Its event was sent earlier and may never be complete.
    harness.session.noteActivity(at: harness.now)
    harness.advance(.seconds(1))
    #expect(gap(&harness)?.from == start)
  }

  @Test func `a gap begins as much earlier as an answer of the server was under way`() {
    var harness = SessionHarness.connected()
    _ = harness.perform { $0.subscribe("c", at: $1) }
    harness.advance(.seconds(3))
    harness.succeed("c")
    harness.advance(.seconds(10))
    harness.receive(#"{"event":"e","channel":"c"}"#)
    let last = harness.now
    harness.advance(.seconds(60))
    #expect(gap(&harness)?.from == last.advanced(by: .seconds(-3)))
  }

  @Test func `a gap never begins before the end of the earlier gap`() throws {
    var harness = SessionHarness.connected()
    _ = harness.perform { $0.subscribe("c", at: $1) }
    harness.advance(.seconds(3))
    harness.succeed("c")
    harness.lose(.network("reset"))
    harness.advance(.seconds(2))
    harness.greet()
    harness.advance(.seconds(5))
    harness.succeed("c")
    let firstEnd = harness.now
    #expect(gap(&harness)?.from == firstEnd)
  }

  @Test func `a channel that was joined before and is not answered now ends the connection`() {
    var harness = SessionHarness.connected(channels: ["c"])
    harness.lose(.network("reset"))
    harness.advance(.seconds(2))
    harness.greet()
    let outputs = harness.advance(.seconds(10))
    let loss = ConnectionLoss.dropped("no answer to the subscription of c within 10 s")
    #expect(outputs.first == .abort)
    #expect(outputs.failures.isEmpty)
    #expect(
      outputs.events.first
        == .disconnected(loss, code: nil, retryIn: outputs.retry?.delay, attempt: 2))
    #expect(harness.advance(outputs.retry?.delay ?? .zero) == [.dial])
  }

  @Test func `a channel that never was joined fails instead, unless everything is to be repeated`()
  {
    var harness = SessionHarness.connected()
    _ = harness.perform { $0.subscribe("c", at: $1) }
    #expect(harness.advance(.seconds(10)).failures.map(\.type) == ["Timeout"])

    var always = SessionHarness.connected(
      SessionOptions(reconnect: ReconnectPolicy(mode: .always)))
    _ = always.perform { $0.subscribe("c", at: $1) }
    #expect(always.advance(.seconds(10)).first == .abort)
  }

  @Test func `an answer of the endpoint that is none is asked for again once it has worked`() throws
  {
    var harness = SessionHarness.connected(channels: [])
    let first = AuthorizationTestRequest.of(&harness, "private-a")
    harness.answer(first, .success(PusherAuth(auth: "K:S")))
    harness.succeed("private-a")
    harness.lose(.network("reset"))
    harness.advance(.seconds(2))
    let again = try #require(harness.greet().requests.first)
    let outputs = harness.answer(again, .failure(.unusable("the answer is not JSON")))
    guard
      case .authorizationDelayed("private-a", "the answer is not JSON", let delay)? =
        outputs.events.first
    else {
      Issue.record("\(outputs)")
      return
    }
    #expect(harness.advance(delay).requests.count == 1)
  }
}
