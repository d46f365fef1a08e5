internal import PusherCore

/// Prints the data of events alone, for plain-text tools: `-o raw`; text goes without its quotes.
struct RawText {
  let output: ByteBuffer
  let style: EventLineStyle

  func write(_ envelope: Envelope) {
    write(envelope.shownData(isRaw: style.rawData))
  }

  func write(_ data: JSONValue) {
    if case .string(let text) = data {
      // On a terminal control characters are shown instead of obeyed.
      output.append(style.forTerminal ? Diagnostics.escaped(text) : text)
    } else {
      JSONWriter.write(data, into: output, forTerminal: style.forTerminal)
    }
    output.append(style.terminator)
  }
}

extension Envelope {
  /// What people are shown of the data; with `isRaw` the text that it was on the wire.
  func shownData(isRaw: Bool) -> JSONValue {
    if let base64 = base64Token { return .string(base64.text) }
    guard isRaw, let text = dataText else { return data }
    return .string(text)
  }
}
