/// A simple reader of RFC 8259; tests compare the library's readers with it.
///
/// It also checks the rules for a line of a pipeline: UTF-8, no control character, no half
/// surrogate pair.
package struct StrictJSON {
  private let bytes: [UInt8]
  private var position = 0

  private struct Problem: Error {
    let text: String
  }

  /// Returns the error in `bytes` as one value without white space around it; `nil` for none.
  package static func problem(in bytes: [UInt8]) -> String? {
    if bytes.contains(where: { $0 < 0x20 }) { return "a control character" }
    if String(validating: bytes, as: UTF8.self) == nil { return "not UTF-8" }
    var reader = StrictJSON(bytes: bytes)
    do {
      try reader.value()
      return reader.position == bytes.count ? nil : "more than one value"
    } catch {
      return (error as? Problem)?.text
    }
  }

  private init(bytes: [UInt8]) {
    self.bytes = bytes
  }

  private var next: UInt8? { position < bytes.count ? bytes[position] : nil }

  private mutating func take(_ text: StaticString) -> Bool {
    let wanted = text.withUTF8Buffer { Array($0) }
    guard bytes[position...].starts(with: wanted) else { return false }
    position += wanted.count
    return true
  }

  private mutating func require(_ text: StaticString) throws {
    guard take(text) else { throw Problem(text: "no \(text) at \(position)") }
  }

  private mutating func value() throws {
    if take("{") {
      if take("}") { return }
      repeat {
        try string()
        try require(":")
        try value()
      } while take(",")
      try require("}")
    } else if take("[") {
      if take("]") { return }
      repeat { try value() } while take(",")
      try require("]")
    } else if next == UInt8(ascii: "\"") {
      try string()
    } else if !take("true"), !take("false"), !take("null") {
      try number()
    }
  }

  private mutating func number() throws {
    _ = take("-")
    if !take("0") { try digits() }
    if take(".") { try digits() }
    if take("e") || take("E") {
      if !take("+") { _ = take("-") }
      try digits()
    }
  }

  private mutating func digits() throws {
    let first = position
    while let byte = next, (0x30...0x39).contains(byte) { position += 1 }
    guard position > first else { throw Problem(text: "no digit at \(position)") }
  }

  private mutating func string() throws {
    try require("\"")
    while let byte = next {
      if take("\"") { return }
      position += 1
      guard byte == UInt8(ascii: "\\") else { continue }
      guard let letter = next else { break }
      position += 1
      if letter == UInt8(ascii: "u") {
        try unicodeEscape()
      } else if !Array("\"\\/bfnrt".utf8).contains(letter) {
        throw Problem(text: "an unknown escape at \(position)")
      }
    }
    throw Problem(text: "a string without end")
  }

  private mutating func unicodeEscape() throws {
    let unit = try hexUnit()
    guard 0xD800...0xDFFF ~= unit else { return }
    guard unit < 0xDC00, take("\\u"), 0xDC00...0xDFFF ~= (try hexUnit()) else {
      throw Problem(text: "half a surrogate pair at \(position)")
    }
  }

  private mutating func hexUnit() throws -> Int {
    let digits = bytes[position...].prefix(4)
    let text = String(decoding: digits, as: UTF8.self)
    guard digits.count == 4, text.allSatisfy(\.isHexDigit), let unit = Int(text, radix: 16) else {
      throw Problem(text: "no four digits at \(position)")
    }
    position += 4
    return unit
  }
}
