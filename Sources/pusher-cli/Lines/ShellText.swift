/// Text that shells read, quoted byte by byte: to a shell a combining mark does not change the sign before it.
enum ShellText {
  /// The text with a backslash before each byte of `special`, which is ASCII.
  static func escaped(_ text: String, _ special: String) -> String {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.utf8.count)
    for byte in text.utf8 {
      if special.utf8.contains(byte) { bytes.append(UInt8(ascii: "\\")) }
      bytes.append(byte)
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
