import PusherCore
import TestSupport
import Testing

@Suite("permessage-deflate (RFC 7692)")
struct PerMessageDeflateTests {
  @Test(arguments: [
    ("permessage-deflate", PerMessageDeflate()),
    (
      "permessage-deflate; server_no_context_takeover; client_no_context_takeover",
      PerMessageDeflate(serverNoContextTakeover: true, clientNoContextTakeover: true)
    ),
    (
      "permessage-deflate;server_max_window_bits=8 ; client_max_window_bits=\"9\"",
      PerMessageDeflate(serverMaxWindowBits: 8, clientMaxWindowBits: 9)
    ),
  ])
  func `a legal answer fixes the parameters`(
    answer: String, expected: PerMessageDeflate
  ) throws {
    #expect(try PerMessageDeflate.accept([answer]) == expected)
  }

  @Test func `no extension is an answer too`() throws {
    #expect(try PerMessageDeflate.accept([]) == nil)
    #expect(try PerMessageDeflate.accept([""]) == nil)
  }

  @Test(arguments: [
    "x-webkit-deflate-frame", "permessage-deflate, permessage-deflate",
    "permessage-deflate; unknown", "permessage-deflate; server_no_context_takeover=1",
    "permessage-deflate; client_no_context_takeover=true",
    "permessage-deflate; server_no_context_takeover; server_no_context_takeover",
    "permessage-deflate; server_max_window_bits", "permessage-deflate; client_max_window_bits",
    "permessage-deflate; server_max_window_bits=7", "permessage-deflate; server_max_window_bits=16",
    "permessage-deflate; server_max_window_bits=08",
    "permessage-deflate; client_max_window_bits=+9",
    "permessage-deflate;", "permessage-deflate; =8", "permessage deflate",
    "permessage-deflate; a=\"",
    "PERMESSAGE-DEFLATE",
  ])
  func `an answer that RFC 7692 section 7.1 forbids is refused`(answer: String) {
    #expect(throws: HandshakeError.self) { try PerMessageDeflate.accept([answer]) }
  }

  @Test(arguments: [
    ("permessage-deflate; client_max_window_bits", "permessage-deflate"),
    (
      "permessage-deflate; client_max_window_bits=8",
      "permessage-deflate; client_max_window_bits=8"
    ),
    (
      "permessage-deflate; server_no_context_takeover; server_max_window_bits=10",
      "permessage-deflate; server_no_context_takeover; server_max_window_bits=10"
    ),
    (
      "permessage-deflate; server_max_window_bits=8, permessage-deflate",
      "permessage-deflate"
    ),
    (
      "foo, permessage-deflate; x, permessage-deflate; server_max_window_bits=15",
      "permessage-deflate; server_max_window_bits=15"
    ),
  ])
  func `a server takes the first offer that it can keep`(offer: String, answer: String) throws {
    let chosen = try #require(PerMessageDeflate.choose(from: [offer]))
    #expect(chosen.answer == answer)
    #expect(try PerMessageDeflate.accept([answer]) == chosen.parameters)
  }

  @Test(arguments: [
    "", "foo", "permessage-deflate; server_max_window_bits=8", "permessage-deflate; x",
  ])
  func `a server declines what it cannot keep`(offer: String) {
    #expect(PerMessageDeflate.choose(from: [offer]) == nil)
  }

  @Test func `the message of section 7.2.3.1 arrives in one frame, in two, and around a ping`() {
    let payload = wire("f2 48 cd c9 c9 07 00")
    let client = WebSocketConnection.client(deflate: PerMessageDeflate())
    #expect(client.events(after: wire("c1 07") + payload) == [.text("Hello")])
    let fragments = wire("41 03 f2 48 cd 89 00 80 04 c9 c9 07 00")
    let other = WebSocketConnection.client(deflate: PerMessageDeflate())
    #expect(other.events(after: fragments) == [.ping([]), .text("Hello")])
    #expect(other.events(after: wire("c1 05 f2 00 11 00 00")) == [.text("Hello")])
    #expect(other.events(after: textFrame("plain too")) == [.text("plain too")])
  }

