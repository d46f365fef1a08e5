import PusherCore
import TestSupport
import Testing

@Suite("Random conversations between a client and a server")
struct RoundTripTests {
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
    let length = [0, 5, 125, 126, 700, 5000].randomElement(using: &random) ?? 0
    let letters = ["a", "b", "é", "語", "𝄞", "\u{0}"]
    guard Bool.random(using: &random) else {
      return .binary((0..<length).map { _ in UInt8.random(in: 0...20, using: &random) })
    }
    return .text((0..<length).map { _ in letters.randomElement(using: &random) ?? "" }.joined())
  }

  private func deliver(
    from sender: WebSocketConnection, to receiver: WebSocketConnection,
    using random: inout SeededGenerator
  ) -> [ReceivedEvent] {
    var rest = sender.takeOutput()[...]
    var events: [ReceivedEvent] = []
    while !rest.isEmpty {
      let count = Int.random(in: 1...max(1, min(rest.count, 3000)), using: &random)
      events += receiver.events(after: [UInt8](rest.prefix(count)))
      rest = rest.dropFirst(count)
    }
    return events
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
      let messages = (0..<Int.random(in: 1...4, using: &random)).map { _ in
        message(using: &random)
      }
      for message in messages {
        switch message {
        case .text(let text): sender.send(text: text)
        case .binary(let bytes): sender.send(binary: bytes)
        default: break
        }
      }
      #expect(deliver(from: sender, to: receiver, using: &random) == messages)
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
        let length = Int.random(in: 0...20, using: &random)
        var bytes = [firsts.randomElement(using: &random) ?? 0x81, UInt8(length)]
        bytes += (0..<length).map { _ in UInt8.random(in: 0...255, using: &random) }
        for event in client.events(after: bytes) {
          if case .failed = event { failures += 1 }
        }
      }
      #expect(failures <= 1)
    }
  }
}
