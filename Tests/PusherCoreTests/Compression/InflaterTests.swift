import PusherCore
import TestSupport
import Testing

extension Inflater {
  func inflate(_ bytes: [UInt8], into output: ByteBuffer, limit: Int) throws {
    try withView(bytes) { try inflate($0, into: output, limit: limit) }
  }
}

struct `Inflating messages (RFC 7692 sections 7.2.2 and 7.2.3)` {
  private func message(_ inflater: Inflater, _ bytes: [UInt8], limit: Int = 1000) throws -> String {
    let output = ByteBuffer()
    try inflater.inflate(bytes, into: output, limit: limit)
    try inflater.finishMessage(into: output, limit: limit)
    return output.view.text
  }

  @Test func `a message in one block (7.2.3.1) inflates at every split point`() throws {
    let bytes = wire(Self.hello)
    for split in 0...bytes.count {
      let inflater = Inflater(windowBits: 15)
      let output = ByteBuffer()
      try inflater.inflate([UInt8](bytes[..<split]), into: output, limit: 5)
      try inflater.inflate([UInt8](bytes[split...]), into: output, limit: 5)
      try inflater.finishMessage(into: output, limit: 5)
      #expect(output.view.text == "Hello")
    }
  }

  private static let hello = "f2 48 cd c9 c9 07 00"
  private static let reference = "f2 00 11 00 00"

  @Test(arguments: 8...15)
  func `a second message refers to the first (7.2.3.2), until a reset`(windowBits: Int) throws {
    let inflater = Inflater(windowBits: windowBits)
    #expect(try message(inflater, wire(Self.hello)) == "Hello")
    #expect(try message(inflater, wire(Self.reference)) == "Hello")
    inflater.reset()
    #expect(throws: Inflater.Failure.invalidData) { try message(inflater, wire(Self.reference)) }
  }

  @Test(arguments: [
    // A stored block (7.2.3.3).
    ["00 05 00 fa ff 48 65 6c 6c 6f 00"],
    // A final block (7.2.3.4) ends neither the message nor the window.
    ["f3 48 cd c9 c9 07 00 00", reference],
    // Two blocks (7.2.3.5) make one message.
    ["f2 48 05 00 00 00 ff ff ca c9 c9 07 00"],
    // An empty message (7.2.3.6) is one zero byte.
    ["00", hello],
  ])
  func `blocks of each kind and empty messages inflate`(messages: [String]) throws {
    let inflater = Inflater(windowBits: 15)
    for hex in messages {
      #expect(try message(inflater, wire(hex)) == (hex == "00" ? "" : "Hello"))
    }
  }

  @Test(arguments: ["", "f2 48 cd", "00 06 00 f9 ff 48", "f2 48 cd c9 c9 07", "ff ff ff"])
  func `a message that ends inside a block, and what is no DEFLATE data, is refused`(hex: String) {
    #expect(throws: Inflater.Failure.invalidData) {
      try message(Inflater(windowBits: 15), wire(hex))
    }
  }

  @Test func `the limit may be reached and not passed`() throws {
    #expect(try message(Inflater(windowBits: 15), wire(Self.hello), limit: 5) == "Hello")
    #expect(throws: Inflater.Failure.outputLimit(4)) {
      try message(Inflater(windowBits: 15), wire(Self.hello), limit: 4)
    }
  }

  @Test func `a bomb is refused with little memory`() {
    let bomb = Deflater.zeros(megabytes: 64)
    #expect(bomb.count < 100_000)
    let output = ByteBuffer()
    #expect(throws: Inflater.Failure.outputLimit(1 << 20)) {
      try Inflater(windowBits: 15).inflate(bomb, into: output, limit: 1 << 20)
    }
    #expect(output.count == 1 << 20 && output.capacity <= 4 << 20)
  }
}
