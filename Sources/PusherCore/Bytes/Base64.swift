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
    let characters = [UInt8](text.utf8)
    guard characters.count % 4 == 0 else { return nil }
    let padding = characters.suffix(2).count { $0 == UInt8(ascii: "=") }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(characters.count / 4 * 3)
    var group: UInt32 = 0
    for (index, character) in characters.enumerated() {
      let isPadding = index >= characters.count - padding
      guard let value = isPadding && character == UInt8(ascii: "=") ? 0 : value(of: character)
      else {
        return nil
      }
      group = group << 6 | UInt32(value)
      guard index % 4 == 3 else { continue }
      bytes += [UInt8(group >> 16 & 255), UInt8(group >> 8 & 255), UInt8(group & 255)]
      group = 0
    }
    bytes.removeLast(padding)
    return bytes
  }

  private static func value(of character: UInt8) -> UInt8? {
    switch character {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): character - 65
    case UInt8(ascii: "a")...UInt8(ascii: "z"): character - 71
    case UInt8(ascii: "0")...UInt8(ascii: "9"): character + 4
    case UInt8(ascii: "+"): 62
    case UInt8(ascii: "/"): 63
    default: nil
    }
  }
}
