import Testing

@testable import PusherCore

/// The protocol page, section "Connection closure".
@Suite struct ClosePolicyTests {
  private let stable = Duration.seconds(5)
  private let brief = Duration.seconds(5) - .nanoseconds(1)

  private func decide(
    _ loss: ConnectionLoss, lastError: Int? = nil, lived: Duration? = nil
  ) -> ReconnectDecision {
    ClosePolicy.decide(loss, lastError: lastError, lived: lived)
  }

  @Test(arguments: [
    (4000, ReconnectDecision.stop, ReconnectDecision.stop), (4001, .stop, .stop),
    (4002, .stop, .stop),
    (4009, .stop, .stop), (4099, .stop, .stop),
    (4100, .backOff, .backOff), (4101, .backOff, .backOff), (4199, .backOff, .backOff),
    (4200, .atOnce, .backOff), (4201, .atOnce, .backOff), (4202, .atOnce, .backOff),
    (4299, .atOnce, .backOff),
    (4300, .backOff, .backOff), (4301, .backOff, .backOff), (4999, .backOff, .backOff),
    (3999, .backOff, .backOff), (5000, .backOff, .backOff), (1000, .backOff, .backOff),
    (1001, .backOff, .backOff), (1006, .backOff, .backOff), (1008, .backOff, .backOff),
    (0, .backOff, .backOff),
  ])
  func `the range of the close code decides, after a stable and after a brief connection`(
    code: Int, afterStable: ReconnectDecision, afterBrief: ReconnectDecision
  ) {
    let loss = ConnectionLoss.closed(code: code, reason: "")
    #expect(decide(loss, lived: stable) == afterStable)
    #expect(decide(loss, lived: .seconds(86_400)) == afterStable)
    #expect(decide(loss, lived: brief) == afterBrief)
    #expect(decide(loss, lived: nil) == afterBrief)
  }

  @Test(arguments: [
    ConnectionLoss.closed(code: nil, reason: ""), .closed(code: 1006, reason: ""),
    .closed(code: 1000, reason: "bye"), .network("reset"), .handshakeTimeout(.seconds(10)),
  ])
  func `the last error counts where no close frame brought a code of the protocol`(
    loss: ConnectionLoss
  ) {
    #expect(decide(loss, lastError: 4001, lived: stable) == .stop)
    #expect(decide(loss, lastError: 4099, lived: stable) == .stop)
    #expect(decide(loss, lastError: 4100, lived: stable) == .backOff)
    #expect(decide(loss, lastError: 4201, lived: stable) == .atOnce)
    #expect(decide(loss, lastError: 4201, lived: brief) == .backOff)
    #expect(ClosePolicy.effectiveCode(loss, lastError: 4004) == 4004)
    for other in [nil, 4301, 3999, 1000, 5000, -1] {
      #expect(decide(loss, lastError: other, lived: stable) == .backOff)
      #expect(ClosePolicy.effectiveCode(loss, lastError: other) == nil)
    }
  }

  @Test func `the close frame's own code counts before the last error`() {
    let loss = ConnectionLoss.closed(code: 4200, reason: "")
    #expect(decide(loss, lastError: 4001, lived: stable) == .atOnce)
    #expect(ClosePolicy.effectiveCode(loss, lastError: 4001) == 4200)
  }

  @Test(arguments: [
    ConnectionLoss.noPong(.seconds(30)), .violation("x"), .refused(status: 404, reason: ""),
    .untrusted("x"), .dropped("x"),
  ])
  func `the last error does not explain a loss that has its own reason`(loss: ConnectionLoss) {
    #expect(ClosePolicy.effectiveCode(loss, lastError: 4001) == nil)
    #expect(decide(loss, lastError: 4001, lived: stable) == decide(loss, lived: stable))
  }

  @Test(arguments: [
    (200, ReconnectDecision.stop), (301, .stop), (400, .stop), (401, .stop), (403, .stop),
    (404, .stop),
    (407, .stop), (408, .backOff), (409, .stop), (425, .backOff), (426, .stop), (428, .stop),
    (429, .backOff),
    (430, .stop), (499, .stop), (500, .backOff), (502, .backOff), (503, .backOff), (599, .backOff),
  ])
  func `a refused upgrade is tried again when the status says that it may pass`(
    status: Int, decision: ReconnectDecision
  ) {
    #expect(decide(.refused(status: status, reason: "")) == decision)
  }

  @Test func `losses without a code back off, a dead connection that was stable is mended at once`()
  {
    for loss: ConnectionLoss in [
      .network("x"), .violation("x"), .untrusted("x"), .handshakeTimeout(.seconds(10)),
      .dropped("x"),
    ] {
      #expect(decide(loss, lived: stable) == .backOff)
    }
    #expect(decide(.noPong(.seconds(30)), lived: stable) == .atOnce)
    #expect(decide(.noPong(.seconds(30)), lived: brief) == .backOff)
    #expect(decide(.noPong(.seconds(30)), lived: nil) == .backOff)
  }
}

@Suite struct ConnectionLossTests {
  @Test(arguments: [
    (
      ConnectionLoss.closed(code: nil, reason: ""),
      "the server closed the connection without a reason", Fault.network
    ),
    (.closed(code: nil, reason: "bye"), "the server closed the connection: bye", .network),
    (.closed(code: 4001, reason: ""), "closed by the server with code 4001", .peer),
    (.closed(code: 4999, reason: "no"), "closed by the server with code 4999: no", .peer),
    (.closed(code: 3999, reason: ""), "closed by the server with code 3999", .network),
    (.closed(code: 5000, reason: ""), "closed by the server with code 5000", .network),
    (.refused(status: 404, reason: "Not Found"), "the server answered HTTP 404 (Not Found)", .peer),
    (.refused(status: 503, reason: ""), "the server answered HTTP 503", .peer),
    (.violation("a mask"), "the server broke the protocol: a mask", .peer),
    (.network("no route"), "no route", .network), (.untrusted("expired"), "expired", .network),
    (.handshakeTimeout(.seconds(10)), "no connection within 10 s", .network),
    (.noPong(.seconds(30)), "no pong for 30 s", .network), (.dropped("bored"), "bored", .network),
  ])
  func `a loss says what happened and who has to act`(
    loss: ConnectionLoss, text: String, fault: Fault
  ) {
    #expect("\(loss)" == text)
    #expect(loss.fault == fault)
  }
}
