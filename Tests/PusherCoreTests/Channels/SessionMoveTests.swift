import Testing

@testable import PusherCore

struct SessionMoveTests {
  private let loss = ConnectionLoss.dropped("elsewhere")

  private func move(
    _ harness: inout SessionHarness, _ options: SessionOptions = SessionOptions()
  ) -> [SessionOutput] {
    harness.perform { $0.move(to: options, reason: "elsewhere", at: $1) }
  }

  @Test func `a connection says goodbye, and the next is dialled without a wait`() {
    var harness = SessionHarness.connected(channels: ["c"])
    harness.advance(.seconds(1))
    #expect(
      move(&harness) == [
        .close, .abort, .report(.disconnected(loss, code: nil, retryIn: .zero, attempt: 0)), .dial,
      ])
    #expect(harness.greet(socketID: "3.4").contains(.subscribe("c")))
  }

  @Test func `the gap reaches from the last message here to the confirmation there`() throws {
    var harness = SessionHarness.connected(channels: ["c"])
    harness.advance(.seconds(10))
    harness.receive(#"{"event":"e","channel":"c"}"#)
    let start = harness.now
    harness.advance(.seconds(3))
    _ = move(&harness)
    harness.advance(.seconds(2))
    harness.greet()
    let events = harness.succeed("c").events
    #expect(events.contains(.connection(.gap(from: start, to: harness.now))))
  }

  @Test func `an attempt is dropped, a wait is over, and neither is told as a loss`() {
    var connecting = SessionHarness(channels: ["c"])
    connecting.dial()
    #expect(move(&connecting) == [.abort, .dial])
    var waiting = SessionHarness.connected(channels: ["c"])
    waiting.lose(.network("reset"))
    #expect(move(&waiting) == [.dial])
  }

  @Test func `nothing is dialled before the first connect and after the end`() {
    var options = SessionOptions()
    options.activityTimeout = .seconds(7)
    var idle = SessionHarness(channels: ["c"])
    #expect(move(&idle, options) == [])
    idle.connect()
    #expect(idle.session.deadline == idle.now.advanced(by: .seconds(7)))
    var ended = SessionHarness.connected()
    ended.disconnect()
    #expect(move(&ended) == [])
  }

  @Test func `attempts are counted anew, and the new place is no first connection`() {
    var harness = SessionHarness.connected(channels: ["c"])
    for _ in 0..<4 { harness.advance(harness.lose(.network("no")).retry?.delay ?? .zero) }
    _ = move(&harness)
    let retry = harness.lose(.network("no")).retry
    #expect(retry?.attempt == 1)
    #expect((retry?.delay ?? .zero) <= .seconds(2))
  }

  @Test func `an answer for the former server is ignored`() {
    var harness = SessionHarness.connected()
    let request = harness.subscribe("private-a").requests[0]
    _ = move(&harness)
    #expect(harness.answer(request, .success(PusherAuth(auth: "K:S"))) == [])
  }

  @Test func `a client that announces its attempts, or is not read, dials in time`() {
    var options = SessionOptions()
    options.announcesRetries = true
    var harness = SessionHarness.connected(options, channels: ["c"])
    #expect(!move(&harness, options).contains(.dial))
    #expect(harness.advance(.zero) == [.dial])
    var paused = SessionHarness.connected(channels: ["c"])
    paused.pause(true)
    #expect(!move(&paused).contains(.dial))
    paused.pause(false)
    #expect(paused.advance(.zero) == [.dial])
  }
}
