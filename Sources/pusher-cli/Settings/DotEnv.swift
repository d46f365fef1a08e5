internal import PusherCore

/// The variables of a `.env` file, as Laravel, Symfony, docker compose and python-dotenv read it;
/// nothing is run.
///
/// A line is `NAME=VALUE`, also after `export`. A value without quotes ends at its line's end, or
/// at a blank and `#`. Escapes such as `\n` work in double quotes; single quotes have only `\'` and
/// `\\`. A quoted value may span lines, each of which then ends with LF. `${NAME}` and
/// `${NAME:-DEFAULT}` are replaced, except in single quotes, and except after a backslash in double
/// quotes.
struct DotEnv: Sendable {
  /// Maximum size of all values after expansion, in bytes; each `${NAME}` may double it.
  static let expandedLimit = 1 << 20

  struct TooLarge: Error {}

  /// Values by name; the last one of a name wins.
  private(set) var variables: [String: String] = [:]
  /// Numbers of malformed lines, from 1; they are skipped.
  private(set) var faultyLines: [Int] = []

  /// Parses a whole file; `outer` returns variables that the file does not define above a
  /// `${NAME}`.
  ///
  /// - Throws: ``TooLarge`` before that much memory is used.
  init(parsing text: String, outer: (String) -> String?) throws(TooLarge) {
    var room = Self.expandedLimit
    var reader = Reader(rest: Array(text.utf8)[...])
    if reader.rest.starts(with: [0xEF, 0xBB, 0xBF]) { reader.rest.removeFirst(3) }
    while reader.skipToStatement() {
      let line = reader.line
      let statement: (String, DotEnvValue)?
      do throws(Malformed) {
        statement = try reader.statement()
      } catch {
        faultyLines.append(line)
        reader.skipLine()
        continue
      }
      guard let (name, value) = statement else { continue }
      let bytes = try value.resolved(atMost: room) { variables[$0] ?? outer($0) }
      room -= bytes.count
      variables[name] = String(decoding: bytes, as: UTF8.self)
    }
  }

  private struct Malformed: Error {}

  private struct Reader {
    var rest: ArraySlice<UInt8>
    var line = 1

    mutating func skipToStatement() -> Bool {
      while let byte = rest.first, byte == 0x20 || (0x09...0x0D).contains(byte) { _ = take() }
      return !rest.isEmpty
    }

    /// Reads one statement to the end of its line; `nil` for a comment or a name without a value.
    mutating func statement() throws(Malformed) -> (String, DotEnvValue)? {
      skipExport()
      var assignment: (String, DotEnvValue)?
      if rest.first != UInt8(ascii: "#") {
        let name = try name()
        skipBlanks()
        if take(UInt8(ascii: "=")) { assignment = (name, try value()) }
      }
      skipBlanks()
      if rest.first == UInt8(ascii: "#") { skipText() }
      guard rest.isEmpty || Self.endsLine(rest.first) else { throw Malformed() }
      return assignment
    }

    mutating func skipLine() {
      skipText()
      let byte = take()
      if byte == 0x0D, rest.first == 0x0A { _ = take() }
    }

    private mutating func skipExport() {
      guard rest.starts(with: "export".utf8) else { return }
      let after = rest.dropFirst(6)
      if let next = after.first, Self.isBlank(next) {
        rest = after
        skipBlanks()
      }
    }

    private mutating func name() throws(Malformed) -> String {
      if rest.first == UInt8(ascii: "'") {
        let text = rest.dropFirst().prefix { $0 >= 0x20 && $0 != UInt8(ascii: "'") }
        guard !text.isEmpty, rest.dropFirst(text.count + 1).first == UInt8(ascii: "'") else {
          throw Malformed()
        }
        rest = rest.dropFirst(text.count + 2)
        return String(decoding: text, as: UTF8.self)
      }
      let text = rest.prefix { $0 > 0x20 && !"=#".utf8.contains($0) }
      guard !text.isEmpty else { throw Malformed() }
      rest = rest.dropFirst(text.count)
      return String(decoding: text, as: UTF8.self)
    }

