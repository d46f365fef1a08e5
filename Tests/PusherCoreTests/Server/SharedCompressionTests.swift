import PusherCore
import PusherServer
import TestSupport
import Testing

@Suite("Messages for many: permessage-deflate (RFC 7692), made once for all")
struct SharedCompressionTests {
  private static let now = Instant(nanoseconds: 0)

  private final class Client {
    let session: ClientSession
    private let wire: WebSocketConnection

    init(_ hub: Hub, _ socketID: String, _ deflate: PerMessageDeflate?) {
      session = ClientSession(
        WebSocketConnection(role: .server, deflate: deflate, random: SeededGenerator(seed: 1)),
        socketID: socketID, hub: hub, context: SessionContext(), at: SharedCompressionTests.now)
      wire = WebSocketConnection(
        role: .client, deflate: deflate, random: SeededGenerator(seed: 2))
      wire.send(text: #"{"event":"pusher:subscribe","data":{"channel":"news"}}"#)
      session.connection.receive(wire.takeOutput())
      session.receive(at: SharedCompressionTests.now)
      _ = take()
    }

    func take() -> (bytes: [UInt8], texts: [String]) {
      let bytes = session.connection.takeOutput()
      let texts = wire.events(after: bytes).compactMap {
        if case .text(let text) = $0 { text } else { nil }
      }
      return (bytes, texts)
    }
  }

  private let hub = Hub(application: .forTests())

  private func publish(_ data: String) {
    hub.publish(name: "e", channel: "news", data: .string(data), at: Self.now)
  }

  private func message(_ data: String) -> String {
    #"{"event":"e","channel":"news","data":"\#(data)"}"#
  }

  private static let usual = PerMessageDeflate()

  @Test func `a large message is compressed for those who read that, and for no others`() {
    let (reader, other) = (Client(hub, "1.1", Self.usual), Client(hub, "1.2", nil))
    let data = String(repeating: "Gruß ", count: 400)
    publish(data)
    let (compressed, plain) = (reader.take(), other.take())
    #expect(compressed.texts == [message(data)] && plain.texts == [message(data)])
    // FIN, RSV1 and the opcode of a text; the other frame has no RSV1.
    #expect(compressed.bytes[0] == 0xC1 && compressed.bytes.count < 100)
    #expect(plain.bytes[0] == 0x81 && plain.bytes.count > 2000)
  }

  @Test func `all who read it get the same bytes, whatever came before`() {
    let first = Client(hub, "1.1", Self.usual)
    publish(String(repeating: "before", count: 500))
    _ = first.take()
    var taking = Self.usual
    taking.serverNoContextTakeover = true
    let others = [Client(hub, "1.2", Self.usual), Client(hub, "1.3", taking)]
    for round in 0..<3 {
      let data = String(repeating: "round \(round) ", count: 300)
      publish(data)
      let taken = ([first] + others).map { $0.take() }
      for client in taken { #expect(client.texts == [message(data)]) }
      #expect(taken[1].bytes == taken[0].bytes && taken[2].bytes == taken[0].bytes)
    }
  }

  @Test(arguments: [SharedFrame.compressedFrom - 1, SharedFrame.compressedFrom])
  func `a message is compressed from 1,024 bytes on`(count: Int) {
    let reader = Client(hub, "1.1", Self.usual)
    let data = String(repeating: "x", count: count - message("").utf8.count)
    publish(data)
    let taken = reader.take()
    #expect(taken.texts == [message(data)])
    #expect(taken.bytes[0] == (count < SharedFrame.compressedFrom ? 0x81 : 0xC1))
  }

  @Test func `no message gets longer by it`() {
    var random = SeededGenerator(seed: 3)
    for count in [1024, 1025, 4096, 20_000] {
      // Random text over all scalars, which hardly compresses.
      let scalars = (0..<count).map { _ in
        Unicode.Scalar(UInt32.random(in: 0x20...0x2FFFF, using: &random)) ?? "x"
      }
      var text = ""
      text.unicodeScalars.append(contentsOf: scalars)
      let frame = SharedFrame(text)
      #expect(frame.smallestView.count <= frame.view.count)
    }
  }

  @Test func `a client with a smaller window gets it uncompressed`() {
    var small = Self.usual
    small.serverMaxWindowBits = 10
    let reader = Client(hub, "1.1", small)
    let data = String(repeating: "y", count: 3000)
    publish(data)
    let taken = reader.take()
    #expect(taken.bytes[0] == 0x81 && taken.texts == [message(data)])
  }
}
