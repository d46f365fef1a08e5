import PusherCore
import TestSupport
import Testing

struct `Frames (RFC 6455 sections 5.2 to 5.7)` {
  private func decode(_ bytes: [UInt8]) throws -> FrameHeader? {
    try withView(bytes) { try FrameHeader.decode($0) }
  }

  private static let hello = [UInt8]("Hello".utf8)

  @Test(
    arguments: [
      ("81 05 48 65 6c 6c 6f", .text, true, nil, hello, 2),
      ("81 85 37 fa 21 3d 7f 9f 4d 51 58", .text, true, 0x37FA_213D, hello, 6),
      ("01 03 48 65 6c", .text, false, nil, Array("Hel".utf8), 2),
      ("80 02 6c 6f", .continuation, true, nil, Array("lo".utf8), 2),
      ("89 05 48 65 6c 6c 6f", .ping, true, nil, hello, 2),
      ("8a 85 37 fa 21 3d 7f 9f 4d 51 58", .pong, true, 0x37FA_213D, hello, 6),
      ("82 7E 01 00", .binary, true, nil, [UInt8](repeating: 0, count: 256), 4),
      (
        "82 7F 00 00 00 00 00 01 00 00", .binary, true, nil, [UInt8](repeating: 0, count: 65_536),
        10
      ),
    ] as [(String, Opcode, Bool, UInt32?, [UInt8], Int)])
  func `the examples of section 5.7 are decoded and encoded`(
    hex: String, opcode: Opcode, isFinal: Bool, mask: UInt32?, payload: [UInt8], size: Int
  ) throws {
    let header = try #require(try decode(wire(hex)))
    #expect(header.opcode == opcode && header.isFinal == isFinal && header.mask == mask)
    #expect(header.length == payload.count && header.size == size)
    let bytes = frame(opcode, payload, isFinal: isFinal, mask: mask)
    #expect(bytes.starts(with: wire(hex)) && bytes.count == size + payload.count)
  }

  @Test(arguments: [0, 1, 125, 126, 127, 65_535, 65_536])
  func `lengths take their shortest form and come back`(length: Int) throws {
    for mask in [nil, UInt32(0x0102_0304)] {
      let bytes = frame(.binary, [UInt8](repeating: 7, count: length), mask: mask)
      let header = try #require(try decode(bytes))
      let lengthSize = length <= 125 ? 0 : length <= 65_535 ? 2 : 8
      #expect(header.size == 2 + lengthSize + (mask == nil ? 0 : 4))
      #expect(header.length == length && header.mask == mask)
      #expect(bytes.count == header.size + length)
      for cut in 0..<header.size { #expect(try decode([UInt8](bytes[..<cut])) == nil) }
    }
  }

  @Test(arguments: [
    ("a1 00", WebSocketError.reservedBits), ("91 00", .reservedBits), ("c9 00", .reservedBits),
    ("83 00", .unknownOpcode(3)), ("87 00", .unknownOpcode(7)), ("8b 00", .unknownOpcode(11)),
    ("8f 00", .unknownOpcode(15)), ("09 00", .fragmentedControlFrame),
    ("08 00", .fragmentedControlFrame), ("89 7e", .controlFrameTooLong),
    ("88 ff", .controlFrameTooLong), ("81 7e 00 7d", .lengthNotMinimal),
    ("81 fe 00 7d", .lengthNotMinimal), ("81 7f 00 00 00 00 00 00 ff ff", .lengthNotMinimal),
    ("81 7f 80 00 00 00 00 00 00 00", .lengthOutOfRange),
    ("81 ff ff ff ff ff ff ff ff ff", .lengthOutOfRange),
  ])
  func `a header that breaks the protocol is refused at once`(hex: String, error: WebSocketError) {
    #expect(throws: error) { try decode(wire(hex)) }
  }

  @Test func `masking in words equals masking byte by byte at every offset and length`() {
    let mask: UInt32 = 0x11_22_A3_F4
    let key = wire("11 22 a3 f4")
    for offset in 0..<9 {
      for length in 0..<40 {
        let payload = (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ 3) }
        let masked = buffer(payload)
        FrameEncoder.apply(mask, to: masked.view, offset: offset)
        #expect(masked.array == payload.indices.map { payload[$0] ^ key[(offset + $0) % 4] })
      }
    }
  }
}
