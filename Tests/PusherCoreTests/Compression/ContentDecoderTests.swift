import PusherCore
import TestSupport
import Testing

@Suite("Content codings (RFC 9110 section 8.4.1)")
struct ContentDecoderTests {
  private static let text = "data: hello\n\n"
  private static let gzip = wire(
    "1f8b0800000000000203 4b492c49b452c848cdc9c9e7e20200 1d739dd4 0d000000")

  private func decode(
    _ coding: String, _ bytes: [UInt8], step: Int = .max, atMost: Int = 1 << 16
  ) throws -> [UInt8] {
    let decoder = try #require(ContentDecoder(coding: coding))
    let input = ByteBuffer()
    let output = ByteBuffer()
    var rest = bytes[...]
    while !rest.isEmpty {
      input.append(Array(rest.prefix(step)))
      rest = rest.dropFirst(step)
      while try decoder.decode(from: input, into: output, atMost: atMost) {}
    }
    return output.array
  }

  private static func stored(_ text: String) -> [UInt8] {
    let bytes = Array(text.utf8)
    let length = UInt16(bytes.count)
    let sizes = [length, ~length].flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] }
    return [1] + sizes + bytes
  }

  private static func zlib(_ text: String) -> [UInt8] {
    var low: UInt32 = 1
    var high: UInt32 = 0
    for byte in text.utf8 {
      low = (low + UInt32(byte)) % 65_521
      high = (high + low) % 65_521
    }
    let sum = high << 16 | low
    return [0x78, 0x01] + stored(text)
      + [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: sum >> $0) }
  }

  @Test func `deflate is understood with and without its wrapping, at every step`() throws {
    for bytes in [Self.zlib(Self.text), Self.stored(Self.text)] {
      for step in 1...bytes.count {
        #expect(try decode("deflate", bytes, step: step) == Array(Self.text.utf8))
        #expect(try decode("deflate", bytes, step: step, atMost: 1) == Array(Self.text.utf8))
      }
    }
  }

  @Test func `gzip is understood at every step, also in several members`() throws {
    for step in 1...Self.gzip.count {
      #expect(try decode("gzip", Self.gzip, step: step) == Array(Self.text.utf8))
      let twice = try decode("x-gzip", Self.gzip + Self.gzip, step: step, atMost: 3)
      #expect(twice == Array((Self.text + Self.text).utf8))
    }
  }

  @Test func `what is no gzip, or broken deflate, is refused`() {
    #expect(throws: ContentDecoder.InvalidData.self) {
      try decode("gzip", Array(Self.text.utf8))
    }
    #expect(throws: ContentDecoder.InvalidData.self) { try decode("deflate", [0x07, 0xFF, 0xFF]) }
    #expect(throws: ContentDecoder.InvalidData.self) {
      try decode("deflate", Self.zlib(Self.text) + [0])
    }
  }

  @Test func `other codings are not known`() {
    for coding in ["br", "zstd", "compress", ""] { #expect(ContentDecoder(coding: coding) == nil) }
  }

  @Test func `a bomb gives no more at a time than was asked for`() throws {
    let bomb = try Deflated.zeros(megabytes: 8)
    #expect(bomb.count < 16_384)
    let decoder = try #require(ContentDecoder(coding: "deflate"))
    let input = buffer(bomb)
    let output = ByteBuffer()
    var total = 0
    while try decoder.decode(from: input, into: output, atMost: 65_536) {
      #expect(output.count <= 131_072)
      total += output.count
      output.removeAll()
    }
    #expect(total == 8 << 20)
  }
}

private enum Deflated {
  static func zeros(megabytes: Int) throws -> [UInt8] {
    let deflater = Deflater(windowBits: 15)
    let output = ByteBuffer()
    withView([UInt8](repeating: 0, count: megabytes << 20)) {
      deflater.deflate($0.raw, into: output)
    }
    return output.array
  }
}
