/// A word or sign of Swift source outside comments and string contents.
///
/// Code in interpolations gives tokens. Covers the syntax that the tidy rules need; regex literals
/// are not supported.
struct TidyToken: Equatable {
  var text: String
  var line: Int
  /// Offsets of the first byte and of the byte after the last.
  var start: Int
  var end: Int
  var isWord: Bool

  static func scan(_ source: String) -> [TidyToken] {
    var scanner = TidyScanner(bytes: Array(source.utf8))
    scanner.scanCode(untilParenthesis: false)
    return scanner.tokens
  }
}

private struct TidyScanner {
  let bytes: [UInt8]
  var position = 0
  var line = 1
  var tokens: [TidyToken] = []

  init(bytes: [UInt8]) {
    self.bytes = bytes
  }

  private func peek(_ distance: Int = 0) -> UInt8 {
    position + distance < bytes.count ? bytes[position + distance] : 0
  }

  private func starts(with text: String) -> Bool {
    bytes[position...].starts(with: text.utf8)
  }

  private mutating func advance(_ count: Int = 1) {
    for _ in 0..<count where position < bytes.count {
      if bytes[position] == UInt8(ascii: "\n") { line += 1 }
      position += 1
    }
  }

  /// Reads code to the end, or to the parenthesis that ends an interpolation.
  mutating func scanCode(untilParenthesis: Bool) {
    var depth = 0
    while position < bytes.count {
      let byte = peek()
      if starts(with: "//") {
        while position < bytes.count, peek() != UInt8(ascii: "\n") { advance() }
      } else if starts(with: "/*") {
        skipBlockComment()
      } else if let hashes = stringHashes() {
        scanString(hashes: hashes)
      } else if isWordByte(byte) {
        scanWord()
      } else if byte <= UInt8(ascii: " ") {
        advance()
      } else {
        if byte == UInt8(ascii: "(") { depth += 1 }
        if byte == UInt8(ascii: ")") {
          if untilParenthesis && depth == 0 {
            advance()
            return
          }
          depth -= 1
        }
        add(length: 1, isWord: false)
      }
    }
  }

  private func isWordByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), 0x80...:
      true
    default:
      false
    }
  }

  private mutating func add(length: Int, isWord: Bool) {
    let text = String(decoding: bytes[position..<(position + length)], as: UTF8.self)
    tokens.append(
      TidyToken(
        text: text, line: line, start: position, end: position + length, isWord: isWord))
    advance(length)
  }

  private mutating func scanWord() {
    var length = 0
    while isWordByte(peek(length)) { length += 1 }
    add(length: length, isWord: true)
  }

  private mutating func skipBlockComment() {
    var depth = 0
    repeat {
      if starts(with: "/*") {
        depth += 1
        advance(2)
      } else if starts(with: "*/") {
        depth -= 1
        advance(2)
      } else {
        advance()
      }
    } while depth > 0 && position < bytes.count
  }

  /// Returns the number of number signs before the quotation mark of a string here, or nil.
  private func stringHashes() -> Int? {
    var hashes = 0
    while peek(hashes) == UInt8(ascii: "#") { hashes += 1 }
    return peek(hashes) == UInt8(ascii: "\"") ? hashes : nil
  }

  private mutating func scanString(hashes: Int) {
    let sign = String(repeating: "#", count: hashes)
    advance(hashes)
    let quotes = starts(with: "\"\"\"") ? "\"\"\"" : "\""
    advance(quotes.count)
    let closing = quotes + sign
    let escape = "\\" + sign
    while position < bytes.count {
      if starts(with: closing) {
        advance(closing.count)
        return
      }
      if starts(with: escape + "(") {
        advance(escape.count + 1)
        scanCode(untilParenthesis: true)
      } else if starts(with: escape) {
        advance(escape.count + 1)
      } else {
        advance()
      }
    }
  }
}
