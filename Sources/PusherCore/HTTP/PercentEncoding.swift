/// Percent-encoding (RFC 3986 section 2.1).
package enum PercentEncoding {
  /// Encodes all bytes except letters, digits and `-._~` as `%XX`, in upper case.
  package static func encode(_ text: String) -> String {
    encode(text, where: { !isUnreserved($0) })
  }

  /// Encodes the percent sign and all bytes except visible ASCII, for use in a header field.
  package static func encodeForField(_ text: String) -> String {
    encode(text, where: { !ASCII.isVisible($0) || $0 == UInt8(ascii: "%") })
  }

  private static func encode(_ text: String, where isWritten: (UInt8) -> Bool) -> String {
    var encoded: [UInt8] = []
    encoded.reserveCapacity(text.utf8.count)
    for byte in text.utf8 {
      if !isWritten(byte) {
        encoded.append(byte)
      } else {
        encoded += bytes(byte)
      }
    }
    return String(decoding: encoded, as: UTF8.self)
  }

  static func bytes(_ byte: UInt8) -> [UInt8] {
    [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
  }

  /// Decodes a text; `nil` for a `%` without two digits or for bytes that are not UTF-8.
  package static func decode(_ text: String) -> String? { decode(Array(text.utf8)[...]) }
  package static func decode(_ text: ArraySlice<UInt8>) -> String? { decode(text, blank: nil) }

  /// Decodes a part of a form or query, in which `+` is a blank.
  package static func decodeForm(_ text: ArraySlice<UInt8>) -> String? {
    decode(text, blank: UInt8(ascii: "+"))
  }

  private static func decode(_ text: ArraySlice<UInt8>, blank: UInt8?) -> String? {
    let mark = UInt8(ascii: "%")
    let other = blank ?? mark
    guard text.contains(where: { $0 == mark || $0 == other }) else {
      return UTF8Validator.text(text)
    }
    var decoded: [UInt8] = []
    decoded.reserveCapacity(text.count)
    var rest = text.makeIterator()
    while let byte = rest.next() {
      switch byte {
      case blank: decoded.append(UInt8(ascii: " "))
      case UInt8(ascii: "%"):
        guard let first = rest.next(), let high = Hex.value(of: first),
          let second = rest.next(), let low = Hex.value(of: second)
        else { return nil }
        decoded.append(high << 4 | low)
      default: decoded.append(byte)
      }
    }
    return UTF8Validator.text(decoded[...])
  }

  /// Encodes pairs for a form or query: `name=value&name=value`.
  package static func form(_ pairs: [(String, String)]) -> String {
    pairs.map { "\(encode($0.0))=\(encode($0.1))" }.joined(separator: "&")
  }

  private static let digits = [UInt8]("0123456789ABCDEF".utf8)

  /// Returns whether a byte is a letter, a digit or one of `-._~`.
  static func isUnreserved(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."),
      UInt8(ascii: "_"), UInt8(ascii: "~"):
      true
    default: false
    }
  }
}
