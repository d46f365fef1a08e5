/// Writes a ``JSONValue`` as one line: members in order, no white space.
package enum JSONWriter {
  /// With `forTerminal`, characters that could drive a terminal are escaped too.
  package static func write(
    _ value: JSONValue, into buffer: ByteBuffer, forTerminal: Bool = false
  ) {
    guard var open = Container(value) else { return writeScalar(value, into: buffer, forTerminal) }
    // Open containers are kept here, because the stack may be small.
    var outer: [Container] = []
    buffer.append(open.opening)
    while true {
      guard let index = open.next() else {
        buffer.append(open.closing)
        guard let last = outer.popLast() else { return }
        open = last
        continue
      }
      if index > 0 { buffer.append(UInt8(ascii: ",")) }
      if open.isObject {
        JSONString.encode(open.members[index].name, into: buffer, forTerminal: forTerminal)
        buffer.append(UInt8(ascii: ":"))
      }
      let value = open.isObject ? open.members[index].value : open.elements[index]
      if let inner = Container(value) {
        outer.append(open)
        open = inner
        buffer.append(open.opening)
      } else {
        writeScalar(value, into: buffer, forTerminal)
      }
    }
  }

  private struct Container {
    let isObject: Bool
    private(set) var elements: [JSONValue] = []
    private(set) var members: [JSONValue.Member] = []
    private var done = 0

    init?(_ value: JSONValue) {
      switch value {
      case .array(let elements):
        isObject = false
        self.elements = elements
      case .object(let members):
        isObject = true
        self.members = members
      default: return nil
      }
    }

    mutating func next() -> Int? {
      guard done < (isObject ? members.count : elements.count) else { return nil }
      done += 1
      return done - 1
    }

    var opening: UInt8 { isObject ? UInt8(ascii: "{") : UInt8(ascii: "[") }
    var closing: UInt8 { isObject ? UInt8(ascii: "}") : UInt8(ascii: "]") }
  }

  private static func writeScalar(
    _ value: JSONValue, into buffer: ByteBuffer, _ forTerminal: Bool
  ) {
    switch value {
    case .bool(let flag): buffer.append(flag ? "true" : "false" as StaticString)
    case .number(let digits): buffer.append(digits)
    case .string(let text): JSONString.encode(text, into: buffer, forTerminal: forTerminal)
    case .null, .array, .object: buffer.append("null" as StaticString)
    }
  }

  package static func text(_ value: JSONValue) -> String {
    let buffer = ByteBuffer()
    write(value, into: buffer)
    return buffer.view.text
  }
}

