package enum ErrorText {
  /// Returns the `error` or `message` of a JSON object, else the text, as one line.
  ///
  /// Control characters become blanks, so that foreign text cannot drive a terminal.
  package static func line(of text: String, limit: Int = 500) -> String {
    let json = try? JSONParser.parse(text)
    // An empty object says nothing.
    if json?.members?.isEmpty == true { return "" }
    return shown(json?["error"]?.text ?? json?["message"]?.text ?? text, limit: limit)
  }

  /// Returns the beginning of a foreign text as one line, in the same way.
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
