internal import PusherCore

/// What an answer looks like on a terminal.
enum TerminalText {
  /// The bytes of `text`, with everything that could drive or deceive a terminal written as JSON escapes it.
  ///
  /// Lines and tabulators stay. JSON stays JSON, since its own such characters stand inside strings.
  static func safe(_ text: String) -> [UInt8] {
    let input = ByteBuffer(capacity: text.utf8.count)
    input.append(text)
    let output = ByteBuffer(capacity: text.utf8.count)
    return withExtendedLifetime(input) {
      let view = input.view
      var start = 0
      for index in 0..<view.count {
        let byte = view[index]
        guard byte < 0x20, byte != UInt8(ascii: "\n"), byte != UInt8(ascii: "\t") else { continue }
        JSONString.appendForTerminal(view[start..<index], into: output)
        output.append("\\u00" + Hex.encode([byte]))
        start = index + 1
      }
      JSONString.appendForTerminal(view[start..<view.count], into: output)
      return output.view.array
    }
  }
}
