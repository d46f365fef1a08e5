import Testing

@testable import PusherCore

/// The protocol page, section "Connection closure".
struct ClosePolicyTests {
  private func decide(_ loss: ConnectionLoss, lastError: Int? = nil) -> ReconnectDecision {
    loss.decision(lastError: lastError)
  }

  @Test(arguments: [
    (ReconnectDecision.refused, [4000, 4001, 4002, 4009, 4099]),
    (.backOff, [4100, 4101, 4199, 4300, 4301, 4999]),
    (.atOnce, [4200, 4201, 4202, 4299, 3999, 5000, 1000, 1001, 1006, 1008, 0]),
  ])
  func `the range of the close code decides`(decision: ReconnectDecision, codes: [Int]) {
    for code in codes { #expect(decide(.closed(code: code, reason: "")) == decision, "\(code)") }
  }

  @Test(arguments: [
    ConnectionLoss.closed(code: nil, reason: ""), .closed(code: 1006, reason: ""),
    .closed(code: 1000, reason: "bye"), .network("reset"), .handshakeTimeout(.seconds(10)),
  ])
  func `the last error counts if no close frame brought a code of its own`(loss: ConnectionLoss) {
    let decisions = [4001, 4099, 4100, 4201].map { decide(loss, lastError: $0) }
    #expect(decisions == [.refused, .refused, .backOff, .atOnce])
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
    (ReconnectDecision.refused, [200, 301, 400, 401, 403, 404, 407, 409, 426, 428, 430, 499]),
    (.backOff, [408, 425, 429, 500, 502, 503, 599]),
  ])
  func `a refused upgrade is tried again when the status says that it may pass`(
    decision: ReconnectDecision, statuses: [Int]
  ) {
    for status in statuses {
      #expect(decide(.refused(status: status, reason: "")) == decision, "\(status)")
    }
  }

  @Test(arguments: [
    (ConnectionLoss.network("x"), ReconnectDecision.atOnce), (.violation("x"), .atOnce),
    (.untrusted("x"), .atOnce), (.noPong(.seconds(30)), .atOnce),
    (.closed(code: nil, reason: ""), .atOnce), (.dropped("x"), .backOff),
    (.handshakeTimeout(.seconds(10)), .backOff),
  ])
  func `a loss that no code explains is mended at once, one that this side caused is not`(
    loss: ConnectionLoss, decision: ReconnectDecision
  ) {
    #expect(decide(loss) == decision)
  }
}

struct ConnectionLossTests {
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
  func `a loss says its cause and who must act`(loss: ConnectionLoss, text: String, fault: Fault) {
    #expect("\(loss)" == text)
    #expect(loss.fault == fault)
  }
}
