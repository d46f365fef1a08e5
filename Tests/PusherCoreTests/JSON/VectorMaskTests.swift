import CSystemVectors
import Testing

/// The plain functions; `Tests/VectorForms` compares the others with them.
struct VectorMaskTests {
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
    #expect(pusher_plain_brackets_32(bytes) == 0b100_0000_0010)
    #expect(pusher_plain_has_high_64(bytes) == 1)
    bytes.replaceSubrange(20..<24, with: [0x0A, 0x0B, 0x0D, 0x0E])
    #expect(pusher_plain_line_ends_32(bytes) == 0b101 << 20)
    bytes[63] = 0x7F
    #expect(pusher_plain_has_high_64(bytes) == 0)
  }
}
