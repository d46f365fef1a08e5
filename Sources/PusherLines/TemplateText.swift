package import PusherCore

/// The text that `--format` prints for each event, with placeholders.
package struct FormatTemplate: Equatable, Sendable {
  package enum Field: Character, CaseIterable, Sendable {
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

  package enum Part: Equatable, Sendable {
    case text(String)
    case field(Field)
  }

  package private(set) var parts: [Part] = []

  /// Parses `%e`, `%%`, `\t`, `\n`, `\0` and `\\`; other text stays unchanged.
  package init(_ text: String) throws(FormatTemplateError) {
    var rest = text[...]
    var literal = ""
    while let character = rest.popFirst() {
      switch character {
      case "%":
        guard let letter = rest.popFirst() else {
          throw FormatTemplateError("--format ends with '%'; write %% for a percent sign")
        }
        if letter == "%" {
          literal.append("%")
        } else if let field = Field(rawValue: letter) {
          if !literal.isEmpty { parts.append(.text(literal)) }
          literal = ""
          parts.append(.field(field))
        } else {
          let known = Field.allCases.map { "%\($0.rawValue)" }.joined(separator: " ")
          throw FormatTemplateError("--format: '%\(letter)' is not one of \(known) %%")
        }
      case "\\": literal.append(try Self.escape(rest.popFirst()))
      default: literal.append(character)
      }
    }
    if !literal.isEmpty { parts.append(.text(literal)) }
  }

  private static func escape(_ letter: Character?) throws(FormatTemplateError) -> Character {
    switch letter {
    case "t": return "\t"
    case "n": return "\n"
    case "0": return "\0"
    case "\\": return "\\"
    case let letter:
      throw FormatTemplateError(
        "--format: '\\\(letter.map(String.init) ?? "")' is not one of \\t \\n \\0 \\\\")
    }
  }

  private static let times: [Field] = [.time, .localTime, .seconds]
  package var usesTime: Bool { Self.times.contains { parts.contains(.field($0)) } }
}

/// Reason why a text is no template, in words about `--format`.
package struct FormatTemplateError: Error {
  package let message: String
  init(_ message: String) { self.message = message }
}

/// Prints events as `--format` says.
///
/// Control characters of names and IDs are always escaped, those of data only on a terminal.
package final class TemplateText {
  /// A field, or else a part of ``texts``.
  private struct Piece {
    let field: FormatTemplate.Field?
    let text: Range<Int>
  }

  private let template: FormatTemplate
  /// The template with the times of the burst as text, in a form that costs little.
  private var pieces: [Piece] = []
  private let texts = ByteBuffer(capacity: 256)
  private let output: ByteBuffer
  private let style: EventLineStyle
  private let scratch = ByteBuffer(capacity: 64)

  package init(_ template: FormatTemplate, output: ByteBuffer, style: EventLineStyle) {
    (self.template, self.output, self.style) = (template, output, style)
    setPieces { _ in nil }
  }

  /// - Parameter text: Returns the text of a field that is one.
  private func setPieces(_ text: (FormatTemplate.Field) -> String?) {
    texts.removeAll()
    pieces = template.parts.map { part in
      let start = texts.count
      switch part {
      case .text(let text): texts.append(text)
      case .field(let field):
        guard let text = text(field) else { return Piece(field: field, text: 0..<0) }
        texts.append(text)
      }
      return Piece(field: nil, text: start..<texts.count)
    }
  }

  /// - Parameter local: The time as local text.
  package func begin(at time: WallTime, local: @autoclosure () -> String) {
    guard template.usesTime else { return }
    setPieces { field in
      switch field {
      case .time: time.rfc3339
      case .localTime: local()
      case .seconds: time.secondsText
      default: nil
      }
    }
  }

  /// - Parameters:
  ///   - number: Number of the event.
  ///   - source: The data as it came.
  package func write(_ line: borrowing EventLine, number: Int, source: () -> String?) {
    for piece in pieces {
      switch piece.field {
      case nil: output.append(texts.view[piece.text])
      case .line:
        style.write(line, to: output)
        output.truncate(to: output.count - 1)
      case .event: write(name: line.event)
      case .channel: write(name: line.channel)
      case .userID: write(name: line.userID)
      case .id: write(name: line.id)
      case .number: output.append(decimal: number)
      case .wire: write(data: source() ?? "")
      case .data:
        if style.forTerminal {
          write(data: text(of: line))
        } else {
          line.writeText(into: output)
        }
      case .dataField: write(data: Self.field(of: text(of: line)))
      // Times are text by now.
      case .time, .localTime, .seconds: break
      }
    }
    output.append(style.terminator)
  }

  private func write(name token: ByteView?) {
    guard let token else { return }
    if token.isPrintableASCII, !token.holds(UInt8(ascii: "\\")) {
      output.append(token)
    } else {
      output.append(TerminalText.escaped(JSONString.decode(token)))
    }
  }

  private func write(data: String) {
    output.append(style.forTerminal ? TerminalText.escaped(data) : data)
  }

  private func text(of line: borrowing EventLine) -> String {
    scratch.removeAll()
    line.writeText(into: scratch)
    return scratch.view.text
  }

  private static func field(of text: String) -> String {
    var field = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\\": field += "\\\\"
      case "\t": field += "\\t"
      case "\n": field += "\\n"
      case "\r": field += "\\r"
      default: field.unicodeScalars.append(scalar)
      }
    }
    return field
  }
}

extension WallTime {
  fileprivate var secondsText: String {
    let milliseconds = String(millisecondsSince1970 - secondsSince1970 * 1000 + 1000).dropFirst()
    return "\(secondsSince1970).\(milliseconds)"
  }
}
