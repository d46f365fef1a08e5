/// Percent-encoding (RFC 3986 section 2.1).
package enum PercentEncoding {
  /// The text with everything but letters, digits and `-._~` written as `%XX`, in upper case.
  package static func encode(_ text: String) -> String {
    encode(text, where: { !isUnreserved($0) })
  }

  /// The text with the percent sign and everything but visible ASCII written so: one that any header field can hold.
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

  /// One byte as `%XX`.
  static func bytes(_ byte: UInt8) -> [UInt8] {
    [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
  }

  /// The text that was encoded; `nil` for a `%` without two digits, and for bytes that are not UTF-8.
  package static func decode(_ text: String) -> String? {
    decode(Array(text.utf8)[...])
  }

  /// The text that was encoded as these bytes; `nil` as above.
  package static func decode(_ text: ArraySlice<UInt8>) -> String? {
    decode(text, blank: nil)
  }

  /// The same, for a form or a query: a blank is written as `+` there.
  package static func decodeForm(_ text: ArraySlice<UInt8>) -> String? {
    decode(text, blank: UInt8(ascii: "+"))
  }

  private static func decode(_ text: ArraySlice<UInt8>, blank: UInt8?) -> String? {
    let mark = UInt8(ascii: "%")
    let other = blank ?? mark
    guard text.contains(where: { $0 == mark || $0 == other }) else {
      return String(validating: text, as: UTF8.self)
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
    return String(validating: decoded, as: UTF8.self)
  }

  /// Pairs as a form's body or a query: `name=value&name=value`, each part encoded.
  package static func form(_ pairs: [(String, String)]) -> String {
    pairs.map { "\(encode($0.0))=\(encode($0.1))" }.joined(separator: "&")
  }

  private static let digits = [UInt8]("0123456789ABCDEF".utf8)

  private static func isUnreserved(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."),
      UInt8(ascii: "_"), UInt8(ascii: "~"):
      true
    default: false
    }
  }
}
