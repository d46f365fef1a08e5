/// Lower-case hexadecimal, as every Pusher signature is written.
package enum Hex {
  private static let digits = [UInt8]("0123456789abcdef".utf8)

  package static func encode(_ bytes: [UInt8]) -> String {
    var text: [UInt8] = []
    text.reserveCapacity(bytes.count * 2)
    for byte in bytes {
      text.append(digits[Int(byte >> 4)])
      text.append(digits[Int(byte & 15)])
    }
    return String(decoding: text, as: UTF8.self)
  }

  @inline(__always) package static func value(of digit: UInt8) -> UInt8? {
    switch digit {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): digit &- 0x30
    case UInt8(ascii: "a")...UInt8(ascii: "f"): digit &- 0x57
    case UInt8(ascii: "A")...UInt8(ascii: "F"): digit &- 0x37
    default: nil
    }
  }
}
