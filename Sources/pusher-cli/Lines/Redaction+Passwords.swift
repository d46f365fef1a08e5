internal import PusherCore

extension Redaction {
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
