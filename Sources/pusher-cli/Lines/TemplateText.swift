internal import PusherCore

/// Prints events as `--format` asks.
///
/// ``write(number:_:writeLine:)`` takes any event; ``plain`` prints most of them faster, from their JSON lines.
final class TemplateText {
  /// The same for the fields of a JSON line; `nil` where some are asked for that no such line has.
  let plain: LineTemplate?
  private let template: FormatTemplate
  private let output: ByteBuffer
  private let style: EventLineStyle
  /// The time in each form that is wanted.
  private var times: [FormatTemplate.Field: String] = [:]

  init(_ template: FormatTemplate, output: ByteBuffer, style: EventLineStyle) {
    (self.template, self.output, self.style) = (template, output, style)
    let pieces = template.parts.compactMap(\.ofLine)
    plain = pieces.count == template.parts.count ? LineTemplate(pieces) : nil
  }

  /// What comes now came at this time.
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

  /// Prints one event; `value` gives the fields that the protocol has, `nil` being none, and `writeLine` appends its JSON
  /// line to the output.
  func write(
    number: Int, _ value: (FormatTemplate.Field) -> String?, writeLine: () -> Void
  ) {
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
  /// The same of a JSON line without escapes; `nil` for what it does not hold.
  fileprivate var ofLine: LineTemplate.Piece? {
    switch self {
    case .text(let text): .literal(text)
    case .field(.event): .event
    case .field(.channel): .channel
    case .field(.id): .id
    // Without escapes there is nothing that divides fields.
    case .field(.data), .field(.dataField): .data
    case .field(.line): .line
    case .field(.number): .number
    // An event with a user's id has no line of the usual shape.
    case .field(.userID): .literal("")
    case .field(.wire): nil
    case .field(let time): FormatTemplate.times.firstIndex(of: time).map { .variable($0) }
    }
  }
}

extension FormatTemplate {
  /// Appends one event: each field as `value` gives it, the JSON line as `writeLine` writes it, its end included.
  ///
  /// Control characters of names and ids are shown instead of obeyed, so that none begins a line of its own; those of
  /// data only on a terminal.
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
  /// Seconds since 1970 with three decimals.
  fileprivate var secondsText: String {
    let milliseconds = String(millisecondsSince1970 - secondsSince1970 * 1000 + 1000).dropFirst()
    return "\(secondsSince1970).\(milliseconds)"
  }
}
