/// Copies foreign JSON to the output without changing what it says.
///
/// White space outside strings goes; numbers, the order of members, repeated names and escapes stay byte for byte.
/// Two things are mended, because they end a pipeline: half a surrogate pair becomes `\ufffd`, and nesting deeper
/// than the limit is refused. With `forTerminal` DEL and the C1 controls are escaped too. With a buffer for their text,
/// strings that hold escapes are written anew, as ``JSONWriter`` writes them.
package struct JSONCompactor {
  private var cursor: JSONCursor
  private let output: ByteBuffer
  private let depthLimit: Int
  private let forTerminal: Bool
  private var text: ByteBuffer?

  /// Appends the one value that `view` holds to `output`.
  ///
  /// - Parameter text: Is overwritten with the text of strings that are written anew; `nil` to copy them.
  /// - Throws: ``JSONError``; `output` is then as it was.
  package static func copy(
    _ view: ByteView, into output: ByteBuffer, depthLimit: Int = jsonDepthLimit,
    forTerminal: Bool = false, text: ByteBuffer? = nil
  ) throws(JSONError) {
    let before = output.count
    do {
      var compactor = JSONCompactor(
        cursor: JSONCursor(view), output: output, depthLimit: depthLimit, forTerminal: forTerminal,
        text: text)
      compactor.cursor.skipWhitespace()
      try compactor.copyValue()
      try compactor.cursor.requireEnd()
    } catch {
      output.truncate(to: before)
      throw error
    }
  }

  /// Appends a JSON string, given by the valid text between its quotes, with half surrogate pairs mended.
  package static func copyString(
    _ body: ByteView, into output: ByteBuffer, forTerminal: Bool = false
  ) {
    output.append(UInt8(ascii: "\""))
    if !forTerminal, JSONCursor(body).plainRun() == body.count {
      output.append(body)
      return output.append(UInt8(ascii: "\""))
    }
    let compactor = JSONCompactor(
      cursor: JSONCursor(body), output: output, depthLimit: 0, forTerminal: forTerminal)
    compactor.copyStringBody(body)
    output.append(UInt8(ascii: "\""))
  }

  private mutating func copyValue() throws(JSONError) {
    // The ends of open containers are kept here, since the stack may be small.
    var closings: [UInt8] = []
    var isFirst = try copyScalarOrOpening(&closings)
    while let closing = closings.last {
      cursor.skipWhitespace()
      if cursor.byte == closing {
        cursor.advance()
        output.append(closing)
        closings.removeLast()
        isFirst = false
        continue
      }
      if !isFirst {
        try cursor.require(UInt8(ascii: ","))
        output.append(UInt8(ascii: ","))
        cursor.skipWhitespace()
      }
      if closing == UInt8(ascii: "}") { try copyName() }
      isFirst = try copyScalarOrOpening(&closings)
    }
  }

  /// Copies a scalar, or the opening of a container; true for the latter.
  private mutating func copyScalarOrOpening(_ closings: inout [UInt8]) throws(JSONError) -> Bool {
    let first = cursor.offset
    switch cursor.byte {
    case UInt8(ascii: "{"), UInt8(ascii: "["):
      guard closings.count < depthLimit else { throw .tooDeep(limit: depthLimit) }
      closings.append(cursor.byte + 2)
      output.append(cursor.byte)
      cursor.advance()
      return true
    case UInt8(ascii: "\""): try copyString()
    case UInt8(ascii: "t"), UInt8(ascii: "f"), UInt8(ascii: "n"):
      try cursor.skipLiteral()
      output.append(cursor.view[first..<cursor.offset])
    default:
      try cursor.skipNumber()
      output.append(cursor.view[first..<cursor.offset])
    }
    return false
  }

  private mutating func copyName() throws(JSONError) {
    try copyString()
    cursor.skipWhitespace()
    try cursor.require(UInt8(ascii: ":"))
    output.append(UInt8(ascii: ":"))
    cursor.skipWhitespace()
  }

  private mutating func copyString() throws(JSONError) {
    let body = cursor.view[try cursor.skipString()]
    guard let text, body.isEscaped else {
      return Self.copyString(body, into: output, forTerminal: forTerminal)
    }
    text.removeAll()
    JSONString.decode(body, into: text)
    JSONString.encode(text.view, into: output, forTerminal: forTerminal)
  }

  /// Copies the valid text between two quotes, with half surrogate pairs mended.
  private func copyStringBody(_ body: ByteView) {
    var reader = JSONCursor(body)
    while true {
      let run = reader.plainRun()
      append(body[reader.offset..<(reader.offset + run)])
      reader.advance(run)
      guard !reader.atEnd else { return }
      var length = 2
      if reader.peek(1) == UInt8(ascii: "u") {
        let escape = reader.unicodeEscape()
        length = escape.length
        guard escape.scalar != nil else {
          output.append("\\ufffd" as StaticString)
          reader.advance(length)
          continue
        }
      }
      output.append(body[reader.offset..<(reader.offset + length)])
      reader.advance(length)
    }
  }

  private func append(_ run: ByteView) {
    if forTerminal {
      JSONString.appendForTerminal(run, into: output)
    } else {
      output.append(run)
    }
  }
}
