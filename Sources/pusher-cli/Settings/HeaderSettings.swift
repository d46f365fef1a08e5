internal import PusherCore

/// Fields for a request, from options that take `NAME: VALUE` or the name of a file with such lines.
extension SettingsReader {
  /// The fields that the values of `flag` name, in order.
  ///
  /// - Throws: ``UsageError`` for a line that is no field; the message leaves it out, since it may be a token.
  mutating func headers(_ flag: Flag) throws(UsageError) -> [NamedValue] {
    let origin = "\(flag.spelling)"
    var headers: [NamedValue] = []
    for value in typed.texts(flag) {
      let text = try textOrFile(value, origin, limit: 65_536)
      for line in text.lines {
        headers.append(try Self.header(line, origin))
      }
    }
    return headers
  }

  /// `NAME: VALUE`; the message leaves the text out, since it may be a token.
  private static func header(
    _ line: Substring, _ origin: String
  ) throws(UsageError) -> NamedValue {
    let name = line.prefix { $0 != ":" }
    let value = trimmed(line.dropFirst(name.count + 1))
    let isPlain = value.unicodeScalars.allSatisfy {
      $0.value >= 0x20 && $0.value != 0x7F || $0 == "\t"
    }
    guard ASCII.isToken(name), isPlain, name.endIndex < line.endIndex else {
      throw UsageError("\(origin) needs the form 'NAME: VALUE', or @FILE with such lines")
    }
    return NamedValue(name: String(name), value: String(value))
  }

  private static func trimmed(_ text: Substring) -> Substring {
    var text = text.drop { $0 == " " || $0 == "\t" }
    while text.last == " " || text.last == "\t" { text.removeLast() }
    return text
  }
}
