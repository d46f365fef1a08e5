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
