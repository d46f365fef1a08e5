import Testing

@testable import PusherCore

/// The protocol page, section "Connection closure".
@Suite struct ClosePolicyTests {
  private func decide(_ loss: ConnectionLoss, lastError: Int? = nil) -> ReconnectDecision {
    loss.decision(lastError: lastError)
  }

  @Test(arguments: [
    (4000, ReconnectDecision.refused), (4001, .refused), (4002, .refused), (4009, .refused),
    (4099, .refused),
    (4100, .backOff), (4101, .backOff), (4199, .backOff),
    (4200, .atOnce), (4201, .atOnce), (4202, .atOnce), (4299, .atOnce),
    (4300, .backOff), (4301, .backOff), (4999, .backOff),
    (3999, .atOnce), (5000, .atOnce), (1000, .atOnce), (1001, .atOnce), (1006, .atOnce),
    (1008, .atOnce), (0, .atOnce),
  ])
  func `the range of the close code decides`(code: Int, decision: ReconnectDecision) {
    #expect(decide(.closed(code: code, reason: "")) == decision)
  }

  @Test(arguments: [
    ConnectionLoss.closed(code: nil, reason: ""), .closed(code: 1006, reason: ""),
    .closed(code: 1000, reason: "bye"), .network("reset"), .handshakeTimeout(.seconds(10)),
  ])
  func `the last error counts where no close frame brought a code of the protocol`(
    loss: ConnectionLoss
  ) {
    #expect(decide(loss, lastError: 4001) == .refused)
    #expect(decide(loss, lastError: 4099) == .refused)
    #expect(decide(loss, lastError: 4100) == .backOff)
    #expect(decide(loss, lastError: 4201) == .atOnce)
    #expect(loss.effectiveCode(lastError: 4004) == 4004)
    for other in [nil, 4301, 3999, 1000, 5000, -1] {
      #expect(decide(loss, lastError: other) == decide(loss))
      #expect(loss.effectiveCode(lastError: other) == nil)
    }
  }

  @Test func `the close frame's own code counts before the last error`() {
    let loss = ConnectionLoss.closed(code: 4200, reason: "")
    #expect(decide(loss, lastError: 4001) == .atOnce)
    #expect(loss.effectiveCode(lastError: 4001) == 4200)
  }

  @Test(arguments: [
    ConnectionLoss.noPong(.seconds(30)), .violation("x"), .refused(status: 404, reason: ""),
    .untrusted("x"), .dropped("x"),
  ])
  func `the last error does not explain a loss that has its own reason`(loss: ConnectionLoss) {
    #expect(loss.effectiveCode(lastError: 4001) == nil)
    #expect(decide(loss, lastError: 4001) == decide(loss))
  }

  @Test(arguments: [
    (200, ReconnectDecision.refused), (301, .refused), (400, .refused), (401, .refused),
    (403, .refused),
    (404, .refused),
    (407, .refused), (408, .backOff), (409, .refused), (425, .backOff), (426, .refused),
    (428, .refused),
    (429, .backOff),
    (430, .refused), (499, .refused), (500, .backOff), (502, .backOff), (503, .backOff),
    (599, .backOff),
  ])
  func `a refused upgrade is tried again when the status says that it may pass`(
    status: Int, decision: ReconnectDecision
  ) {
    #expect(decide(.refused(status: status, reason: "")) == decision)
  }

  @Test func `a loss that no code explains is mended at once, one that this side caused is not`() {
    for loss: ConnectionLoss in [
      .network("x"), .violation("x"), .untrusted("x"), .noPong(.seconds(30)),
      .closed(code: nil, reason: ""),
    ] {
      #expect(decide(loss) == .atOnce)
    }
    for loss: ConnectionLoss in [.dropped("x"), .handshakeTimeout(.seconds(10))] {
      #expect(decide(loss) == .backOff)
    }
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
