import PusherCore
import TestSupport
import Testing

@Suite("Limits of a connection, checked before memory is spent") struct LimitTests {
  private static let limits = WebSocketLimits(frame: 100, message: 150)
  private static let most = [UInt8](repeating: 0x61, count: 150)
  private static let hundred = [UInt8](most[..<100])
  private static let first = frame(.binary, hundred, isFinal: false)

  @Test(
    arguments: [
      // One byte more is refused at its header.
      (limits, frame(.binary, hundred), .binary(hundred)),
      (limits, wire("82 65"), .failed(.frameTooLarge(limit: 100))),
      (limits, frame(.text, [UInt8](most[..<101])), .failed(.frameTooLarge(limit: 100))),
      // Fragments.
      (limits, first + frame(.continuation, [UInt8](most[..<50])), .binary(most)),
      (limits, first + wire("80 33"), .failed(.messageTooLarge(limit: 150))),
      // A message limit below the frame limit.
      (
        WebSocketLimits(frame: 100, message: 10), wire("82 0b"),
        .failed(.messageTooLarge(limit: 10))
      ),
    ] as [(WebSocketLimits, [UInt8], ReceivedEvent)])
  func `a frame and a message of exactly the limit pass, and no byte more`(
    limits: WebSocketLimits, bytes: [UInt8], event: ReceivedEvent
  ) {
    #expect(WebSocketConnection.client(limits: limits).events(after: bytes) == [event])
  }

  @Test func `an announced length alone takes no memory`() {
    let client = WebSocketConnection.client()
    #expect(client.events(after: wire("82 7f 00 00 00 00 01 00 00 00 61")) == [])
    #expect(client.input.capacity <= 65_536)
    let fragmented = WebSocketConnection.client()
    #expect(fragmented.events(after: wire("82 7f 00 00 00 00 01 00 00 01")).count == 1)
  }

  @Test(arguments: [1000, 1001])
  func `an inflated message of exactly the limit passes and one byte more is refused`(count: Int) {
    let deflate = PerMessageDeflate()
    let server = WebSocketConnection.server(deflate: deflate)
    let text = String(repeating: "z", count: count)
    server.send(text: text)
    let client = WebSocketConnection.client(
      deflate: deflate, limits: WebSocketLimits(frame: 1000, message: 1000))
    #expect(
      client.events(after: server.takeOutput())
        == [count == 1000 ? .text(text) : .failed(.messageTooLarge(limit: 1000))])
  }

  @Test func `a bomb in many fragments is refused when the sum passes the limit`() {
    let deflate = PerMessageDeflate()
    let server = WebSocketConnection.server(deflate: deflate)
    server.send(binary: [UInt8](repeating: 0, count: 40 << 20))
    let client = WebSocketConnection.client(deflate: deflate)
    var events: [ReceivedEvent] = []
    for byte in server.takeOutput() where events.isEmpty { events = client.events(after: [byte]) }
    #expect(events == [.failed(.messageTooLarge(limit: 16 << 20))])
  }
}
