internal import PusherCore

/// A file with headers that is read again for each connection.
struct FieldFile: Equatable, Sendable {
  let path: String
  var fields: [NamedValue]
}

struct RequestFields: Equatable, Sendable {
  var fixed: [NamedValue] = []
  /// All current headers, including those of files.
  var all: [NamedValue] = []
  /// Regular files, read again for each connection; a pipe can be read only once.
  var files: [FieldFile] = []
  var command: String?
  var areFresh: Bool { !files.isEmpty || command != nil }
}

extension SettingsReader {
  static let headerLimit = 65_536

  /// Reads the headers of `flag`, in order.
  ///
  /// - Throws: ``UsageError`` for a malformed line, without the line, which may be a token.
  mutating func headers(_ flag: Flag) throws(UsageError) -> [NamedValue] {
    let origin = "\(flag.spelling)"
    var headers: [NamedValue] = []
    for value in typed.texts(flag) {
      let text = try textOrFile(value, origin, limit: Self.headerLimit)
      headers += try Self.headers(text, origin)
    }
    return headers
  }

  static func headers(_ text: String, _ origin: String) throws(UsageError) -> [NamedValue] {
    var headers: [NamedValue] = []
    for line in text.lines { headers.append(try header(line, origin)) }
    return headers
  }

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

  /// Parses `NAME: VALUE`; the message leaves the text out, since it may be a token.
  private static func header(_ line: Substring, _ origin: String) throws(UsageError) -> NamedValue {
    let name = line.prefix { $0 != ":" }
    let value = ASCII.trimmed(line.dropFirst(name.count + 1))
    let isPlain = value.unicodeScalars.allSatisfy {
      $0.value >= 0x20 && $0.value != 0x7F || $0 == "\t"
    }
    guard ASCII.isToken(name), isPlain, name.endIndex < line.endIndex else {
      throw UsageError("\(origin) needs the form 'NAME: VALUE', or @FILE with such lines")
    }
    return NamedValue(name: String(name), value: value)
  }
}
