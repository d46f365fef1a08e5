internal import PusherCore

/// Prints only the data of events: `-o raw`; a string has no quotes.
struct RawText {
  let output: ByteBuffer
  let style: EventLineStyle
  func write(_ envelope: Envelope) { write(envelope.shownData) }

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
  /// The data as people see it.
  var shownData: JSONValue { base64Token.map { .string($0.text) } ?? data }
}
