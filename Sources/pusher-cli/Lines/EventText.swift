internal import PusherCore

/// Prints events for people and for plain-text tools: `-o pretty` and `-o raw`.
///
/// Pretty is a head line `time  channel  event` and the data indented below it, on one line when it fits. Raw is
/// the data alone, text without its quotes.
struct EventText {
  let output: ByteBuffer
  let style: EventLineStyle
  let isPretty: Bool

  /// The longest data that stays on one line.
  private static let lineWidth = 76

  func write(_ envelope: Envelope, named name: String?, at time: WallTime?) {
    if isPretty {
      writeHead(event: name ?? envelope.eventName, channel: envelope.channelName, at: time)
    }
    writeData(data(of: envelope))
  }

  func write(event: String, channel: String?, data: JSONValue, at time: WallTime?) {
    if isPretty { writeHead(event: event, channel: channel, at: time) }
    writeData(data)
  }

  private func data(of envelope: Envelope) -> JSONValue {
    if let base64 = envelope.base64Token { return .string(base64.text) }
    guard style.rawData, let token = envelope.dataToken else { return envelope.data }
    return .string(envelope.dataString.map(JSONString.decode) ?? token.text)
  }

  private func writeHead(event: String, channel: String?, at time: WallTime?) {
    let clock = time.map { "\($0.clock)  " } ?? ""
    let palette = style.palette
    output.append(palette?.key ?? "")
    output.append(clock)
    output.append(palette?.reset ?? "")
    // Escaped wherever it goes, so that a head stays one line.
    if let channel { output.append(Diagnostics.escaped(channel + "  ")) }
    output.append(palette?.event ?? "")
    output.append(Diagnostics.escaped(event))
    output.append(palette?.reset ?? "")
    output.append(UInt8(ascii: "\n"))
  }

  private func writeData(_ data: JSONValue) {
    if isPretty {
      output.append("  " as StaticString)
      writePretty(data)
    } else if case .string(let text) = data {
      append(text: text)
    } else {
      JSONWriter.write(data, into: output, forTerminal: style.forTerminal)
    }
    output.append(style.terminator)
  }

  private func writePretty(_ data: JSONValue) {
    let line = ByteBuffer()
    JSONWriter.write(data, into: line, forTerminal: style.forTerminal)
    if line.count <= Self.lineWidth {
      output.append(line.view)
    } else {
      writeIndented(data, depth: 1)
    }
  }

  /// Deeper values stay on one line: indentation must not cost a multiple of what is shown.
  private static let deepest = 16

  private func writeIndented(_ value: JSONValue, depth: Int) {
    switch value {
    case _ where depth > Self.deepest:
      JSONWriter.write(value, into: output, forTerminal: style.forTerminal)
    case .array(let elements) where !elements.isEmpty:
      output.append(UInt8(ascii: "["))
      for (index, element) in elements.enumerated() {
        beginLine(depth: depth + 1, isFirst: index == 0)
        writeIndented(element, depth: depth + 1)
      }
      beginLine(depth: depth, isFirst: true)
      output.append(UInt8(ascii: "]"))
    case .object(let members) where !members.isEmpty:
      output.append(UInt8(ascii: "{"))
      for (index, member) in members.enumerated() {
        beginLine(depth: depth + 1, isFirst: index == 0)
        JSONString.encode(member.name, into: output, forTerminal: style.forTerminal)
        output.append(": " as StaticString)
        writeIndented(member.value, depth: depth + 1)
      }
      beginLine(depth: depth, isFirst: true)
      output.append(UInt8(ascii: "}"))
    default: JSONWriter.write(value, into: output, forTerminal: style.forTerminal)
    }
  }

  private func beginLine(depth: Int, isFirst: Bool) {
    if !isFirst { output.append(UInt8(ascii: ",")) }
    output.append(UInt8(ascii: "\n"))
    output.append(String(repeating: "  ", count: depth))
  }

  /// Appends text as it is; on a terminal with its control characters shown instead of obeyed.
  private func append(text: String) {
    output.append(style.forTerminal ? Diagnostics.escaped(text) : text)
  }
}
