import PusherCore
import TestSupport
import Testing

struct `Messages (RFC 6455 sections 5.4 to 5.6)` {
  @Test(arguments: [0, 1, 2, 125, 126, 127, 65_535, 65_536, 100_000])
  func `a text of any length arrives in both directions`(length: Int) {
    let text = String(repeating: "x", count: length)
    let (client, server) = (WebSocketConnection.client(), WebSocketConnection.server())
    client.send(text: text)
    #expect(server.events(after: client.takeOutput()) == [.text(text)])
    server.send(text: text)
    #expect(client.events(after: server.takeOutput()) == [.text(text)])
  }

  /// Returns text, a ping, fragments around a ping, binary, a longer text and a close.
  private func stream(mask: UInt32?) -> [UInt8] {
    textFrame("one κ", mask: mask) + frame(.ping, [1, 2], mask: mask)
      + textFrame("fr\u{E4}g", isFinal: false, mask: mask) + frame(.ping, [], mask: mask)
      + frame(.continuation, [0xE2, 0x82], isFinal: false, mask: mask)
      + frame(.continuation, [0xAC], mask: mask) + frame(.binary, [0, 255], mask: mask)
      + frame(.pong, [9], mask: mask) + textFrame(String(repeating: "é", count: 90), mask: mask)
      + frame(.close, [0x03, 0xE8] + [UInt8]("bye".utf8), mask: mask)
      + textFrame("too late", mask: mask)
  }

  private static let expected: [ReceivedEvent] = [
    .text("one κ"), .ping([1, 2]), .ping([]), .text("fräg€"), .binary([0, 255]), .pong([9]),
    .text(String(repeating: "é", count: 90)), .closed(1000, "bye"),
  ]

  @Test(arguments: [nil, UInt32(0xA1B2_C3D4)])
  func `a stream of frames gives the same events at every split`(mask: UInt32?) {
    func peer() -> WebSocketConnection { mask == nil ? .client() : .server() }
    let bytes = stream(mask: mask)
    for split in 0...bytes.count {
      let hasty = peer()
      let early = hasty.events(after: [UInt8](bytes[..<split]))
      #expect(early + hasty.events(after: [UInt8](bytes[split...])) == Self.expected)
    }
    let patient = peer()
    #expect(bytes.flatMap { patient.events(after: [$0]) } == Self.expected)
  }

  @Test func `a ping is answered with its own payload`() {
    let client = WebSocketConnection.client()
    #expect(client.events(after: frame(.ping, [UInt8]("Hello".utf8))).count == 1)
    #expect(client.takeOutput() == wire("8a 85 37 fa 21 3d 7f 9f 4d 51 58"))
    let server = WebSocketConnection.server()
    _ = server.events(after: frame(.ping, [1], mask: 5))
    #expect(server.takeOutput() == wire("8a 01 01"))
  }

  @Test func `pongs that nobody takes cost no memory, and the latest ping is answered`() {
    let server = WebSocketConnection.server()
    server.send(binary: [UInt8](repeating: 0, count: 1 << 20))
    let before = server.output.count
    for number in UInt8(0)..<100 { _ = server.events(after: frame(.ping, [number], mask: 1)) }
    #expect(server.output.count == before)
    _ = server.takeOutput()
    #expect(server.drain() == [])
    #expect(server.takeOutput() == wire("8a 01 63"))
  }

  @Test func `bytes that came with the handshake are the first input`() {
    let input = buffer(textFrame("early"))
    let client = WebSocketConnection(role: .client, random: FixedGenerator(value: 0), input: input)
    #expect(client.drain() == [.text("early")])
  }

  @Test func `a view points into the input and the bytes behind it may be borrowed`() throws {
    let client = WebSocketConnection.client()
    client.receive(textFrame("first") + textFrame("second"))
    guard case .text(let view) = try #require(client.next()) else { return }
    let kept = view.base[view.count]
    view.base[view.count] = 0
    view.base[view.count] = kept
    #expect(view.text == "first")
    #expect(client.drain() == [.text("second")])
  }

  @Test func `an encoded frame is sent as it is`() {
    let server = WebSocketConnection.server()
    #expect(withView(textFrame("all")) { server.send(encodedFrame: $0) })
    #expect(server.takeOutput() == textFrame("all"))
  }

  @Test func `memory for a long message is given back`() {
    let client = WebSocketConnection.client()
    let long = [UInt8](repeating: 1, count: 3 << 20)
    #expect(client.events(after: frame(.binary, long)) == [.binary(long)])
    #expect(client.input.capacity <= 1 << 20)
  }
}
