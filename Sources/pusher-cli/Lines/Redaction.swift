/// Removes signatures and channel keys from text that is shown.
///
/// One pass over the bytes, since a peer may have written the text.
enum Redaction {
  /// A run of hexadecimal digits of this length is a signature (HMAC-SHA256).
  private static let signatureLength = 64
  private static let ellipsis = Array("…".utf8)

  /// The text before a hidden value: as a member of the message, and inside a JSON string.
  private static let openings = ["auth", "shared_secret"].flatMap { name in
    ["\"\(name)\":\"", "\\\"\(name)\\\":\\\""].map { Array($0.utf8) }
  }

  /// Replaces each signature, and each value of `auth` and `shared_secret`, by `…`.
  static func redact(_ message: String) -> String {
    let bytes = Array(message.utf8)
    var result: [UInt8] = []
    result.reserveCapacity(bytes.count)
    var place = 0
    while place < bytes.count {
      let digits = hexDigits(bytes, from: place)
      if digits > 0 {
        result += digits >= signatureLength ? ellipsis[...] : bytes[place..<(place + digits)]
        place += digits
      } else if let opening = opening(bytes, at: place) {
        result += opening + ellipsis
        place += opening.count
        // The first character of the opening also ends the value.
        while place < bytes.count, bytes[place] != opening[0] { place += 1 }
      } else {
        result.append(bytes[place])
        place += 1
      }
    }
    return String(decoding: result, as: UTF8.self)
  }

  private static func hexDigits(_ bytes: [UInt8], from start: Int) -> Int {
    bytes[start...].prefix(while: isHexDigit).count
  }

  private static func isHexDigit(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x46, 0x61...0x66: true
    default: false
    }
  }

  private static func opening(_ bytes: [UInt8], at place: Int) -> [UInt8]? {
    guard bytes[place] == UInt8(ascii: "\"") || bytes[place] == UInt8(ascii: "\\") else {
      return nil
    }
    return openings.first { bytes[place...].starts(with: $0) }
  }

  /// Replaces user and password of each URL, also a malformed one, by `…`.
  ///
  /// Inside quotes, which hold the user's text, everything up to the last `@` is hidden.
  static func withoutPasswords(_ text: String) -> String {
    let bytes = Array(text.utf8)
    guard bytes.contains(UInt8(ascii: "@")) else { return text }
    var result: [UInt8] = []
    var index = 0
    while index < bytes.count {
      if let hidden = userInformation(in: bytes, at: index) {
        result += "…".utf8
        index = hidden
      } else {
        result.append(bytes[index])
        index += 1
      }
    }
    return String(decoding: result, as: UTF8.self)
  }

  /// Returns the place of the `@` that ends user information at `start`, if any.
  private static func userInformation(in bytes: [UInt8], at start: Int) -> Int? {
    let quote = UInt8(ascii: "'")
    let isBehindScheme = start >= 3 && bytes[(start - 3)..<start].elementsEqual("://".utf8)
    let isBehindQuote = start >= 1 && bytes[start - 1] == quote
    guard isBehindScheme || isBehindQuote else { return nil }
    var opening = start - 4
    while isBehindScheme, opening >= 0, (bytes[opening] | 0x20) &- 0x61 < 26 { opening -= 1 }
    let isQuoted = isBehindQuote || opening >= 0 && bytes[opening] == quote
    let rest = bytes[start...]
    // The user's text may contain a quote, so the last quote ends it.
    let end =
      isQuoted
      ? rest.lastIndex(of: quote) : rest.firstIndex { $0 <= 0x20 || "'\"/".utf8.contains($0) }
    let place = rest[..<(end ?? bytes.count)]
    guard let at = place.lastIndex(of: UInt8(ascii: "@")), at > start else { return nil }
    let information = place[..<at]
    // The form that messages recommend.
    guard !information.elementsEqual("KEY:SECRET".utf8) else { return nil }
    guard !isBehindScheme else { return at }
    // Without a scheme it is `USER:PASSWORD@…`; the loop reaches a URL with a scheme later.
    let isPair = information.contains(UInt8(ascii: ":")) && information.first != UInt8(ascii: ":")
    let isWord = information.allSatisfy { $0 > 0x20 && $0 != UInt8(ascii: "/") }
    return isPair && isWord && end != nil ? at : nil
  }
}