  @Test func `without takeover each message stands alone`() {
    let parameters = PerMessageDeflate(serverNoContextTakeover: true)
    let client = WebSocketConnection.client(deflate: parameters)
    #expect(client.events(after: wire("c1 07 f2 48 cd c9 c9 07 00")) == [.text("Hello")])
    #expect(
      client.events(after: wire("c1 05 f2 00 11 00 00")) == [.failed(.invalidCompressedData)])
  }

  @Test(arguments: [
    ("c9 00", WebSocketError.reservedBits), ("41 01 f2 c0 00", .reservedBits),
    ("c1 00", .invalidCompressedData), ("c1 03 ff ff ff", .invalidCompressedData),
    ("c1 07 f2 48 cd", nil),
  ])
  func `the compressed bit belongs to first frames of messages`(
    hex: String, error: WebSocketError?
  ) {
    let client = WebSocketConnection.client(deflate: PerMessageDeflate())
    #expect(client.events(after: wire(hex)) == (error.map { [.failed($0)] } ?? []))
  }

  @Test func `bad UTF-8 inside a compressed message fails before its end`() {
    let output = ByteBuffer()
    ([0x61, 0xFF] + [UInt8](repeating: 0x62, count: 5)).withUnsafeBytes {
      Deflater(windowBits: 15).deflate($0, into: output)
    }
    let client = WebSocketConnection.client(deflate: PerMessageDeflate())
    #expect(
      client.events(after: frame(.text, output.array, isFinal: false, isCompressed: true))
        == [.failed(.invalidUTF8)])
  }

  /// The buffer grows in steps, and a message may end exactly at a step.
  @Test(arguments: [16_384, 65_536, 81_920, 131_072, 262_144], [false, true])
  func `a message that just fills the buffer comes out whole`(size: Int, isRandom: Bool) {
    var random = SeededGenerator(seed: 95)
    for length in [size - 1, size, size + 1] {
      let content = (0..<length).map { _ in isRandom ? UInt8(random.below(256)) : 0x61 }
      let output = ByteBuffer()
      content.withUnsafeBytes { Deflater(windowBits: 15).deflate($0, into: output) }
      let bytes = frame(.binary, output.array, isCompressed: true)
      let whole = WebSocketConnection.client(deflate: PerMessageDeflate())
      #expect(whole.events(after: bytes) == [.binary(content)])
      let cut = WebSocketConnection.client(deflate: PerMessageDeflate())
      #expect(cut.events(after: Array(bytes.dropLast())).isEmpty)
      #expect(cut.events(after: [bytes[bytes.count - 1]]) == [.binary(content)])
    }
  }

  /// One call inflates a whole message; several calls inflate its pieces.
  @Test(arguments: [UInt64(91), 92, 93])
  func `a damaged compressed message is judged alike whole and byte by byte`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let output = ByteBuffer()
    Array("the rest stands, é中😀, the rest stands until the close".utf8).withUnsafeBytes {
      Deflater(windowBits: 15).deflate($0, into: output)
    }
    var failures: Set<String> = []
    for round in 0..<3000 {
      var payload = output.array
      for _ in 0...random.below(3) {
        payload[random.below(payload.count)] = UInt8(random.below(256))
      }
      if round % 2 == 0 { payload.removeLast(random.below(payload.count)) }
      // A valid message first gives both the same window.
      let bytes =
        frame(.text, output.array, isCompressed: true) + frame(.text, payload, isCompressed: true)
      let whole = WebSocketConnection.client(deflate: PerMessageDeflate())
      let cut = WebSocketConnection.client(deflate: PerMessageDeflate())
      let events = whole.events(after: bytes)
      #expect(bytes.flatMap { cut.events(after: [$0]) } == events, "\(payload)")
      if case .failed(let error)? = events.last { failures.insert("\(error)") }
    }
    // Both kinds must occur, or the test would prove little.
    #expect(failures.count == 2)
  }

  @Test func `a side held to a window of 256 bytes sends uncompressed`() {
    let client = WebSocketConnection.client(
      deflate: PerMessageDeflate(clientMaxWindowBits: 8))
    client.send(text: "Hello")
    #expect(client.takeOutput() == wire("81 85 37 fa 21 3d 7f 9f 4d 51 58"))
  }
}
