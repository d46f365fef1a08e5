/// Lower-case hexadecimal, as every Pusher signature is written.
package enum Hex {
  package static func encode(_ bytes: [UInt8]) -> String {
    unsafe String(unsafeUninitializedCapacity: bytes.count * 2) { text in
      for (index, byte) in bytes.enumerated() {
        unsafe text[index * 2] = digit(byte >> 4)
        unsafe text[index * 2 + 1] = digit(byte & 15)
      }
      return bytes.count * 2
    }
  }

  private static func digit(_ value: UInt8) -> UInt8 { value &+ (value < 10 ? 0x30 : 0x57) }

  @inline(__always) package static func value(of digit: UInt8) -> UInt8? {
    switch digit {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): digit &- 0x30
    case UInt8(ascii: "a")...UInt8(ascii: "f"): digit &- 0x57
    case UInt8(ascii: "A")...UInt8(ascii: "F"): digit &- 0x37
    default: nil
    }
  }
}

/// Base64 with padding (RFC 4648 section 4).
package enum Base64 {
  private static let alphabet = [UInt8](
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

  package static func encode(_ bytes: [UInt8]) -> String {
    var text: [UInt8] = []
    text.reserveCapacity((bytes.count + 2) / 3 * 4)
    var index = 0
    while index < bytes.count {
      let left = bytes.count - index
      let group =
        UInt32(bytes[index]) << 16 | (left > 1 ? UInt32(bytes[index + 1]) << 8 : 0)
        | (left > 2 ? UInt32(bytes[index + 2]) : 0)
      text.append(alphabet[Int(group >> 18)])
      text.append(alphabet[Int(group >> 12 & 63)])
      text.append(left > 1 ? alphabet[Int(group >> 6 & 63)] : UInt8(ascii: "="))
      text.append(left > 2 ? alphabet[Int(group & 63)] : UInt8(ascii: "="))
      index += 3
    }
    return String(decoding: text, as: UTF8.self)
  }

  /// Decodes `text`; `nil` if a character, the length or the padding is wrong.
  package static func decode(_ text: String) -> [UInt8]? {
    let input = ByteBuffer(capacity: text.utf8.count)
    let output = ByteBuffer(capacity: text.utf8.count)
    input.append(text)
    return decode(input.view, into: output) ? output.array : nil
  }

  /// Returns `false`, with nothing appended, if a character, the length or the padding is wrong.
  package static func decode(_ text: ByteView, into output: ByteBuffer) -> Bool {
    guard text.count % 4 == 0 else { return false }
    guard !text.isEmpty else { return true }
    let padding = text[text.count - 1] != 0x3D ? 0 : text[text.count - 2] != 0x3D ? 1 : 2
    // Each group is written with a fourth byte, which the next group overwrites.
    output.reserve(text.count / 4 * 3 + 1)
    var end = unsafe UnsafeMutableRawPointer(output.tail)
    // A wrong character gives a byte that no group has, so one check at the end finds them all.
    var seen: UInt32 = 0
    unsafe groups.withUnsafeBufferPointer { table in
      func part(_ place: Int, _ character: UInt32) -> UInt32 {
        unsafe table[place &<< 8 | Int(truncatingIfNeeded: character & 0xFF)]
      }
      func put(_ group: UInt32) {
        seen |= group
        unsafe end.storeBytes(of: group.littleEndian, as: UInt32.self)
        unsafe end += 3
      }
      let input = unsafe UnsafeRawPointer(text.base)
      let last = text.count &- 4
      for index in stride(from: 0, to: last, by: 4) {
        let four = unsafe UInt32(
          littleEndian: input.loadUnaligned(fromByteOffset: index, as: UInt32.self))
        put(part(0, four) | part(1, four &>> 8) | part(2, four &>> 16) | part(3, four &>> 24))
      }
      // Padding is zero bits in the last group, and an error anywhere else.
      var group: UInt32 = 0
      for place in 0..<4 &- padding {
        group |= unsafe part(place, UInt32(text.base[last &+ place]))
      }
      put(group)
    }
    guard seen <= largestGroup else { return false }
    output.commit(text.count / 4 * 3 - padding)
    return true
  }

  /// The first byte of a group is the lowest one.
  private static let largestGroup: UInt32 = 0xFF_FFFF
  /// Bits that each character adds to a group of three bytes, by its place in the four.
  ///
  /// Four tables of 256 entries; bytes outside the alphabet have more than ``largestGroup``.
  private static let groups: [UInt32] = {
    var table = [UInt32](repeating: ~largestGroup, count: 4 * 256)
    for place in 0..<4 {
      for (value, character) in alphabet.enumerated() {
        let group = UInt32(value) << (18 - 6 * place)
        table[place * 256 + Int(character)] = (group << 8).byteSwapped
      }
    }
    return table
  }()
}

extension String {
  /// Returns the text with a backslash before each byte of `special`.
  ///
  /// Byte by byte: a shell or a language ignores that a combining mark changes a character.
  package func escaping(_ special: String) -> String {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(utf8.count)
    for byte in utf8 {
      if special.utf8.contains(byte) { bytes.append(UInt8(ascii: "\\")) }
      bytes.append(byte)
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
