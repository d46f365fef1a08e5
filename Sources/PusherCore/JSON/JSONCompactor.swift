/// Copies foreign JSON to the output without changing its meaning.
///
/// White space outside strings goes; everything else stays byte for byte. Two things would end a
/// pipeline: half a surrogate pair becomes `\ufffd`, and nesting deeper than the limit is rejected.
/// With `forTerminal`, characters that could drive a terminal are escaped too.
package enum JSONCompactor {
  /// Appends the one value in `view`, or throws and leaves `output` unchanged.
  package static func copy(
    _ view: ByteView, into output: ByteBuffer, depthLimit: Int = jsonDepthLimit,
    forTerminal: Bool = false
  ) throws(JSONError) {
    let before = output.count
    do {
      var cursor = JSONCursor(view)
      cursor.skipWhitespace()
      _ = try JSONSkipper.skipValue(&cursor, depthLimit: depthLimit) { token in
        guard view[token.lowerBound] == UInt8(ascii: "\"") else {
          return output.append(view[token])
        }
        let body = view[(token.lowerBound + 1)..<(token.upperBound - 1)]
        copyString(body, into: output, forTerminal: forTerminal)
      }
      try cursor.requireEnd()
    } catch {
      output.truncate(to: before)
      throw error
    }
  }

  /// Appends a JSON string, given by the valid text between its quotes.
  package static func copyString(
    _ body: ByteView, into output: ByteBuffer, forTerminal: Bool = false
  ) {
    output.append(UInt8(ascii: "\""))
    if !forTerminal, JSONCursor(body).plainRun() == body.count {
      output.append(body)
    } else {
      copyStringBody(body, into: output, forTerminal: forTerminal)
    }
    output.append(UInt8(ascii: "\""))
  }

  private static func copyStringBody(_ body: ByteView, into output: ByteBuffer, forTerminal: Bool) {
    var reader = JSONCursor(body)
    while true {
      let run = reader.plainRun()
      let plain = body[reader.offset..<(reader.offset + run)]
      JSONString.append(plain, into: output, forTerminal: forTerminal)
      reader.advance(run)
      guard !reader.atEnd else { return }
      let isUnicode = reader.peek(1) == UInt8(ascii: "u")
      let (scalar, length) = isUnicode ? reader.unicodeEscape() : (scalar: " ", length: 2)
      if scalar == nil {
        output.append("\\ufffd" as StaticString)
      } else {
        output.append(body[reader.offset..<(reader.offset + length)])
      }
      reader.advance(length)
    }
  }
}
