import TestSupport
import Testing

@testable import PusherCore

/// Reverb's `terminate_on_limit`: the connection ends without an error and without a close frame.
///
/// Source: `Server::ensureWithinRateLimit` of Laravel Reverb 1.9, which terminates the connection
/// before it sends the error.
@Suite struct SilentLimitTests {
  private static let names = (1...40).map { "ch\($0)" }
  private static let end = ConnectionLoss.closed(code: nil, reason: "")

  /// Confirms the first channels of a connection, ends it, and dials again; returns the outputs of
  /// the greeting.
  private func again(
    _ harness: inout SessionHarness, after answers: Int, _ loss: ConnectionLoss = Self.end
  ) -> [SessionOutput] {
    for name in Self.names.prefix(answers) { harness.succeed(name) }
    let delay = harness.lose(loss).retry?.delay ?? .zero
    harness.advance(delay)
    return harness.greet()
  }

  private func connected() -> SessionHarness {
    var harness = SessionHarness(channels: Self.names)
    harness.connect()
    return harness
  }

  private func sent(_ outputs: [SessionOutput]) -> Int {
    outputs.count { if case .send = $0 { true } else { false } }
  }

  private func limits(_ outputs: [SessionOutput]) -> [RateLimit] {
    outputs.events.compactMap { if case .rateLimited(let limit) = $0 { limit } else { nil } }
  }

  @Test(arguments: [
    ConnectionLoss.closed(code: nil, reason: ""), .closed(code: 1006, reason: ""),
    .network("reset"),
  ])
  func `two ends after the same number of answers are a limit, which leaves room for pings`(
    loss: ConnectionLoss
  ) {
    var harness = connected()
    let first = again(&harness, after: 20, loss)
    #expect(sent(first) == 40)
    let outputs = again(&harness, after: 20, loss)
    #expect(sent(outputs) == 18)
    let plan = RateLimit.Plan(requests: 18, interval: .seconds(10), rest: .seconds(20))
    let limit = RateLimit(message: nil, waiting: 22, retryIn: .seconds(10), plan: plan)
    #expect(limits(outputs) == [limit])
    #expect(
      limit.inWords == "the server's rate limit (it ends the connection, without an error): "
        + "it allows 18 in 10 s; 22 requests wait, which takes about 20 s")
    for name in Self.names.prefix(18) { harness.succeed(name) }
    #expect(harness.advance(.milliseconds(9999)) == [])
    #expect(sent(harness.advance(.milliseconds(1))) == 18)
    for name in Self.names[18..<36] { harness.succeed(name) }
    #expect(sent(harness.advance(.seconds(10))) == 4)
    for name in Self.names[36...] { harness.succeed(name) }
    #expect(harness.session.isFullySubscribed)
  }

  @Test func `another end in a burst doubles the time between bursts`() {
    var harness = connected()
    _ = again(&harness, after: 20)
    _ = again(&harness, after: 20)
    for name in Self.names.prefix(18) { harness.succeed(name) }
    harness.advance(.seconds(10))
    let delay = harness.lose(Self.end).retry?.delay ?? .zero
    harness.advance(delay)
    let outputs = harness.greet()
    #expect(sent(outputs) == 18)
    #expect(limits(outputs).first?.plan?.interval == .seconds(20))
  }

  @Test func `ends after different numbers of answers are accidents`() {
    var harness = connected()
    for answers in [20, 19, 20, 3, 20] {
      let outputs = again(&harness, after: answers)
      #expect(sent(outputs) == 40)
    }
  }

  @Test func `an end without a missing answer, or without any answer, is an accident`() {
    var harness = connected()
    for answers in [40, 40, 0, 0, 20, 40, 20] {
      let outputs = again(&harness, after: answers)
      #expect(sent(outputs) == 40)
    }
  }

  @Test(arguments: [
    ConnectionLoss.closed(code: 1001, reason: ""), .closed(code: 4200, reason: ""),
    .noPong(.seconds(30)), .dropped("x"), .violation("x"),
  ])
  func `an end with a reason is not the limit's`(loss: ConnectionLoss) {
    var harness = connected()
    for _ in 0..<3 {
      let outputs = again(&harness, after: 20, loss)
      #expect(sent(outputs) == 40)
    }
  }

  @Test func `an error before the end is its reason`() {
    var harness = connected()
    for _ in 0..<3 {
      harness.error(code: 4100, "over capacity")
      let outputs = again(&harness, after: 20)
      #expect(sent(outputs) == 40)
    }
  }

  @Test func `a limit of one message leaves one request for each burst`() {
    var harness = connected()
    _ = again(&harness, after: 1)
    let outputs = again(&harness, after: 1)
    #expect(sent(outputs) == 1)
  }

  @Test func `another server has no known limit`() {
    var harness = connected()
    _ = again(&harness, after: 20)
    let outputs = again(&harness, after: 20)
    #expect(sent(outputs) == 18)
    _ = harness.perform { $0.move(to: SessionOptions(), reason: "moved", at: $1) }
    #expect(sent(harness.greet()) == 40)
  }
}