/// Members at the beginning of each line, such as its time.
///
/// Its bytes stay in one place, so that a line neither copies nor counts references.
package final class LeadingMembers {
  private let bytes = ByteBuffer(capacity: 64)

  package init() {}

  /// The value must need no escapes.
  package func set(_ name: StaticString, _ value: String) {
    bytes.removeAll()
    bytes.append(#"{""# as StaticString)
    bytes.append(name)
    bytes.append(#"":""# as StaticString)
    bytes.append(value)
    bytes.append(UInt8(ascii: "\""))
  }

  var count: Int { bytes.count }

  package func begin(_ output: ByteBuffer) {
    output.append(bytes.view)
    output.append(bytes.isEmpty ? UInt8(ascii: "{") : UInt8(ascii: ","))
  }

  /// Writes the members before a line at `start`, whose `{` becomes `,`.
  @inline(__always) func write(before start: UnsafeMutablePointer<UInt8>) {
    guard !bytes.isEmpty else { return }
    let leading = bytes.view
    unsafe (start - leading.count).update(from: leading.base, count: leading.count)
    unsafe start.pointee = UInt8(ascii: ",")
  }
}

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
      _ = try cursor.skipValue(depthLimit: depthLimit) { token in
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

/// The text between the quotes of a JSON string.
package enum JSONString {
  /// Decodes the text of a valid JSON string; half a surrogate pair becomes U+FFFD.
  package static func decode(_ escaped: ByteView) -> String {
    guard JSONCursor(escaped).plainRun() < escaped.count else { return escaped.text }
    let buffer = ByteBuffer(capacity: escaped.count)
    decode(escaped, into: buffer)
    return buffer.view.text
  }

  package static func decode(_ escaped: ByteView, into buffer: ByteBuffer) {
    buffer.reserve(escaped.count)
    var cursor = JSONCursor(escaped)
    // A cut escape moves beyond the end.
    while !cursor.atEnd {
      let run = cursor.plainRun()
      buffer.append(escaped[cursor.offset..<(cursor.offset + run)])
      cursor.advance(run)
      guard !cursor.atEnd else { return }
      guard cursor.byte == UInt8(ascii: "\\") else {
        buffer.append(cursor.byte)
        cursor.advance()
        continue
      }
      decodeEscape(&cursor, into: buffer)
    }
  }

  private static func decodeEscape(_ cursor: inout JSONCursor, into buffer: ByteBuffer) {
    let letter = cursor.peek(1)
    guard letter == UInt8(ascii: "u") else {
      buffer.append(plain(letter))
      cursor.advance(2)
      return
    }
    let (scalar, length) = cursor.unicodeEscape()
    for byte in String(scalar ?? "\u{FFFD}").utf8 { buffer.append(byte) }
    cursor.advance(length)
  }

  private static func plain(_ letter: UInt8) -> UInt8 {
    switch letter {
    case UInt8(ascii: "b"): 0x08
    case UInt8(ascii: "f"): 0x0C
    case UInt8(ascii: "n"): 0x0A
    case UInt8(ascii: "r"): 0x0D
    case UInt8(ascii: "t"): 0x09
    default: letter
    }
  }

  /// Escapes quote, backslash and the control characters below U+0020; `text` must be UTF-8.
  package static func encode(_ text: ByteView, into buffer: ByteBuffer, forTerminal: Bool = false) {
    buffer.append(UInt8(ascii: "\""))
    encodeContent(text, into: buffer, forTerminal: forTerminal)
    buffer.append(UInt8(ascii: "\""))
  }

  private static func encodeContent(
    _ text: ByteView, into buffer: ByteBuffer, forTerminal: Bool
  ) {
    var cursor = JSONCursor(text)
    while true {
      let run = cursor.plainRun()
      append(text[cursor.offset..<(cursor.offset + run)], into: buffer, forTerminal: forTerminal)
      cursor.advance(run)
      guard !cursor.atEnd else { break }
      appendEscaped(cursor.byte, into: buffer)
      cursor.advance()
    }
  }

  package static func encode(_ text: String, into buffer: ByteBuffer, forTerminal: Bool = false) {
    buffer.append(UInt8(ascii: "\""))
    // Most texts need no escape. A scan needs the buffer's padding, so the text is copied first.
    let start = buffer.count
    buffer.append(text)
    let copy = buffer.view[start..<buffer.count]
    if copy.isEscaped || forTerminal && !copy.isPrintableASCII {
      let plain = ByteBuffer(capacity: copy.count)
      plain.append(copy)
      buffer.truncate(to: start)
      encodeContent(plain.view, into: buffer, forTerminal: forTerminal)
    }
    buffer.append(UInt8(ascii: "\""))
  }

  static func append(_ plain: ByteView, into buffer: ByteBuffer, forTerminal: Bool) {
    if forTerminal { appendForTerminal(plain, into: buffer) } else { buffer.append(plain) }
  }

  private static func appendEscaped(_ byte: UInt8, into buffer: ByteBuffer) {
    buffer.append(UInt8(ascii: "\\"))
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"): buffer.append(byte)
    case 0x08: buffer.append(UInt8(ascii: "b"))
    case 0x0C: buffer.append(UInt8(ascii: "f"))
    case 0x0A: buffer.append(UInt8(ascii: "n"))
    case 0x0D: buffer.append(UInt8(ascii: "r"))
    case 0x09: buffer.append(UInt8(ascii: "t"))
    default: buffer.append("u00" + Hex.encode([byte]))
    }
  }

  /// Finds marks that turn the direction of text or begin a line.
  private static func directionMark(_ text: ByteView, at index: Int) -> (mark: UInt16, length: Int)?
  {
    if text[index] == 0xD8, index + 1 < text.count, text[index + 1] == 0x9C { return (0x061C, 2) }
    guard text[index] == 0xE2, index + 2 < text.count else { return nil }
    let mark = 0x2000 | UInt16(text[index + 1] & 0x3F) << 6 | UInt16(text[index + 2] & 0x3F)
    switch mark {
    case 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069: return (mark, 3)
    default: return nil
    }
  }

  /// Escapes what could drive or deceive a terminal, beyond the C0 controls: DEL, the C1 controls
  /// (U+0080 to U+009F), line separators and marks that turn the direction of text.
  package static func appendForTerminal(_ text: ByteView, into buffer: ByteBuffer) {
    var index = 0
    while true {
      let end = min(text.printableEnd(from: index), text.count)
      if index < end { buffer.append(text[index..<end]) }
      index = end
      guard index < text.count else { return }
      let byte = text[index]
      if byte == 0x7F {
        buffer.append("\\u007f")
      } else if byte == 0xC2, index + 1 < text.count, text[index + 1] < 0xA0 {
        buffer.append("\\u00" + Hex.encode([text[index + 1]]))
        index += 1
      } else if let (mark, length) = directionMark(text, at: index) {
        buffer.append("\\u" + Hex.encode([UInt8(mark >> 8), UInt8(mark & 0xFF)]))
        index += length - 1
      } else {
        buffer.append(byte)
      }
      index += 1
    }
  }
}

extension ByteView {
  /// True if the content of a JSON string holds an escape.
  @inline(__always) var isEscaped: Bool { JSONCursor(self).plainRun() < count }

  /// The content of a JSON string, between its quotes; `nil` for any other value.
  @inline(__always) package var unquoted: ByteView? {
    guard count >= 2, self[0] == UInt8(ascii: "\""), self[count - 1] == UInt8(ascii: "\"") else {
      return nil
    }
    return self[1..<(count - 1)]
  }

  /// True if a valid JSON value is a number.
  @inline(__always) package var isNumber: Bool {
    !isEmpty && (self[0] == UInt8(ascii: "-") || self[0] &- 0x30 < 10)
  }
}
