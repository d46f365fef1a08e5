/// Removes signatures and channel keys from text that is shown.
///
/// One pass over the bytes, since a peer may have written the text.
package enum Redaction {
  /// A run of hexadecimal digits of this length is a signature (HMAC-SHA256).
  private static let signatureLength = 64
  private static let ellipsis = Array("…".utf8)

  /// The text before a hidden value: as a member of the message, and inside a JSON string.
  private static let openings = ["auth", "shared_secret"].flatMap { name in
    ["\"\(name)\":\"", "\\\"\(name)\\\":\\\""].map { Array($0.utf8) }
  }

  /// Replaces each signature, and each value of `auth` and `shared_secret`, by `…`.
  package static func redact(_ message: String) -> String {
    let bytes = Array(message.utf8)
    var result: [UInt8] = []
    result.reserveCapacity(bytes.count)
    var place = 0
    while place < bytes.count {
      let digits = bytes[place...].prefix { Hex.value(of: $0) != nil }.count
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

  private static func opening(_ bytes: [UInt8], at place: Int) -> [UInt8]? {
    guard bytes[place] == UInt8(ascii: "\"") || bytes[place] == UInt8(ascii: "\\") else {
      return nil
    }
    return openings.first { bytes[place...].starts(with: $0) }
  }
}

package enum ErrorText {
  /// Returns the beginning of a foreign text as one line.
  ///
  /// Control characters become blanks, so that foreign text cannot drive a terminal.
  package static func shown(_ words: String, limit: Int) -> String {
    var line = ""
    var endsWithBlank = true
    for scalar in words.unicodeScalars.prefix(limit) {
      let isBlank = scalar.value <= 0x20 || (0x7F...0xA0).contains(scalar.value)
      if !isBlank { line.unicodeScalars.append(scalar) }
      if isBlank && !endsWithBlank { line.append(" ") }
      endsWithBlank = isBlank
    }
    if line.last == " " { line.removeLast() }
    return line
  }
}

/// An error whose text is all that its reader needs; the text holds no secret.
package struct ExplainedError: Error, Equatable, CustomStringConvertible {
  package let description: String

  package init(_ description: String) { self.description = description }
}
