internal import PusherCore

/// Text of peers for people: nothing in it controls or deceives a terminal.
package enum TerminalText {
  /// Escapes characters that could control or deceive a terminal, as JSON does.
  ///
  /// Newlines and tabs stay. JSON stays valid: only its strings can hold escaped characters.
  package static func safe(_ text: String) -> [UInt8] {
    let input = ByteBuffer(capacity: text.utf8.count)
    input.append(text)
    let output = ByteBuffer(capacity: text.utf8.count)
    return withExtendedLifetime(input) {
      let view = input.view
      var start = 0
      for index in 0..<view.count {
        let byte = view[index]
        guard byte < 0x20, byte != UInt8(ascii: "\n"), byte != UInt8(ascii: "\t") else { continue }
        JSONString.appendForTerminal(view[start..<index], into: output)
        output.append("\\u00" + Hex.encode([byte]))
        start = index + 1
      }
      JSONString.appendForTerminal(view[start..<view.count], into: output)
      return output.view.array
    }
  }

  /// Writes control characters, line separators and direction marks as `\u{…}`.
  package static func escaped(_ text: String) -> String { escaped(text, keepsLayout: false) }

  /// - Parameter keepsLayout: Leaves newlines and tabs, which only lay out a text of many lines.
  package static func escaped(_ text: String, keepsLayout: Bool) -> String {
    if text.holdsOnly(0x20...0x7E) { return text }
    guard text.unicodeScalars.contains(where: isDangerous) else { return text }
    var result = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\n" where keepsLayout, "\t" where keepsLayout: result.unicodeScalars.append(scalar)
      case "\n": result += "\\n"
      case "\r": result += "\\r"
      case "\t": result += "\\t"
      case _ where isDangerous(scalar): result += "\\u{\(String(scalar.value, radix: 16))}"
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result
  }

  private static func isDangerous(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0..<0x20, 0x7F..<0xA0: true
    case 0x061C, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069: true
    default: false
    }
  }

  package static func words(_ count: Int, of thing: String) -> String {
    "\(count) \(thing)\(count == 1 ? "" : "s")"
  }
}

extension String {
  /// Reports whether all bytes are in a range; some longer way must decide if not.
  func holdsOnly(_ range: ClosedRange<UInt8>) -> Bool {
    let (first, width) = (range.lowerBound, range.upperBound &- range.lowerBound)
    // Without an end before the last byte, the compiler takes 16 bytes at a time.
    let others: UInt8? = unsafe utf8.withContiguousStorageIfAvailable { bytes in
      unsafe bytes.reduce(0) { $0 | ($1 &- first > width ? 1 : 0) }
    }
    return others == 0
  }
}
