/// Removes signatures and channel keys from text that is shown.
///
/// One pass over the bytes, since a peer may have written the text.
package enum Redaction {
  /// A run of hexadecimal digits of this length is a signature (HMAC-SHA256).
  private static let signatureLength = 64
  private static let ellipsis = Array("…".utf8)

  /// The text before a hidden value: as a member of the message, and inside a JSON string.
  private static let openings = ["auth", "shared_secret"].flatMap { name in
    ["\"\(name)\":\"", "\\\"\(name)\\\":\\\""].map { Array($0.utf8) }
  }

  /// Replaces each signature, and each value of `auth` and `shared_secret`, by `…`.
  package static func redact(_ message: String) -> String {
    let bytes = Array(message.utf8)
    var result: [UInt8] = []
    result.reserveCapacity(bytes.count)
    var place = 0
    while place < bytes.count {
      let digits = bytes[place...].prefix { Hex.value(of: $0) != nil }.count
      if digits > 0 {
        result += digits >= signatureLength ? ellipsis[...] : bytes[place..<(place + digits)]
        place += digits
      } else if let opening = opening(bytes, at: place) {
        result += opening + ellipsis
        place += opening.count
        // The first character of the opening also ends the value.
        while place < bytes.count, bytes[place] != opening[0] { place += 1 }
      } else {
        result.append(bytes[place])
        place += 1
      }
    }
    return String(decoding: result, as: UTF8.self)
  }

  private static func opening(_ bytes: [UInt8], at place: Int) -> [UInt8]? {
    guard bytes[place] == UInt8(ascii: "\"") || bytes[place] == UInt8(ascii: "\\") else {
      return nil
    }
    return openings.first { bytes[place...].starts(with: $0) }
  }
}

/// Width of text in columns of a terminal (Unicode Standard Annex 11).
///
/// `wcwidth(3)` depends on the locale of the process, and the program has none. So this is its rule
/// with Unicode's tables: marks, joiners and the second half of a Hangul syllable take no column.
/// Ideographs, kana, Hangul, full width forms and emoji take two, everything else one. The parts of
/// a joined picture count one by one.
package enum TextWidth {
  package static func columns(_ text: String) -> Int {
    // Most text is ASCII and needs no scalars.
    if text.utf8.allSatisfy({ $0 < 0x80 }) { return text.utf8.count }
    return text.unicodeScalars.reduce(0) { $0 + columns($1) }
  }

  package static func columns(_ scalar: Unicode.Scalar) -> Int {
    if scalar.value < 0x300 { return 1 }
    if isWide(scalar.value) { return isMark(scalar) ? 0 : 2 }
    if isMark(scalar) { return 0 }
    // The letters of flags are emoji, but each alone is narrow.
    return scalar.properties.isEmojiPresentation && !(0x1F1E6...0x1F1FF).contains(scalar.value)
      ? 2 : 1
  }

  private static func isMark(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .nonspacingMark, .enclosingMark, .format: true
    default: (0x1160...0x11FF).contains(scalar.value)
    }
  }

  /// Blocks of wide characters; emoji outside them have a property.
  private static func isWide(_ value: UInt32) -> Bool {
    switch value {
    case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0x4DBF, 0x4E00...0xA4CF, 0xA960...0xA97F,
      0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE10...0xFE19, 0xFE30...0xFE6F, 0xFF01...0xFF60,
      0xFFE0...0xFFE6, 0x16FE0...0x18CFF, 0x1AFF0...0x1B2FF, 0x1F200...0x1F265, 0x20000...0x3FFFD:
      true
    default: false
    }
  }
}
