import PusherCore
import PusherServer
import TestSupport
import Testing

struct `Messages for many: permessage-deflate (RFC 7692), made once for all` {
  private let hub = Hub(application: .forTests())

  private func client(_ socketID: String, _ deflate: PerMessageDeflate?) -> HubClient {
    let client = HubClient(hub, socketID, context: SessionContext(), deflate: deflate)
    client.subscribe("news")
    _ = client.received()
    return client
  }

  private func publish(_ data: String) {
    hub.publish(name: "e", channel: "news", data: .string(data))
  }

  private func take(_ client: HubClient) -> (bytes: [UInt8], events: [ReceivedEvent]) {
    let bytes = client.session.connection.takeOutput()
    return (bytes, client.wire.events(after: bytes))
  }

  private func message(_ data: String) -> ReceivedEvent {
    .text(#"{"event":"e","channel":"news","data":"\#(data)"}"#)
  }

  private static let usual = PerMessageDeflate()

  /// Publishes data, and returns the bytes of its frame to a client, which must hold it.
  private func frame(_ data: String, to client: HubClient) -> [UInt8] {
    publish(data)
    let taken = take(client)
    #expect(taken.events == [message(data)])
    return taken.bytes
  }

  @Test func `a large message is compressed for those who read that, and for no others`() {
    let (reader, other) = (client("1.1", Self.usual), client("1.2", nil))
    let data = String(repeating: "Gruß ", count: 400)
    publish(data)
    let (compressed, plain) = (take(reader), take(other))
    #expect(compressed.events == [message(data)] && plain.events == [message(data)])
    // FIN, RSV1 and the opcode of a text; the other frame has no RSV1.
    #expect(compressed.bytes[0] == 0xC1 && compressed.bytes.count < 100)
    #expect(plain.bytes[0] == 0x81 && plain.bytes.count > 2000)
  }

  @Test func `all who read it get the same bytes, whatever came before`() {
    let first = client("1.1", Self.usual)
    publish(String(repeating: "before", count: 500))
    _ = take(first)
    var taking = Self.usual
    taking.serverNoContextTakeover = true
    let others = [client("1.2", Self.usual), client("1.3", taking)]
    for round in 0..<3 {
      let data = String(repeating: "round \(round) ", count: 300)
      publish(data)
      let taken = ([first] + others).map(take)
      for client in taken { #expect(client.events == [message(data)]) }
      #expect(taken[1].bytes == taken[0].bytes && taken[2].bytes == taken[0].bytes)
    }
  }

  @Test(arguments: [SharedFrame.compressedFrom - 1, SharedFrame.compressedFrom])
  func `a message is compressed from 1,024 bytes on`(count: Int) {
    let rest = #"{"event":"e","channel":"news","data":""}"#
    let data = String(repeating: "x", count: count - rest.utf8.count)
    let bytes = frame(data, to: client("1.1", Self.usual))
    #expect(bytes[0] == (count < SharedFrame.compressedFrom ? 0x81 : 0xC1))
  }

  @Test func `no message gets longer by shared compression`() {
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
    let bytes = frame(String(repeating: "y", count: 3000), to: client("1.1", small))
    #expect(bytes[0] == 0x81)
  }
}
