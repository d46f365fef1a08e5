/// The text that `--format` prints for each event, with placeholders.
struct FormatTemplate: Equatable, Sendable {
  enum Field: Character, CaseIterable, Sendable {
    case event = "e"
    case channel = "c"
    /// Text unchanged, anything else as JSON.
    case data = "d"
    /// `data` as a field of a table: tabs, newlines and backslashes are escaped.
    case dataField = "D"
    case wire = "w"
    case userID = "u"
    /// The last event ID of an event stream.
    case id = "i"
    /// Time of arrival, RFC 3339.
    case time = "t"
    case localTime = "T"
    /// Time of arrival in seconds since 1970, with milliseconds.
    case seconds = "s"
    /// 1 for the first printed event.
    case number = "N"
    case line = "j"
  }

  enum Part: Equatable, Sendable {
    case text(String)
    case field(Field)
  }

  private(set) var parts: [Part] = []

  /// Parses `%e`, `%%`, `\t`, `\n`, `\0` and `\\`; other text stays unchanged.
  init(_ text: String) throws(UsageError) {
    if OutputFormat(rawValue: text) != nil {
      throw UsageError("--format prints its text, here '\(text)': for this format, give -o \(text)")
    }
    var rest = text[...]
    var literal = ""
    while let character = rest.popFirst() {
      switch character {
      case "%":
        guard let letter = rest.popFirst() else {
          throw UsageError("--format ends with '%'; write %% for a percent sign")
        }
        if letter == "%" {
          literal.append("%")
        } else if let field = Field(rawValue: letter) {
          if !literal.isEmpty { parts.append(.text(literal)) }
          literal = ""
          parts.append(.field(field))
        } else {
          let known = Field.allCases.map { "%\($0.rawValue)" }.joined(separator: " ")
          throw UsageError("--format: '%\(letter)' is not one of \(known) %%")
        }
      case "\\": literal.append(try Self.escape(rest.popFirst()))
      default: literal.append(character)
      }
    }
    if !literal.isEmpty { parts.append(.text(literal)) }
  }

  private static func escape(_ letter: Character?) throws(UsageError) -> Character {
    switch letter {
    case "t": return "\t"
    case "n": return "\n"
    case "0": return "\0"
    case "\\": return "\\"
    case let letter:
      throw UsageError(
        "--format: '\\\(letter.map(String.init) ?? "")' is not one of \\t \\n \\0 \\\\")
    }
  }

  static let times: [Field] = [.time, .localTime, .seconds]
  var usesTime: Bool { Self.times.contains { parts.contains(.field($0)) } }
}
