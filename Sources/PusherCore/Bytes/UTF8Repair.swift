/// Repairs UTF-8 as the decoder of the Encoding standard does.
///
/// Each longest incomplete character, and each byte that cannot begin a character, becomes U+FFFD.
package enum UTF8Repair {
  /// Returns `false`, with a part appended, if the result exceeds `limit`; it may grow threefold.
  package static func append(_ bytes: ByteView, to buffer: ByteBuffer, limit: Int) -> Bool {
    var written = 0
    var index = 0
    while index < bytes.count {
      let start = index
      while index < bytes.count, case (true, let end) = character(bytes, at: index) { index = end }
      written += index > start ? index - start : 3
      guard written <= limit else { return false }
      if index > start {
        buffer.append(bytes[start..<index])
      } else {
        buffer.append("\u{FFFD}" as StaticString)
        index = character(bytes, at: index).end
      }
    }
    return true
  }

  /// Reads the character at `start`; an incomplete one ends with its last valid byte.
  private static func character(_ bytes: ByteView, at start: Int) -> (isWhole: Bool, end: Int) {
    let lead = bytes[start]
    guard lead >= 0x80 else { return (true, start + 1) }
    guard let sequence = UTF8Sequence(lead: lead) else { return (false, start + 1) }
    var range = sequence.low...sequence.high
    var index = start + 1
    let whole = index + sequence.continuations
    while index < whole, index < bytes.count, range.contains(bytes[index]) {
      range = 0x80...0xBF
      index += 1
    }
    return (index == whole, index)
  }
}
