import PusherCore
import TestSupport
import Testing

@Suite("Encoding whole bodies (RFC 9110 section 8.4.1.3)")
struct ContentEncoderTests {
  @Test(arguments: [0, 1, 2, 1000, 65_535, 300_000])
  func `what is written as gzip is read back`(count: Int) throws {
    var random = SeededGenerator(seed: UInt64(count))
    let body = (0..<count).map { $0 % 3 == 0 ? UInt8.random(in: 0...255, using: &random) : 0x61 }
    let encoded = ContentEncoder.gzip(body)
    #expect(encoded.starts(with: wire("1f 8b 08")), "RFC 1952 section 2.3.1")
    let decoder = try #require(ContentDecoder(coding: "gzip"))
    let (input, output) = (ByteBuffer(), ByteBuffer())
    input.append(encoded)
    while try decoder.decode(from: input, into: output, atMost: 1 << 20) {}
    #expect(output.array == body)
  }
}
