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
    var text = String.UnicodeScalarView()
    let isPlain = Bool.random(using: &random)
    let pool = isPlain ? scalars[0..<30] : scalars[...]
    for _ in 0..<Int.random(in: 0...maximumLength, using: &random) {
      text.append(pool[Int.random(in: 0..<pool.count, using: &random)])
    }
    return String(text)
  }

  package static func value(depth: Int, _ random: inout SeededGenerator) -> JSONValue {
    switch Int.random(in: 0..<(depth > 0 ? 12 : 7), using: &random) {
    case 0: .null
    case 1: .bool(Bool.random(using: &random))
    case 2, 3: .number(numbers[Int.random(in: 0..<numbers.count, using: &random)])
    case 4, 5, 6: .string(text(maximumLength: 24, &random))
    case 7, 8: .array(elements(depth: depth, &random))
    default: object(depth: depth, &random)
    }
  }

  package static func object(depth: Int, _ random: inout SeededGenerator) -> JSONValue {
    .object(
      elements(depth: depth, &random).map { .init(text(maximumLength: 10, &random), $0) })
  }

  private static func elements(depth: Int, _ random: inout SeededGenerator) -> [JSONValue] {
    (0..<Int.random(in: 0...4, using: &random)).map { _ in value(depth: depth - 1, &random) }
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
    case .array(let elements):
      text += "["
      for (index, element) in elements.enumerated() {
        separate(index, indent, &text)
        write(element, indent: indent + 1, into: &text)
      }
      if spacing == .lines { text += "\n" }
      text += "]"
    case .object(let members):
      text += "{"
      for (index, member) in members.enumerated() {
        separate(index, indent, &text)
        text += quoted(member.name) + (spacing == .none ? ":" : ": ")
        write(member.value, indent: indent + 1, into: &text)
      }
      if spacing == .lines { text += "\n" }
      text += "}"
    }
  }

  private func separate(_ index: Int, _ indent: Int, _ text: inout String) {
    if index > 0 { text += spacing == .blanks ? ", " : "," }
    if spacing == .lines { text += "\n" + String(repeating: "  ", count: indent + 1) }
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
