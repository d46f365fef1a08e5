import PusherCore
import TestSupport
import Testing

struct `The close handshake (RFC 6455 sections 5.5.1 and 7)` {
  @Test func `a close frame is answered with its code, if it has one`() {
    let client = WebSocketConnection.client()
    let close = frame(.close, wire("0f a9") + [UInt8]("no such app".utf8))
    #expect(client.events(after: close) == [.closed(4009, "no such app")])
    #expect(client.state == .closed && client.closeReceived?.code?.rawValue == 4009)
    #expect(client.takeOutput() == frame(.close, wire("0f a9"), mask: 0x37FA_213D))
    let other = WebSocketConnection.client()
    #expect(other.events(after: wire("88 00")) == [.closed(nil, "")])
    #expect(other.takeOutput() == wire("88 80 37 fa 21 3d"))
  }

  @Test func `our close waits for the peer's and still delivers messages and pongs`() {
    let client = WebSocketConnection.client()
    client.close(CloseCode(rawValue: 1001), reason: "done")
    #expect(client.state == .closing)
    client.close(.normal)
    let sent = client.takeOutput()
    #expect(sent == frame(.close, wire("03 e9") + [UInt8]("done".utf8), mask: 0x37FA_213D))
    #expect(!client.send(text: "x") && !client.ping())
    #expect(client.events(after: textFrame("last")) == [.text("last")])
    #expect(client.events(after: frame(.ping, [1])) == [.ping([1])])
    #expect(client.takeOutput() == frame(.pong, [1], mask: 0x37FA_213D))
    #expect(client.events(after: wire("88 02 03 e9")) == [.closed(1001, "")])
    #expect(client.output.isEmpty && client.state == .closed)
  }

  @Test func `nothing behind a close frame is looked at`() {
    let client = WebSocketConnection.client()
    #expect(client.events(after: wire("88 00 89 00 ff ff")) == [.closed(nil, "")])
    client.inputEnded()
    #expect(client.drain() == [])
  }

  @Test(arguments: [1000, 1001, 1002, 1003, 1007, 1011, 1012, 1014, 3000, 3999, 4000, 4999])
  func `a code that may be sent is accepted`(code: UInt16) {
    let close = frame(.close, [UInt8(code >> 8), UInt8(code & 255)])
    #expect(WebSocketConnection.client().events(after: close) == [.closed(code, "")])
  }

  @Test func `a long reason is cut at a character's end`() {
    let server = WebSocketConnection.server()
    server.close(.normal, reason: String(repeating: "é", count: 100))
    let expected = String(repeating: "é", count: 61)
    #expect(
      WebSocketConnection.client().events(after: server.takeOutput()) == [.closed(1000, expected)])
  }

  @Test func `a code that may not be sent stands for none`() {
    let server = WebSocketConnection.server()
    server.close(CloseCode(rawValue: 1005), reason: "unsaid")
    #expect(server.takeOutput() == wire("88 00"))
  }

  @Test(arguments: [("", false), ("81", true), ("81 05 61", true), ("01 01 61", true)])
  func `an end without a close frame is a failure`(hex: String, isInside: Bool) {
    let client = WebSocketConnection.client()
    client.receive(textFrame("before") + wire(hex))
    client.inputEnded()
    #expect(
      client.drain() == [
        .text("before"), .failed(.endedWithoutCloseFrame(insideMessage: isInside)),
      ])
    #expect(client.output.isEmpty)
  }
}
