import PusherCore
import TestSupport
import Testing

extension Deflater {
  func deflated(_ message: [UInt8]) -> [UInt8] {
    let output = ByteBuffer()
    message.withUnsafeBytes { deflate($0, into: output) }
    return output.array
  }

  static func zeros(megabytes: Int) -> [UInt8] {
    Deflater(windowBits: 15).deflated([UInt8](repeating: 0, count: megabytes << 20))
  }
}

struct `Deflating messages (RFC 7692 section 7.2.1)` {
  @Test func `the vectors of section 7.2.3 are written`() {
    let deflater = Deflater(windowBits: 15)
    let hello = [UInt8]("Hello".utf8)
    #expect(deflater.deflated(hello) == wire("f2 48 cd c9 c9 07 00"))
    #expect(deflater.deflated(hello) == wire("f2 00 11 00 00"))
    deflater.reset()
    #expect(deflater.deflated(hello) == wire("f2 48 cd c9 c9 07 00"))
    // Empty messages are one zero byte each, again and again.
    let other = Deflater(windowBits: 15)
    for _ in 0..<3 { #expect(other.deflated([]) == [0]) }
  }

  @Test(arguments: 9...15)
  func `what one window writes an equal window reads`(windowBits: Int) throws {
    var random = SeededGenerator(seed: UInt64(windowBits))
    let deflater = Deflater(windowBits: windowBits)
    let inflater = Inflater(windowBits: windowBits)
    for round in 0..<60 {
      let letters = Array(0...UInt8(1 + round % 40))
      let message = random.some(letters, most: 3000)
      let output = ByteBuffer()
      for byte in deflater.deflated(message) {
        try inflater.inflate([byte], into: output, limit: 3000)
      }
      try inflater.finishMessage(into: output, limit: 3000)
      #expect(output.array == message)
    }
  }
}
