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
