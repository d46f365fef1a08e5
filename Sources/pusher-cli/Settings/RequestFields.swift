internal import PusherCore

/// A file with fields that is read again for each connection.
struct FieldFile: Equatable, Sendable {
  let path: String
  /// The fields of the last reading.
  var fields: [NamedValue]
}

/// The fields that a user adds to requests.
struct RequestFields: Equatable, Sendable {
  /// The same for every request.
  var fixed: [NamedValue] = []
  /// All that are known now, those of files among them.
  var all: [NamedValue] = []
  /// Regular files, which are read again for each connection; a pipe can be read only once.
  var files: [FieldFile] = []
  /// A command that prints further ones for each connection.
  var command: String?

  /// Whether a connection may send other fields than the one before.
  var areFresh: Bool { !files.isEmpty || command != nil }
}

/// Fields for a request, from options that take `NAME: VALUE` or the name of a file with such lines.
extension SettingsReader {
  /// The most bytes of a file with fields.
  static let headerLimit = 65_536

  /// The fields that the values of `flag` name, in order.
  ///
  /// - Throws: ``UsageError`` for a line that is not a field; the message leaves it out, since it may be a token.
  mutating func headers(_ flag: Flag) throws(UsageError) -> [NamedValue] {
    let origin = "\(flag.spelling)"
    var headers: [NamedValue] = []
    for value in typed.texts(flag) {
      let text = try textOrFile(value, origin, limit: Self.headerLimit)
      headers += try Self.headers(text, origin)
    }
    return headers
  }

  /// The fields of a text, one a line.
  static func headers(_ text: String, _ origin: String) throws(UsageError) -> [NamedValue] {
    var headers: [NamedValue] = []
    for line in text.lines { headers.append(try header(line, origin)) }
    return headers
  }

  /// The fields of `--header`: those that stay, and where the others come from for each connection.
  ///
  /// - Throws: ``UsageError`` for a file that cannot be read now.
  mutating func requestFields() throws(UsageError) -> RequestFields {
    var fields = RequestFields(command: typed.text(.headerCommand))
    for value in typed.texts(.header) {
      let text = try textOrFile(value, Flag.header.spelling, limit: Self.headerLimit)
      let lines = try Self.headers(text, Flag.header.spelling)
      fields.all += lines
      let path = value.dropping(prefix: "@")
      if let path, files.permissions(path) != nil {
        fields.files.append(FieldFile(path: path, fields: lines))
      } else {
        fields.fixed += lines
      }
    }
    return fields
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
