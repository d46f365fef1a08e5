/// Escapes text byte by byte: a shell or a language ignores that a combining mark changes a
/// character.
package enum EscapedText {
  /// Returns the text with a backslash before each byte of `special`.
  package static func escaped(_ text: String, _ special: String) -> String {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.utf8.count)
    for byte in text.utf8 {
      if special.utf8.contains(byte) { bytes.append(UInt8(ascii: "\\")) }
      bytes.append(byte)
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}

package enum ErrorText {
  /// Returns the beginning of a foreign text as one line.
  ///
  /// Control characters become blanks, so that foreign text cannot drive a terminal.
  package static func shown(_ words: String, limit: Int) -> String {
    var line = ""
    var endsWithBlank = true
    for scalar in words.unicodeScalars.prefix(limit) {
      let isBlank = scalar.value <= 0x20 || (0x7F...0xA0).contains(scalar.value)
      if !isBlank { line.unicodeScalars.append(scalar) }
      if isBlank && !endsWithBlank { line.append(" ") }
      endsWithBlank = isBlank
    }
    if line.last == " " { line.removeLast() }
    return line
  }
}
