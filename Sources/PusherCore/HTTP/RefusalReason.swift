/// The reason that a server gives in the body of a refusal.
package enum RefusalReason {
  /// Maximum number of characters to show.
  private static let limit = 300
  /// Maximum number of bytes to look through.
  private static let sizeLimit = 64 << 10

  /// Returns the message of a JSON object, the title of a page, or the beginning of a text.
  ///
  /// The result is one line. Control characters become blanks, so that foreign text cannot drive a
  /// terminal; signatures and keys are hidden.
  package static func line(of body: [UInt8]) -> String {
    let bytes = Array(body.prefix(sizeLimit))
    if isPage(bytes) { return HTMLPage(bytes).name }
    let text = String(decoding: bytes, as: UTF8.self)
    let json = try? JSONParser.parse(text)
    // An empty object says nothing.
    if json?.members?.isEmpty == true { return "" }
    return shown(json.flatMap(message) ?? text)
  }

  /// Returns whether a body is a page, or other markup, whatever type it claims.
  package static func isPage(_ body: [UInt8]) -> Bool {
    body.first { $0 > 0x20 } == UInt8(ascii: "<")
  }

  /// Returns the beginning of a body in quotes, for a message that it is unusable.
  package static func beginning(of body: [UInt8]) -> String {
    let words = shown(String(decoding: body.prefix(256), as: UTF8.self), limit: 60)
    return words.isEmpty ? "" : "it begins with '\(words)'"
  }

  /// The members of Laravel, Django, RFC 9457 and the APIs of language models.
  private static func message(_ json: JSONValue) -> String? {
    let error = json["error"]
    return error?.text ?? error?["message"]?.text ?? json["message"]?.text ?? json["detail"]?.text
      ?? json["title"]?.text
  }

  /// Returns the beginning of a text as one line, without secrets.
  ///
  /// Secrets are hidden before the text is cut, because a part of one cannot be recognised.
  static func shown(_ text: String, limit: Int = limit) -> String {
    let safe = Redaction.redact(text)
    let words = ErrorText.shown(safe, limit: limit)
    return safe.unicodeScalars.count > limit ? words + "…" : words
  }
}

/// The beginning of a page of HTML, as a peer sent it.
private struct HTMLPage {
  private let bytes: [UInt8]
  /// The same bytes with small ASCII letters.
  private let folded: [UInt8]

  init(_ bytes: [UInt8]) {
    self.bytes = bytes
    folded = bytes.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }
  }

  /// `page 'TITLE'`; the first heading or the text replaces a missing title.
  var name: String {
    let parts: [Range<Int>?] = [content(of: "title"), content(of: "h1"), 0..<bytes.count]
    for part in parts.compactMap(\.self) {
      let text = Self.unescaped(String(decoding: text(in: part), as: UTF8.self))
      let shown = RefusalReason.shown(text, limit: 100)
      if !shown.isEmpty { return "page '\(shown)'" }
    }
    return "a page without text"
  }

  /// Returns the place between the first tags of an element.
  private func content(of element: String) -> Range<Int>? {
    guard let tag = place(of: "<\(element)", from: 0), let start = place(of: ">", from: tag),
      let end = place(of: "</\(element)", from: start)
    else { return nil }
    return (start + 1)..<end
  }

  private func place(of needle: String, from start: Int) -> Int? {
    let pattern = Array(needle.utf8)
    guard let first = pattern.first else { return nil }
    var rest = folded[start...]
    while let found = rest.firstIndex(of: first) {
      rest = rest[found...]
      if rest.starts(with: pattern) { return found }
      rest = rest.dropFirst()
    }
    return nil
  }

  /// Returns the text without tags, comments, styles and scripts.
  private func text(in range: Range<Int>) -> [UInt8] {
    var text: [UInt8] = []
    var next = range.lowerBound
    while next < range.upperBound {
      guard folded[next] == UInt8(ascii: "<") else {
        text.append(bytes[next])
        next += 1
        continue
      }
      text.append(0x20)
      let rest = folded[next...]
      let hidden = ["style", "script"].first { rest.dropFirst().starts(with: $0.utf8) }
      let mark = rest.starts(with: "<!--".utf8) ? "-->" : hidden.map { "</\($0)" } ?? ">"
      guard let end = place(of: mark, from: next) else { break }
      // The loop skips the closing tag of a style or script itself.
      next = hidden == nil ? end + mark.utf8.count : end
    }
    return text
  }

  /// Replaces the usual character references.
  private static func unescaped(_ text: String) -> String {
    var pieces = text.pieces(separatedBy: "&")[...]
    var result = pieces.popFirst() ?? ""
    for piece in pieces {
      guard let end = piece.utf8.prefix(9).firstIndex(of: UInt8(ascii: ";")),
        let character = character(String(piece[..<end]))
      else {
        result += "&" + piece
        continue
      }
      result += character + piece[piece.utf8.index(after: end)...]
    }
    return result
  }

  private static func character(_ name: String) -> String? {
    let names = ["amp": "&", "lt": "<", "gt": ">", "quot": "\"", "apos": "'", "nbsp": " "]
    guard let number = name.dropping(prefix: "#") else { return names[name] }
    let hex = number.dropping(prefix: "x") ?? number.dropping(prefix: "X")
    let value = hex.map { UInt32($0, radix: 16) } ?? UInt32(number)
    return value.flatMap(Unicode.Scalar.init).map { String(Character($0)) }
  }
}
