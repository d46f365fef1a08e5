internal import PusherCore

/// Prints events as `--format` says.
///
/// Control characters of names and IDs are always escaped, those of data only on a terminal.
final class TemplateText {
  private let template: FormatTemplate
  /// The template with the times of the burst as text.
  private var parts: [FormatTemplate.Part]
  private let output: ByteBuffer
  private let style: EventLineStyle
  private let scratch = ByteBuffer(capacity: 64)

  init(_ template: FormatTemplate, output: ByteBuffer, style: EventLineStyle) {
    (self.template, self.output, self.style) = (template, output, style)
    parts = template.parts
  }

  func begin(at time: WallTime) {
    guard template.usesTime else { return }
    parts = template.parts.map { part in
      switch part {
      case .field(.time): .text(time.rfc3339)
      case .field(.localTime): .text(time.localText)
      case .field(.seconds): .text(time.secondsText)
      default: part
      }
    }
  }

  /// - Parameters:
  ///   - number: Number of the event.
  ///   - source: The data as it came.
  func write(_ line: EventLine, number: Int, source: () -> String?) {
    for part in parts {
      switch part {
      case .text(let text): output.append(text)
      case .field(.line):
        style.write(line, to: output)
        output.truncate(to: output.count - 1)
      case .field(.event): write(name: line.event)
      case .field(.channel): write(name: line.channel)
      case .field(.userID): write(name: line.userID)
      case .field(.id): write(name: line.id)
      case .field(.number): output.append(decimal: number)
      case .field(.wire): write(data: source() ?? "")
      case .field(.data):
        if style.forTerminal {
          write(data: text(of: line))
        } else {
          line.writeText(of: line.data, into: output)
        }
      case .field(.dataField): write(data: Self.field(of: text(of: line)))
      // Times are text by now.
      case .field(.time), .field(.localTime), .field(.seconds): break
      }
    }
    output.append(style.terminator)
  }

  private func write(name token: ByteView?) {
    guard let token else { return }
    if token.isPrintableASCII, !token.holds(UInt8(ascii: "\\")) {
      output.append(token)
    } else {
      output.append(Diagnostics.escaped(JSONString.decode(token)))
    }
  }

  private func write(data: String) {
    output.append(style.forTerminal ? Diagnostics.escaped(data) : data)
  }

  private func text(of line: EventLine) -> String {
    scratch.removeAll()
    line.writeText(of: line.data, into: scratch)
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
