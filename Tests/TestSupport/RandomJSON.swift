package import PusherCore

package enum RandomJSON {
  private static let scalars: [Unicode.Scalar] =
    Array("abcxyz 0123456789-_.:,;{}[]()<>".unicodeScalars)
    + ["\"", "\"", "\\", "\\", "/", "\n", "\t", "\0", "\u{1F}", "\u{7F}", "\u{80}", "\u{9B}"]
    + ["é", "ß", "中", "文", "😀", "\u{2028}", "\u{2029}", "\u{FEFF}", "\u{FFFD}", "\u{10FFFF}"]
  private static let numbers = [
    "0", "-0", "1", "-1", "42", "1.10", "-0.5", "1e5", "1E-07", "2.5e+10", "1e400", "12345678",
    "123456789", "9223372036854775807", "9223372036854775808", "0.30000000000000004",
  ]

  package static func text(maximumLength: Int, _ random: inout SeededGenerator) -> String {
    let pool = random.below(2) == 0 ? scalars[0..<30] : scalars[...]
    return String(String.UnicodeScalarView(random.some(pool, most: maximumLength)))
  }

  package static func value(depth: Int, _ random: inout SeededGenerator) -> JSONValue {
    switch random.below(depth > 0 ? 12 : 7) {
    case 0: .null
    case 1: .bool(Bool.random(using: &random))
    case 2, 3: .number(random.pick(numbers))
    case 4, 5, 6: .string(text(maximumLength: 24, &random))
    case 7, 8: .array(elements(depth: depth, &random))
    default: object(depth: depth, &random)
    }
  }

  package static func object(depth: Int, _ random: inout SeededGenerator) -> JSONValue {
    .object(elements(depth: depth, &random).map { .init(text(maximumLength: 10, &random), $0) })
  }

  private static func elements(depth: Int, _ random: inout SeededGenerator) -> [JSONValue] {
    (0..<random.below(5)).map { _ in value(depth: depth - 1, &random) }
  }
}

/// A style of JSON that common encoders write.
package struct JSONEncoding: Sendable {
  enum Spacing {
    case none
    /// `", "` and `": "`, as Python writes.
    case blanks
    case lines
  }

  var escapesSlash = false
  var escapesNonASCII = false
  var upperCase = false
  var spacing = Spacing.none

  /// JavaScript's `JSON.stringify`.
  package static let minimal = JSONEncoding()
  /// PHP's `json_encode`.
  package static let php = JSONEncoding(escapesSlash: true, escapesNonASCII: true)
  /// Python's `json.dumps`.
  package static let python = JSONEncoding(escapesNonASCII: true, spacing: .blanks)
  package static let shouting = JSONEncoding(escapesNonASCII: true, upperCase: true)
  package static let pretty = JSONEncoding(spacing: .lines)
  package static let all = [minimal, php, python, shouting, pretty]

  package func text(_ value: JSONValue) -> String {
    var text = ""
    write(value, indent: 0, into: &text)
    return text
  }

  private func write(_ value: JSONValue, indent: Int, into text: inout String) {
    switch value {
    case .null: text += "null"
    case .bool(let flag): text += flag ? "true" : "false"
    case .number(let digits): text += digits
    case .string(let string): text += quoted(string)
    case .array(let elements): write(elements.map { ("", $0) }, "[", "]", indent, into: &text)
    case .object(let members):
      let colon = spacing == .none ? ":" : ": "
      write(members.map { (quoted($0.name) + colon, $0.value) }, "{", "}", indent, into: &text)
    }
  }

  private func write(
    _ parts: [(name: String, value: JSONValue)], _ start: String, _ end: String, _ indent: Int,
    into text: inout String
  ) {
    text += start
    for (index, part) in parts.enumerated() {
      if index > 0 { text += spacing == .blanks ? ", " : "," }
      if spacing == .lines { text += "\n" + String(repeating: "  ", count: indent + 1) }
      text += part.name
      write(part.value, indent: indent + 1, into: &text)
    }
    text += (spacing == .lines ? "\n" : "") + end
  }

  package func quoted(_ string: String) -> String {
    var text = "\""
    for scalar in string.unicodeScalars {
      switch scalar {
      case "\"": text += #"\""#
      case "\\": text += #"\\"#
      case "/" where escapesSlash: text += #"\/"#
      case "\n": text += #"\n"#
      case "\t": text += #"\t"#
      case "\0"..."\u{1F}": text += escape(UInt16(scalar.value))
      case "\u{80}"... where escapesNonASCII:
        for unit in String(scalar).utf16 { text += escape(unit) }
      default: text.unicodeScalars.append(scalar)
      }
    }
    return text + "\""
  }

  private func escape(_ unit: UInt16) -> String {
    let digits = Hex.encode([UInt8(unit >> 8), UInt8(unit & 0xFF)])
    return "\\u" + (upperCase ? digits.uppercased() : digits)
  }
}