    private mutating func value() throws(Malformed) -> DotEnvValue {
      let hasBlank = rest.first.map(Self.isBlank) ?? false
      skipBlanks()
      switch rest.first {
      case UInt8(ascii: "'"): return try quoted { $0 == UInt8(ascii: "'") ? $0 : nil }
      case UInt8(ascii: "\""): return try quoted(Self.escape)
      case UInt8(ascii: "#") where hasBlank: return DotEnvValue()
      default: return DotEnvValue(bytes: plain())
      }
    }

    private mutating func plain() -> [UInt8] {
      var text = rest.prefix { !Self.endsLine($0) }
      rest = rest.dropFirst(text.count)
      let comment = text.indices.dropFirst().first {
        text[$0] == UInt8(ascii: "#") && Self.isBlank(text[$0 - 1])
      }
      if let comment { text = text[..<comment] }
      while let last = text.last, Self.isBlank(last) { text.removeLast() }
      return Array(text)
    }

    private mutating func quoted(_ escape: (UInt8) -> UInt8?) throws(Malformed) -> DotEnvValue {
      let start = self
      let quote = take()
      let isLiteral = quote == UInt8(ascii: "'")
      var value = DotEnvValue()
      while let byte = take() {
        if byte == quote { return value }
        if byte == 0x0D, rest.first == 0x0A { continue }
        if byte == UInt8(ascii: "\\"), let next = rest.first,
          let escaped = next == UInt8(ascii: "\\") ? next : escape(next)
        {
          _ = take()
          value.append(literal: escaped)
        } else if isLiteral {
          value.append(literal: byte)
        } else {
          value.bytes.append(byte)
        }
      }
      // A quote without an end spoils only its own line.
      self = start
      throw Malformed()
    }

    private static func escape(_ byte: UInt8) -> UInt8? {
      switch byte {
      case UInt8(ascii: "\""), UInt8(ascii: "'"), UInt8(ascii: "$"), UInt8(ascii: "`"): byte
      case UInt8(ascii: "a"): 0x07
      case UInt8(ascii: "b"): 0x08
      case UInt8(ascii: "f"): 0x0C
      case UInt8(ascii: "n"): 0x0A
      case UInt8(ascii: "r"): 0x0D
      case UInt8(ascii: "t"): 0x09
      case UInt8(ascii: "v"): 0x0B
      default: nil
      }
    }

    private mutating func take() -> UInt8? {
      guard let byte = rest.popFirst() else { return nil }
      if byte == 0x0A || byte == 0x0D && rest.first != 0x0A { line += 1 }
      return byte
    }

    private mutating func take(_ byte: UInt8) -> Bool {
      guard rest.first == byte else { return false }
      return take() != nil
    }

    private mutating func skipBlanks() { rest = rest.drop(while: Self.isBlank) }
    private mutating func skipText() { rest = rest.drop { !Self.endsLine($0) } }

    private static func isBlank(_ byte: UInt8) -> Bool {
      byte == 0x20 || byte == 0x09 || byte == 0x0B || byte == 0x0C
    }

    private static func endsLine(_ byte: UInt8?) -> Bool { byte == 0x0A || byte == 0x0D }
  }
}

private struct DotEnvValue {
  var bytes: [UInt8] = []
  var literalDollars: Set<Int> = []

  mutating func append(literal byte: UInt8) {
    if byte == UInt8(ascii: "$") { literalDollars.insert(bytes.count) }
    bytes.append(byte)
  }

  func resolved(
    atMost limit: Int, _ value: (String) -> String?
  ) throws(DotEnv.TooLarge) -> [UInt8] {
    var result: [UInt8] = []
    var index = 0
    // After one reference without an end, no later reference has an end either.
    var mayClose = true
    while index < bytes.count {
      var replacement = bytes[index...index]
      if mayClose, bytes[index...].starts(with: "${".utf8), !literalDollars.contains(index) {
        if let end = bytes[index...].firstIndex(of: UInt8(ascii: "}")) {
          replacement = Array(Self.text(of: bytes[(index + 2)..<end], value).utf8)[...]
          index = end
        } else {
          mayClose = false
        }
      }
      guard replacement.count <= limit - result.count else { throw DotEnv.TooLarge() }
      result += replacement
      index += 1
    }
    return result
  }

  private static func text(of name: ArraySlice<UInt8>, _ value: (String) -> String?) -> String {
    let parts = String(decoding: name, as: UTF8.self).pieces(separatedBy: ":-")
    return value(String(parts[0])) ?? parts.dropFirst().joined(separator: ":-")
  }
}
