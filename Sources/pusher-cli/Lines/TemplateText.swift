internal import PusherCore

/// Prints events as `--format` says.
///
/// ``write(number:_:writeLine:)`` accepts any event; ``plain`` prints most events faster.
final class TemplateText {
  /// The template for JSON lines; `nil` if it has a field that no JSON line has.
  let plain: LineTemplate?
  private let template: FormatTemplate
  private let output: ByteBuffer
  private let style: EventLineStyle
  private var times: [FormatTemplate.Field: String] = [:]

  init(_ template: FormatTemplate, output: ByteBuffer, style: EventLineStyle) {
    (self.template, self.output, self.style) = (template, output, style)
    let pieces = template.parts.compactMap(\.ofLine)
    plain = pieces.count == template.parts.count ? LineTemplate(pieces) : nil
  }

  func begin(at time: WallTime) {
    for (index, field) in FormatTemplate.times.enumerated()
    where template.parts.contains(.field(field)) {
      let text = Self.text(of: field, time)
      times[field] = text
      plain?.set(text, variable: index)
    }
  }

  private static func text(of field: FormatTemplate.Field, _ time: WallTime) -> String {
    switch field {
    case .time: time.rfc3339
    case .localTime: time.localText
    default: time.secondsText
    }
  }

  /// Prints an event; `value` returns the protocol's fields, and `writeLine` appends the JSON line.
  func write(number: Int, _ value: (FormatTemplate.Field) -> String?, writeLine: () -> Void) {
    template.write(to: output, style: style) { field in
      switch field {
      case .time, .localTime, .seconds: times[field] ?? ""
      case .number: String(number)
      default: value(field) ?? ""
      }
    } writeLine: {
      writeLine()
    }
  }
}

extension FormatTemplate.Part {
  /// The piece for a JSON line without escapes; `nil` for a field that the line lacks.
  fileprivate var ofLine: LineTemplate.Piece? {
    switch self {
    case .text(let text): .literal(text)
    case .field(.event): .event
    case .field(.channel): .channel
    case .field(.id): .id
    // Without escapes there are no tabs or newlines to escape.
    case .field(.data), .field(.dataField): .data
    case .field(.line): .line
    case .field(.number): .number
    // An event with a user ID never takes the fast path.
    case .field(.userID): .literal("")
    case .field(.wire): nil
    case .field(let time): FormatTemplate.times.firstIndex(of: time).map { .variable($0) }
    }
  }
}

extension FormatTemplate {
  /// Appends an event: fields by `value`, the JSON line with its end by `writeLine`.
  ///
  /// Control characters of names and IDs are always escaped, those of data only on a terminal.
  func write(
    to output: ByteBuffer, style: EventLineStyle, value: (Field) -> String, writeLine: () -> Void
  ) {
    for part in parts {
      switch part {
      case .text(let text): output.append(text)
      case .field(.line):
        writeLine()
        output.truncate(to: output.count - 1)
      case .field(let field):
        let text = value(field)
        let isData = [.data, .dataField, .wire].contains(field)
        output.append(style.forTerminal || !isData ? Diagnostics.escaped(text) : text)
      }
    }
    output.append(style.terminator)
  }
}

extension WallTime {
  fileprivate var secondsText: String {
    let milliseconds = String(millisecondsSince1970 - secondsSince1970 * 1000 + 1000).dropFirst()
    return "\(secondsSince1970).\(milliseconds)"
  }
}
