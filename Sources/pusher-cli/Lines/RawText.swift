internal import PusherCore

/// Prints only the data of events: `-o raw`; a string has no quotes.
struct RawText {
  let output: ByteBuffer
  let style: EventLineStyle
  func write(_ envelope: Envelope) { write(envelope.shownData(isRaw: style.rawData)) }

  func write(_ data: JSONValue) {
    if case .string(let text) = data {
      output.append(style.forTerminal ? Diagnostics.escaped(text) : text)
    } else {
      JSONWriter.write(data, into: output, forTerminal: style.forTerminal)
    }
    output.append(style.terminator)
  }
}

extension Envelope {
  /// The data as people see it; with `isRaw` the text from the wire.
  func shownData(isRaw: Bool) -> JSONValue {
    if let base64 = base64Token { return .string(base64.text) }
    guard isRaw, let text = dataText else { return data }
    return .string(text)
  }
}
