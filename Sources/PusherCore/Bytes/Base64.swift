/// Base64 with padding (RFC 4648 section 4).
package enum Base64 {
  private static let alphabet = [UInt8](
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

  /// Four characters for each three bytes begun.
  package static func encode(_ bytes: [UInt8]) -> String {
    var text: [UInt8] = []
    text.reserveCapacity((bytes.count + 2) / 3 * 4)
    var index = 0
    while index < bytes.count {
      let left = bytes.count - index
      let group =
        UInt32(bytes[index]) << 16
        | (left > 1 ? UInt32(bytes[index + 1]) << 8 : 0)
        | (left > 2 ? UInt32(bytes[index + 2]) : 0)
      text.append(alphabet[Int(group >> 18)])
      text.append(alphabet[Int(group >> 12 & 63)])
      text.append(left > 1 ? alphabet[Int(group >> 6 & 63)] : UInt8(ascii: "="))
      text.append(left > 2 ? alphabet[Int(group & 63)] : UInt8(ascii: "="))
      index += 3
    }
    return String(decoding: text, as: UTF8.self)
  }

  /// The bytes that `text` stands for; `nil` when a character, the length or the padding is wrong.
  package static func decode(_ text: String) -> [UInt8]? {
    let input = ByteBuffer(capacity: text.utf8.count)
    let output = ByteBuffer(capacity: text.utf8.count)
    input.append(text)
    return decode(input.view, into: output) ? output.array : nil
  }

  /// Appends the bytes that `text` stands for; `false`, with nothing appended, when a character, the length or the padding
  /// is wrong.
  package static func decode(_ text: ByteView, into output: ByteBuffer) -> Bool {
    guard text.count % 4 == 0 else { return false }
    guard !text.isEmpty else { return true }
    let padding = text[text.count - 1] != 0x3D ? 0 : text[text.count - 2] != 0x3D ? 1 : 2
    output.reserve(text.count / 4 * 3)
    let start = unsafe output.tail
    // A wrong character has both high bits, which no value has: one look at the end finds them all.
    var seen: UInt32 = 0
    unsafe values.withUnsafeBufferPointer { values in
      var end = unsafe start
      func value(_ index: Int) -> UInt32 { unsafe UInt32(values[Int(text.base[index])]) }
      for index in stride(from: 0, to: text.count &- 4, by: 4) {
        let (first, second) = (value(index), value(index &+ 1))
        let (third, fourth) = (value(index &+ 2), value(index &+ 3))
        seen |= first | second | third | fourth
        unsafe put(first &<< 18 | second &<< 12 | third &<< 6 | fourth, to: &end)
      }
      // The padding counts as nothing in the last group, and is wrong anywhere else.
      let last = text.count &- 4
      var group: UInt32 = 0
      for index in 0..<4 {
        let value = index < 4 &- padding ? value(last &+ index) : 0
        seen |= value
        group = group &<< 6 | value
      }
      unsafe put(group, to: &end)
    }
    guard seen < 64 else { return false }
    output.commit(text.count / 4 * 3 - padding)
    return true
  }

  @inline(__always)
  private static func put(_ group: UInt32, to end: inout UnsafeMutablePointer<UInt8>) {
    unsafe end[0] = UInt8(truncatingIfNeeded: group &>> 16)
    unsafe end[1] = UInt8(truncatingIfNeeded: group &>> 8)
    unsafe end[2] = UInt8(truncatingIfNeeded: group)
    unsafe end += 3
  }

  /// What each byte stands for; 0xC0 for a byte outside the alphabet.
  private static let values: [UInt8] = {
    var values = [UInt8](repeating: 0xC0, count: 256)
    for (value, character) in alphabet.enumerated() { values[Int(character)] = UInt8(value) }
    return values
  }()
}
