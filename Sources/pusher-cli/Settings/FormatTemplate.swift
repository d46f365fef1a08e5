/// What `--format` prints for each event: text with placeholders.
struct FormatTemplate: Equatable, Sendable {
  /// What a placeholder stands for, by its letter.
  enum Field: Character, CaseIterable, Sendable {
    case event = "e"
    case channel = "c"
    /// Text as it is, anything else as JSON.
    case data = "d"
    /// The same as one field of a table: tabulators, newlines and backslashes are escaped.
    case dataField = "D"
    /// What was on the wire.
    case wire = "w"
    case userID = "u"
    /// The last event ID of an event stream.
    case id = "i"
    /// When it came, RFC 3339.
    case time = "t"
    /// The same in the local time zone.
    case localTime = "T"
    /// The same in seconds since 1970, with milliseconds.
    case seconds = "s"
    /// 1 for the first event printed.
    case number = "N"
    /// The JSON line.
    case line = "j"
  }

  /// A piece of what is printed.
  enum Part: Equatable, Sendable {
    case text(String)
    case field(Field)
  }

  private(set) var parts: [Part] = []

  /// Reads `%e`, `%%`, `\t`, `\n`, `\0` and `\\` in `text`; anything else stands for itself.
  ///
  /// - Throws: ``UsageError`` for another letter after `%` or `\`.
  init(_ text: String) throws(UsageError) {
    var rest = text[...]
    var literal = ""
    while let character = rest.popFirst() {
      switch character {
      case "%":
        guard let letter = rest.popFirst() else {
          throw UsageError("--format ends with '%'; write %% for the sign itself")
        }
        if letter == "%" {
          literal.append("%")
        } else if let field = Field(rawValue: letter) {
          if !literal.isEmpty { parts.append(.text(literal)) }
          literal = ""
          parts.append(.field(field))
        } else {
          let known = Field.allCases.map { "%\($0.rawValue)" }.joined(separator: " ")
          throw UsageError("--format: '%\(letter)' is none of \(known) %%")
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
        "--format: '\\\(letter.map(String.init) ?? "")' is none of \\t \\n \\0 \\\\")
    }
  }

  /// The fields that tell when an event came.
  static let times: [Field] = [.time, .localTime, .seconds]

  /// Whether the time at which an event came is wanted.
  var usesTime: Bool {
    Self.times.contains { parts.contains(.field($0)) }
  }
}
