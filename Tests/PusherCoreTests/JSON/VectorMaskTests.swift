import CSystemVectors
import TestSupport
import Testing

/// The vector masks equal the scalar masks.
@Suite struct VectorMaskTests {
  private func check(_ bytes: [UInt8], sourceLocation: SourceLocation = #_sourceLocation) {
    bytes.withUnsafeBufferPointer { block in
      guard let first = block.baseAddress else { return }
      let ends = pusher_plain_string_ends_32(first)
      let isRight =
        pusher_string_ends_32(first) == ends && pusher_string_ends_16(first) == ends & 0xFFFF
        && (pusher_has_string_end_64(first) != 0)
          == (ends | pusher_plain_string_ends_32(first + 32) != 0)
        && pusher_digits_16(first) == pusher_plain_digits_16(first)
        && pusher_differences_16(first, first + 16)
          == pusher_plain_differences_16(first, first + 16)
        && pusher_unprintable_32(first) == pusher_plain_unprintable_32(first)
        && pusher_matches_32(first, bytes[7]) == pusher_plain_matches_32(first, bytes[7])
        && pusher_line_ends_32(first) == pusher_plain_line_ends_32(first)
        && pusher_has_high_64(first) == pusher_plain_has_high_64(first)
      #expect(isRight, "\(bytes)", sourceLocation: sourceLocation)
    }
  }

  @Test(arguments: [UInt8(ascii: "x"), UInt8(ascii: "\""), UInt8(ascii: "5"), 0, 0xFF])
  func `every byte at every place is told from those around it`(around: UInt8) {
    for place in 0..<64 {
      for byte in UInt8.min...UInt8.max {
        var bytes = [UInt8](repeating: around, count: 64)
        bytes[place] = byte
        check(bytes)
      }
    }
  }

  @Test func `random bytes give the plain masks`() {
    var random = SeededGenerator(seed: 71)
    for round in 0..<20_000 {
      let limit = round & 1 == 0 ? 128 : 256
      check((0..<64).map { _ in UInt8(random.below(limit)) })
    }
  }

  @Test func `the plain masks tell what JSON says`() {
    var bytes = [UInt8](repeating: UInt8(ascii: " "), count: 64)
    for (place, byte) in zip(0..., Array("\"\\\u{1F}\0/09:! ]^#\u{7F}".utf8)) {
      bytes[place] = byte
    }
    bytes[31] = UInt8(ascii: "7")
    bytes[63] = 0x80
    #expect(pusher_plain_string_ends_32(bytes) == 0b1111)
    #expect(pusher_plain_digits_16(bytes) == 0b11 << 5)
    #expect(pusher_plain_differences_16(bytes, Array(bytes[16...])) == 0b1011_1101_1111_1111)
    #expect(pusher_plain_unprintable_32(bytes) == 0b10_0000_0000_1100)
    #expect(pusher_plain_matches_32(bytes, UInt8(ascii: "7")) == 1 << 31)
    #expect(pusher_plain_matches_32(bytes, UInt8(ascii: "\\")) == 0b10)
    #expect(pusher_plain_has_high_64(bytes) == 1)
    bytes.replaceSubrange(20..<24, with: [0x0A, 0x0B, 0x0D, 0x0E])
    #expect(pusher_plain_line_ends_32(bytes) == 0b101 << 20)
    bytes[63] = 0x7F
    #expect(pusher_plain_has_high_64(bytes) == 0)
  }
}
