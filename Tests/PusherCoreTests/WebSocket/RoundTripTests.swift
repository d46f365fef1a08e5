import PusherCore
import TestSupport
import Testing

@Suite("Random conversations between a client and a server") struct RoundTripTests {
  /// No compression, and every combination of takeover with several windows.
  static let negotiations: [PerMessageDeflate?] =
    [nil]
    + [true, false].flatMap { server in
      [true, false].flatMap { client in
        [(8, 8), (9, 12), (15, 15), (10, 9)].map { bits in
          PerMessageDeflate(
            serverNoContextTakeover: server, clientNoContextTakeover: client,
            serverMaxWindowBits: bits.0, clientMaxWindowBits: bits.1)
        }
      }
    }

  private func message(using random: inout SeededGenerator) -> ReceivedEvent {
    let length = random.pick([0, 5, 125, 126, 700, 5000])
    if random.below(2) == 0 { return .binary((0..<length).map { _ in UInt8(random.below(21)) }) }
    let letters = ["a", "b", "é", "語", "𝄞", "\u{0}"]
    return .text((0..<length).map { _ in random.pick(letters) }.joined())
  }

  @Test(arguments: negotiations.indices)
  func `what one side sends the other receives`(index: Int) {
    var random = SeededGenerator(seed: UInt64(index) + 100)
    let deflate = Self.negotiations[index]
    let client = WebSocketConnection(
      role: .client, deflate: deflate, random: SeededGenerator(seed: 3))
    let server = WebSocketConnection.server(deflate: deflate)
    for round in 0..<60 {
      let (sender, receiver) = round % 2 == 0 ? (client, server) : (server, client)
      let messages = (0...random.below(4)).map { _ in message(using: &random) }
      for message in messages {
        switch message {
        case .text(let text): sender.send(text: text)
        case .binary(let bytes): sender.send(binary: bytes)
        default: break
        }
      }
      let pieces = random.pieces(of: sender.takeOutput(), most: 3000)
      #expect(pieces.flatMap { receiver.events(after: $0) } == messages)
    }
  }

  @Test func `random bytes never crash a connection and fail it at most once`() {
    var random = SeededGenerator(seed: 77)
    let firsts: [UInt8] = [0x81, 0xC1, 0x01, 0x41, 0x80, 0x00, 0x82, 0x88, 0x89, 0x8A]
    for round in 0..<2000 {
      let client = WebSocketConnection.client(
        deflate: round % 2 == 0 ? nil : PerMessageDeflate(),
        limits: WebSocketLimits(frame: 4096, message: 8192))
      var failures = 0
      for _ in 0..<6 {
        let length = random.below(21)
        let payload = (0..<length).map { _ in UInt8(random.below(256)) }
        for case .failed in client.events(after: [random.pick(firsts), UInt8(length)] + payload) {
          failures += 1
        }
      }
      #expect(failures <= 1)
    }
  }
}
