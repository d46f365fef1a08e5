import PusherCore
import TestSupport
import Testing

@Suite("Deflating messages (RFC 7692 section 7.2.1)")
struct DeflaterTests {
  private func deflated(_ deflater: Deflater, _ message: [UInt8]) -> [UInt8] {
    let output = ByteBuffer()
    message.withUnsafeBytes { deflater.deflate($0, into: output) }
    return output.array
  }

  @Test func `the vectors of section 7.2.3 are written`() {
    let deflater = Deflater(windowBits: 15)
    let hello = [UInt8]("Hello".utf8)
    #expect(deflated(deflater, hello) == wire("f2 48 cd c9 c9 07 00"))
    #expect(deflated(deflater, hello) == wire("f2 00 11 00 00"))
    deflater.reset()
    #expect(deflated(deflater, hello) == wire("f2 48 cd c9 c9 07 00"))
  }

  @Test func `empty messages are one zero byte each, again and again`() {
    let deflater = Deflater(windowBits: 15)
    for _ in 0..<3 { #expect(deflated(deflater, []) == [0]) }
  }

  @Test(arguments: 9...15)
  func `what one window writes an equal window reads`(windowBits: Int) throws {
    var random = SeededGenerator(seed: UInt64(windowBits))
    let deflater = Deflater(windowBits: windowBits)
    let inflater = Inflater(windowBits: windowBits)
    for round in 0..<60 {
      let letters = UInt8(1 + round % 40)
      let message = (0..<Int.random(in: 0...3000, using: &random)).map { _ in
        UInt8.random(in: 0...letters, using: &random)
      }
      let output = ByteBuffer()
      for byte in deflated(deflater, message) {
        try inflater.inflate([byte], into: output, limit: 3000)
      }
      try inflater.finishMessage(into: output, limit: 3000)
      #expect(output.array == message)
    }
  }
}
