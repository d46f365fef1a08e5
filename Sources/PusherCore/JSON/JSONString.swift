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
    while true {
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
    if forTerminal || copy.isEscaped {
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
    while index < text.count {
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
}
