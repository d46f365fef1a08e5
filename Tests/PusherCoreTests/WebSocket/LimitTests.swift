import PusherCore
import TestSupport
import Testing

@Suite("Limits of a connection, checked before memory is spent")
struct LimitTests {
  private let limits = WebSocketLimits(frame: 100, message: 150)
  private let hundred = [UInt8](repeating: 0x61, count: 100)

  @Test func `a frame of exactly the limit passes and one byte more is refused at its header`() {
    let client = WebSocketConnection.client(limits: limits)
    #expect(client.events(after: frame(.binary, hundred)) == [.binary(hundred)])
    #expect(client.events(after: wire("82 65")) == [.failed(.frameTooLarge(limit: 100))])
  }

  @Test func `a text on the short path obeys the limit too`() {
    let client = WebSocketConnection.client(limits: limits)
    let over = textFrame(String(repeating: "a", count: 101))
    #expect(client.events(after: over) == [.failed(.frameTooLarge(limit: 100))])
  }

  @Test func `fragments of exactly the limit pass and one byte more is refused at its header`() {
    let first = frame(.binary, hundred, isFinal: false)
    let client = WebSocketConnection.client(limits: limits)
    let whole = [UInt8](repeating: 0x61, count: 150)
    #expect(
      client.events(after: first + frame(.continuation, [UInt8](whole[..<50]))) == [.binary(whole)])
    #expect(client.events(after: first + wire("80 33")) == [.failed(.messageTooLarge(limit: 150))])
  }

  @Test func `a message limit below the frame limit holds for single frames`() {
    let client = WebSocketConnection.client(limits: WebSocketLimits(frame: 100, message: 10))
    #expect(client.events(after: wire("82 0b")) == [.failed(.messageTooLarge(limit: 10))])
  }

  @Test func `an announced length alone takes no memory`() {
    let client = WebSocketConnection.client()
    #expect(client.events(after: wire("82 7f 00 00 00 00 01 00 00 00 61")) == [])
    #expect(client.input.capacity <= 65_536)
    let fragmented = WebSocketConnection.client()
    #expect(fragmented.events(after: wire("82 7f 00 00 00 00 01 00 00 01")).count == 1)
  }

  @Test func `an inflated message of exactly the limit passes and one byte more is refused`() {
    for (count, passes) in [(1000, true), (1001, false)] {
      let deflate = PerMessageDeflate()
      let server = WebSocketConnection.server(deflate: deflate)
      server.send(text: String(repeating: "z", count: count))
      let client = WebSocketConnection.client(
        deflate: deflate, limits: WebSocketLimits(frame: 1000, message: 1000))
      let events = client.events(after: server.takeOutput())
      #expect(
        events
          == [
            passes
              ? .text(String(repeating: "z", count: count))
              : .failed(.messageTooLarge(limit: 1000))
          ])
    }
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
