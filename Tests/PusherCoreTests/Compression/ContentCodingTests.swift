import PusherCore
import TestSupport
import Testing

struct `Content codings (RFC 9110 section 8.4.1)` {
  private static let text = "data: hello\n\n"
  private static let gzip = wire(
    "1f8b0800000000000203 4b492c49b452c848cdc9c9e7e20200 1d739dd4 0d000000")

  private func decode(
    _ coding: String, _ bytes: [UInt8], step: Int = .max, atMost: Int = 1 << 16
  ) throws -> [UInt8] {
    let decoder = try #require(ContentDecoder(coding: coding))
    let (input, output) = (ByteBuffer(), ByteBuffer())
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
    let sum = [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: (high << 16 | low) >> $0) }
    return [0x78, 0x01] + stored(text) + sum
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

  @Test(arguments: [
    ("gzip", Array(text.utf8)), ("deflate", [0x07, 0xFF, 0xFF]), ("deflate", zlib(text) + [0]),
  ])
  func `what is no gzip, or broken deflate, is refused`(coding: String, bytes: [UInt8]) {
    #expect(throws: ContentDecoder.InvalidData.self) { try decode(coding, bytes) }
  }

  @Test(arguments: ["br", "zstd", "compress", ""])
  func `other content codings are not known`(coding: String) {
    #expect(ContentDecoder(coding: coding) == nil)
  }

  @Test func `a bomb gives no more at a time than was asked for`() throws {
    let bomb = Deflater.zeros(megabytes: 8)
    #expect(bomb.count < 16_384)
    let decoder = try #require(ContentDecoder(coding: "deflate"))
    let (input, output) = (buffer(bomb), ByteBuffer())
    var total = 0
    while try decoder.decode(from: input, into: output, atMost: 65_536) {
      #expect(output.count <= 131_072)
      total += output.count
      output.removeAll()
    }
    #expect(total == 8 << 20)
  }
}

struct `Encoding whole bodies (RFC 9110 section 8.4.1.3)` {
  @Test(arguments: [0, 1, 2, 1000, 65_535, 300_000])
  func `what is written as gzip is read back`(count: Int) throws {
    var random = SeededGenerator(seed: UInt64(count))
    let body = (0..<count).map { $0 % 3 == 0 ? UInt8(random.below(256)) : 0x61 }
    let encoded = ContentEncoder.gzip(body)
    #expect(encoded.starts(with: wire("1f 8b 08")), "RFC 1952 section 2.3.1")
    let decoder = try #require(ContentDecoder(coding: "gzip"))
    let (input, output) = (buffer(encoded), ByteBuffer())
    while try decoder.decode(from: input, into: output, atMost: 1 << 20) {}
    #expect(output.array == body)
  }
}
