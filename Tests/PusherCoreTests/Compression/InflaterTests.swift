import PusherCore
import TestSupport
import Testing

extension Inflater {
  func inflate(_ bytes: [UInt8], into output: ByteBuffer, limit: Int) throws {
    try withView(bytes) { try inflate($0, into: output, limit: limit) }
  }
}

@Suite("Inflating messages (RFC 7692 sections 7.2.2 and 7.2.3)")
struct InflaterTests {
  private func message(
    _ inflater: Inflater, _ bytes: [UInt8], limit: Int = 1 << 20
  ) throws -> String {
    let output = ByteBuffer()
    try inflater.inflate(bytes, into: output, limit: limit)
    try inflater.finishMessage(into: output, limit: limit)
    return output.view.text
  }

  @Test func `a message in one block (7.2.3.1) inflates at every split point`() throws {
    let bytes = wire("f2 48 cd c9 c9 07 00")
    for split in 0...bytes.count {
      let inflater = Inflater(windowBits: 15)
      let output = ByteBuffer()
      try inflater.inflate([UInt8](bytes[..<split]), into: output, limit: 5)
      try inflater.inflate([UInt8](bytes[split...]), into: output, limit: 5)
      try inflater.finishMessage(into: output, limit: 5)
      #expect(output.view.text == "Hello")
    }
  }

  @Test(arguments: 8...15)
  func `a second message refers back to the first (7.2.3.2)`(windowBits: Int) throws {
    let inflater = Inflater(windowBits: windowBits)
    #expect(try message(inflater, wire("f2 48 cd c9 c9 07 00")) == "Hello")
    #expect(try message(inflater, wire("f2 00 11 00 00")) == "Hello")
  }

  @Test func `after a reset nothing may be referred back to`() throws {
    let inflater = Inflater(windowBits: 15)
    #expect(try message(inflater, wire("f2 48 cd c9 c9 07 00")) == "Hello")
    inflater.reset()
    #expect(throws: Inflater.Failure.invalidData) {
      try message(inflater, wire("f2 00 11 00 00"))
    }
  }

  @Test func `a stored block (7.2.3.3) inflates`() throws {
    let inflater = Inflater(windowBits: 15)
    #expect(try message(inflater, wire("00 05 00 fa ff 48 65 6c 6c 6f 00")) == "Hello")
  }

  @Test func `a final block (7.2.3.4) ends neither the message nor the window`() throws {
    let inflater = Inflater(windowBits: 15)
    #expect(try message(inflater, wire("f3 48 cd c9 c9 07 00 00")) == "Hello")
    #expect(try message(inflater, wire("f2 00 11 00 00")) == "Hello")
  }

  @Test func `two blocks (7.2.3.5) make one message`() throws {
    let inflater = Inflater(windowBits: 15)
    #expect(try message(inflater, wire("f2 48 05 00 00 00 ff ff ca c9 c9 07 00")) == "Hello")
  }

  @Test func `an empty message (7.2.3.6) is one zero byte`() throws {
    let inflater = Inflater(windowBits: 15)
    #expect(try message(inflater, wire("00")) == "")
    #expect(try message(inflater, wire("f2 48 cd c9 c9 07 00")) == "Hello")
  }

  @Test func `a message that ends inside a block is refused`() {
    for bytes in [[], wire("f2 48 cd"), wire("00 06 00 f9 ff 48"), wire("f2 48 cd c9 c9 07")] {
      #expect(throws: Inflater.Failure.invalidData) {
        try message(Inflater(windowBits: 15), bytes)
      }
    }
  }

  @Test func `bytes that are no DEFLATE data are refused`() {
    #expect(throws: Inflater.Failure.invalidData) {
      try message(Inflater(windowBits: 15), wire("ff ff ff"))
    }
  }

  @Test func `the limit may be reached and not passed`() throws {
    let hello = wire("f2 48 cd c9 c9 07 00")
    #expect(try message(Inflater(windowBits: 15), hello, limit: 5) == "Hello")
    #expect(throws: Inflater.Failure.outputLimit(4)) {
      try message(Inflater(windowBits: 15), hello, limit: 4)
    }
  }

  @Test func `a bomb is refused with little memory`() {
    let bomb = ByteBuffer()
    [UInt8](repeating: 0, count: 64 << 20).withUnsafeBytes {
      Deflater(windowBits: 15).deflate($0, into: bomb)
    }
    #expect(bomb.count < 100_000)
    let output = ByteBuffer()
    #expect(throws: Inflater.Failure.outputLimit(1 << 20)) {
      try Inflater(windowBits: 15).inflate(bomb.array, into: output, limit: 1 << 20)
    }
    #expect(output.count == 1 << 20)
    #expect(output.capacity <= 4 << 20)
  }
}
