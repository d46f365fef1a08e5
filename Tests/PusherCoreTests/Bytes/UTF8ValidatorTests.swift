import PusherCore
import TestSupport
import Testing

struct `UTF-8 validation (RFC 3629 section 4)` {
  private static let valid = [
    "", "plain", "κόσμε", "日本語", "𝄞 clef",
    "\u{0}\u{7F}\u{80}\u{7FF}\u{800}\u{FFFF}\u{10000}\u{10FFFF}",
    String(repeating: "a", count: 70) + "é" + String(repeating: "b", count: 70),
  ]

  /// Bytes, and the number of leading bytes that could still become valid text.
  private static let invalid: [(hex: String, good: Int)] = [
    ("80", 0), ("61 BF", 1), ("C0 AF", 0), ("C1 BF", 0), ("F5 80 80 80", 0), ("FF", 0),
    ("E0 9F BF", 1), ("ED A0 80", 1), ("F0 8F BF BF", 1), ("F4 90 80 80", 1), ("C3 28", 1),
    ("E2 82 28", 2), ("F0 9F 98 41", 3), ("CE BA E1 BD B9 CF 83 CE BC CE B5 ED A0 80 65 64", 12),
  ]

  private func feed(_ validator: inout UTF8Validator, _ bytes: ArraySlice<UInt8>) -> Bool {
    withView([UInt8](bytes)) { validator.feed($0) }
  }

  @Test func `valid text is accepted whole and at every split point`() {
    for text in Self.valid {
      let bytes = [UInt8](text.utf8)
      #expect(withView(bytes, UTF8Validator.isValid))
      for split in 0...bytes.count {
        var validator = UTF8Validator()
        #expect(feed(&validator, bytes[..<split]) && feed(&validator, bytes[split...]))
        #expect(validator.isComplete)
      }
    }
  }

  @Test func `text is refused at the first byte that nothing can save`() {
    for (hex, good) in Self.invalid {
      let bytes = wire(hex)
      #expect(!withView(bytes, UTF8Validator.isValid), "\(hex)")
      for length in 0...bytes.count {
        var validator = UTF8Validator()
        let accepted = feed(&validator, bytes[..<length])
        #expect(accepted == (length <= good), "\(hex) cut to \(length)")
      }
      var validator = UTF8Validator()
      let accepted = bytes.prefix { feed(&validator, [$0]) }.count
      #expect(accepted == good, "\(hex) byte by byte")
    }
  }

  @Test func `text that ends inside a character is not complete`() {
    for hex in ["C3", "E2 82", "F0 9F 98", "61 62 63 F4"] {
      var validator = UTF8Validator()
      #expect(feed(&validator, wire(hex)[...]) && !validator.isComplete)
      #expect(!withView(wire(hex), UTF8Validator.isValid))
    }
  }

  @Test func `a byte that is not UTF-8 is refused at any place of a long text`() {
    for count in [63, 64, 65, 127, 128, 129, 200] {
      let plain = [UInt8](repeating: 0x61, count: count)
      #expect(withView(plain, UTF8Validator.isValid))
      for place in 0..<count {
        var broken = plain
        broken[place] = 0xFF
        #expect(!withView(broken, UTF8Validator.isValid), "\(place) of \(count)")
        guard place + 1 < count else { continue }
        (broken[place], broken[place + 1]) = (0xC3, 0xA9)
        #expect(withView(broken, UTF8Validator.isValid), "\(place) of \(count)")
      }
    }
  }
}
