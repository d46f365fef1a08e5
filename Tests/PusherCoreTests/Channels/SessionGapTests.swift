import PusherCore
import Testing

/// Everything that the server sent and the session did not deliver lies within a reported gap.
struct SessionGapTests {
  /// Loses the connection and joins again; returns the start of the reported gap.
  private func gapStart(_ harness: inout SessionHarness) -> Instant? {
    harness.renew()
    for case .connection(.gap(let from, _)) in harness.succeed("c").events { return from }
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
    #expect(gapStart(&harness) == start)
  }

  @Test func `a gap begins as much earlier as an answer of the server was under way`() {
    var harness = SessionHarness.connected()
    harness.subscribe("c")
    harness.advance(.seconds(3))
    harness.succeed("c")
    harness.advance(.seconds(10))
    harness.receive(#"{"event":"e","channel":"c"}"#)
    let last = harness.now
    harness.advance(.seconds(60))
    #expect(gapStart(&harness) == last.advanced(by: .seconds(-3)))
  }

  @Test func `a gap never begins before the end of the earlier gap`() throws {
    var harness = SessionHarness.connected()
    harness.subscribe("c")
    harness.advance(.seconds(3))
    harness.succeed("c")
    harness.renew()
    harness.advance(.seconds(5))
    harness.succeed("c")
    let firstEnd = harness.now
    #expect(gapStart(&harness) == firstEnd)
  }

  @Test func `a channel that was joined before and is not answered now ends the connection`() {
    var harness = SessionHarness.connected(channels: ["c"])
    harness.renew()
    let outputs = harness.advance(.seconds(10))
    let loss = ConnectionLoss.dropped("no answer to the subscription of c within 10 s")
    #expect(outputs.first == .abort)
    #expect(outputs.failures.isEmpty)
    #expect(
      outputs.events.first
        == .disconnected(loss, code: nil, retryIn: outputs.retry?.delay, attempt: 2))
    #expect(harness.advance(outputs.retry?.delay ?? .zero) == [.dial])
  }

  @Test func `a channel that never was joined ends the connection if everything is repeated`() {
    var always = SessionHarness.connected(SessionOptions(reconnect: ReconnectPolicy(mode: .always)))
    always.subscribe("c")
    #expect(always.advance(.seconds(10)).first == .abort)
  }

  @Test func `an unusable answer of an endpoint that has worked is asked for again`() throws {
    var harness = SessionHarness.joined("private-a")
    let again = try #require(harness.renew().requests.first)
    let outputs = harness.answer(again, .failure(.unusable("the answer is not JSON")))
    let delay = try #require(outputs.questionDelay)
    #expect(
      outputs.events == [
        .authorizationDelayed(
          channel: "private-a", reason: "the answer is not JSON", retryIn: delay)
      ])
    #expect(harness.advance(delay).requests.count == 1)
  }
}
