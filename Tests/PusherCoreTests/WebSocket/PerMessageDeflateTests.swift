import PusherCore
import TestSupport
import Testing

struct `permessage-deflate (RFC 7692)` {
  /// The extension with these parameters.
  private static func named(_ parameters: String) -> String {
    parameters.isEmpty ? "permessage-deflate" : "permessage-deflate; \(parameters)"
  }

  @Test(
    arguments: [
      ("permessage-deflate", PerMessageDeflate()), ("", nil), (nil, nil),
      (
        "permessage-deflate; server_no_context_takeover; client_no_context_takeover",
        PerMessageDeflate(serverNoContextTakeover: true, clientNoContextTakeover: true)
      ),
      (
        "permessage-deflate;server_max_window_bits=8 ; client_max_window_bits=\"9\"",
        PerMessageDeflate(serverMaxWindowBits: 8, clientMaxWindowBits: 9)
      ),
    ] as [(String?, PerMessageDeflate?)])
  func `a legal answer fixes the parameters`(answer: String?, expected: PerMessageDeflate?) throws {
    #expect(try PerMessageDeflate.accept(answer.map { [$0] } ?? []) == expected)
  }

  @Test(
    arguments: [
      "unknown", "server_no_context_takeover=1", "client_no_context_takeover=true",
      "server_no_context_takeover; server_no_context_takeover", "server_max_window_bits",
      "client_max_window_bits", "server_max_window_bits=7", "server_max_window_bits=16",
      "server_max_window_bits=08", "client_max_window_bits=+9", "=8", "a=\"",
    ].map(named) + [
      "x-webkit-deflate-frame", "permessage-deflate, permessage-deflate", "permessage-deflate;",
      "permessage deflate", "PERMESSAGE-DEFLATE",
    ])
  func `an answer that RFC 7692 section 7.1 forbids is refused`(answer: String) {
    #expect(throws: HandshakeError.self) { try PerMessageDeflate.accept([answer]) }
  }

  @Test(
    arguments: [
      (named("client_max_window_bits"), ""),
      (named("client_max_window_bits=8"), "client_max_window_bits=8"),
      (
        named("server_no_context_takeover; server_max_window_bits=10"),
        "server_no_context_takeover; server_max_window_bits=10"
      ),
      (named("server_max_window_bits=8, permessage-deflate"), ""),
      ("foo, \(named("x")), \(named("server_max_window_bits=15"))", "server_max_window_bits=15"),
      ("", nil), ("foo", nil), (named("server_max_window_bits=8"), nil), (named("x"), nil),
    ] as [(String, String?)])
  func `a server takes the first offer that it can keep`(offer: String, answer: String?) throws {
    let chosen = PerMessageDeflate.choose(from: [offer])
    #expect(chosen?.answer == answer.map(Self.named))
    guard let chosen else { return }
    #expect(try PerMessageDeflate.accept([chosen.answer]) == chosen.parameters)
  }

  private func client(_ deflate: PerMessageDeflate = PerMessageDeflate()) -> WebSocketConnection {
    .client(deflate: deflate)
  }

  private func deflated(_ bytes: [UInt8]) -> [UInt8] { Deflater(windowBits: 15).deflated(bytes) }

  @Test func `the message of section 7.2.3.1 arrives in one frame, in two, and around a ping`() {
    let payload = wire("f2 48 cd c9 c9 07 00")
    #expect(client().events(after: wire("c1 07") + payload) == [.text("Hello")])
    let fragments = wire("41 03 f2 48 cd 89 00 80 04 c9 c9 07 00")
    let other = client()
    #expect(other.events(after: fragments) == [.ping([]), .text("Hello")])
    #expect(other.events(after: wire("c1 05 f2 00 11 00 00")) == [.text("Hello")])
    #expect(other.events(after: textFrame("plain too")) == [.text("plain too")])
  }

  @Test func `without context takeover each message is inflated alone`() {
    let client = client(PerMessageDeflate(serverNoContextTakeover: true))
    #expect(client.events(after: wire("c1 07 f2 48 cd c9 c9 07 00")) == [.text("Hello")])
    #expect(client.events(after: wire("c1 05 f2 00 11 00 00")) == [.failed(.invalidCompressedData)])
  }

  @Test(arguments: [
    ("c9 00", WebSocketError.reservedBits), ("41 01 f2 c0 00", .reservedBits),
    ("c1 00", .invalidCompressedData), ("c1 03 ff ff ff", .invalidCompressedData),
    ("c1 07 f2 48 cd", nil),
  ])
  func `the compressed bit is for a message's first frame`(hex: String, error: WebSocketError?) {
    #expect(client().events(after: wire(hex)) == (error.map { [.failed($0)] } ?? []))
  }

  @Test func `bad UTF-8 inside a compressed message fails before its end`() {
    let payload = deflated([0x61, 0xFF] + [UInt8](repeating: 0x62, count: 5))
    let bytes = frame(.text, payload, isFinal: false, isCompressed: true)
    #expect(client().events(after: bytes) == [.failed(.invalidUTF8)])
  }

  /// The buffer grows in steps, and a message may end exactly at a step.
  @Test(arguments: [16_384, 65_536, 81_920, 131_072, 262_144], [false, true])
  func `a message that just fills the buffer comes out whole`(size: Int, isRandom: Bool) {
    var random = SeededGenerator(seed: 95)
    for length in [size - 1, size, size + 1] {
      let content = (0..<length).map { _ in isRandom ? UInt8(random.below(256)) : 0x61 }
      let bytes = frame(.binary, deflated(content), isCompressed: true)
      #expect(client().events(after: bytes) == [.binary(content)])
      let cut = client()
      #expect(cut.events(after: Array(bytes.dropLast())).isEmpty)
      #expect(cut.events(after: [bytes[bytes.count - 1]]) == [.binary(content)])
    }
  }

  @Test func `a side held to a window of 256 bytes sends uncompressed`() {
    let client = client(PerMessageDeflate(clientMaxWindowBits: 8))
    client.send(text: "Hello")
    #expect(client.takeOutput() == wire("81 85 37 fa 21 3d 7f 9f 4d 51 58"))
  }
}
