extension HTTPURL {
  /// Resolves `reference`: absolute, or relative to this URL's scheme, host or path.
  ///
  /// Percent-encodes blanks and bytes beyond ASCII, as browsers and curl do. Drops a fragment.
  /// Keeps this URL's user information for a reference without an authority. Throws
  /// ``HTTPError/invalidURL(_:)``.
  package func resolving(_ reference: String) throws(HTTPError) -> HTTPURL {
    let text = Self.encoded(reference.prefix { $0 != "#" })[...]
    if Self.hasScheme(text) { return try HTTPURL(parsing: String(text)).normalised }
    if text.hasPrefix("//") { return try HTTPURL(parsing: "\(scheme.rawValue):\(text)").normalised }
    guard text.utf8.allSatisfy(ASCII.isVisible) else {
      throw .invalidURL("spaces, control and non-ASCII characters must be percent-encoded")
    }
    let mark = text.firstIndex(of: "?")
    let path = text[..<(mark ?? text.endIndex)]
    var result = self
    result.query = mark.map { String(text[$0...].dropFirst()) }
    if path.hasPrefix("/") {
      result.path = String(path)
    } else if !path.isEmpty {
      let last = self.path.utf8.lastIndex(of: UInt8(ascii: "/")) ?? self.path.startIndex
      result.path = String(self.path[...last] + path)
    } else if mark == nil {
      result.query = query
    }
    return result.normalised
  }

  private static func encoded(_ reference: Substring) -> String {
    let text = ASCII.trimmed(reference)
    guard text.utf8.contains(where: { $0 == 0x20 || $0 >= 0x80 }) else { return text }
    return String(
      decoding: text.utf8.flatMap { byte -> [UInt8] in
        byte == 0x20 || byte >= 0x80 ? PercentEncoding.bytes(byte) : [byte]
      }, as: UTF8.self)
  }

  /// Returns whether the text begins with a scheme and a colon.
  private static func hasScheme(_ text: Substring) -> Bool {
    guard let colon = text.firstIndex(of: ":"), text.first?.isLetter == true else { return false }
    return text[..<colon].utf8.allSatisfy {
      (0x61...0x7A).contains($0 | 0x20) || (0x30...0x39).contains($0) || "+-.".utf8.contains($0)
    }
  }

  /// The URL without `.` and `..` in its path (RFC 3986 section 5.2.4).
  private var normalised: HTTPURL {
    var kept: [Substring] = []
    let segments = path.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
    for segment in segments {
      switch segment {
      case ".": break
      case "..": _ = kept.popLast()
      default: kept.append(segment)
      }
    }
    if segments.last == "." || segments.last == ".." { kept.append("") }
    var result = self
    result.path = "/" + kept.joined(separator: "/")
    return result
  }
}
