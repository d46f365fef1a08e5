/// A simple reader of RFC 8259; tests compare the library's readers and lines with it.
///
/// Members keep their order and duplicates, numbers their text. Half a surrogate pair counts as
/// U+FFFD.
package indirect enum ReferenceJSON: Equatable {
  case literal(String)
  case number([UInt8])
  case string([UInt8])
  case array([ReferenceJSON])
  case object([Member])

  package struct Member: Equatable {
    /// UTF-8, so that names compare by their code points and not by canonical equivalence.
    package let name: [UInt8]
    package let value: ReferenceJSON

    package init(name: [UInt8], value: ReferenceJSON) { (self.name, self.value) = (name, value) }
  }

  /// Parses one value with optional blanks around it; `nil` for anything else.
  package init?(_ bytes: [UInt8]) {
    var reader = Reader(bytes: bytes)
    reader.blanks()
    guard let value = reader.value() else { return nil }
    reader.blanks()
    guard reader.position == bytes.count else { return nil }
    self = value
  }

  /// Returns the value of the last member of this name, as in JavaScript.
  package func last(_ name: String) -> ReferenceJSON? {
    guard case .object(let members) = self else { return nil }
    return members.last { $0.name == Array(name.utf8) }?.value
  }

  package var depth: Int {
    switch self {
    case .array(let elements): 1 + (elements.map(\.depth).max() ?? 0)
    case .object(let members): 1 + (members.map(\.value.depth).max() ?? 0)
    default: 0
    }
  }

  fileprivate struct Reader {
    let bytes: [UInt8]
    /// Takes neither blanks nor half a surrogate pair.
    var isStrict = false
    var position = 0

    private var next: UInt8? { position < bytes.count ? bytes[position] : nil }

    mutating func blanks() {
      while !isStrict, let byte = next, [0x20, 0x09, 0x0A, 0x0D].contains(byte) { position += 1 }
    }

    private mutating func take(_ text: String) -> Bool {
      guard bytes[position...].starts(with: text.utf8) else { return false }
      position += text.utf8.count
      return true
    }

    mutating func value() -> ReferenceJSON? {
      for word in ["true", "false", "null"] where take(word) { return .literal(word) }
      switch next {
      case UInt8(ascii: "{"): return list(until: "}") { $0.member() }.map(ReferenceJSON.object)
      case UInt8(ascii: "["): return list(until: "]") { $0.value() }.map(ReferenceJSON.array)
      case UInt8(ascii: "\""): return string().map(ReferenceJSON.string)
      default: return number()
      }
    }

    private mutating func member() -> Member? {
      guard let name = string() else { return nil }
      blanks()
      guard take(":") else { return nil }
      blanks()
      return value().map { Member(name: name, value: $0) }
    }

    private mutating func list<Element>(
      until end: String, _ element: (inout Reader) -> Element?
    ) -> [Element]? {
      position += 1
      var elements: [Element] = []
      blanks()
      if take(end) { return [] }
      repeat {
        blanks()
        guard let next = element(&self) else { return nil }
        elements.append(next)
        blanks()
      } while take(",")
      return take(end) ? elements : nil
    }

    private mutating func number() -> ReferenceJSON? {
      let start = position
      _ = take("-")
      if !take("0"), !digits() { return nil }
      if take("."), !digits() { return nil }
      if take("e") || take("E") {
        if !take("+") { _ = take("-") }
        guard digits() else { return nil }
      }
      return .number(Array(bytes[start..<position]))
    }

    private mutating func digits() -> Bool {
      let start = position
      while let byte = next, (0x30...0x39).contains(byte) { position += 1 }
      return position > start
    }

    private mutating func string() -> [UInt8]? {
      guard take("\"") else { return nil }
      var decoded: [UInt8] = []
      while let byte = next {
        if take("\"") { return decoded }
        guard byte >= 0x20 else { return nil }
        if byte == UInt8(ascii: "\\") {
          guard let scalar = escape() else { return nil }
          decoded += Array(String(scalar).utf8)
        } else {
          decoded.append(byte)
          position += 1
        }
      }
      return nil
    }

    private mutating func escape() -> Unicode.Scalar? {
      let plain: [(String, Unicode.Scalar)] = [
        (#"\""#, "\""), (#"\\"#, "\\"), (#"\/"#, "/"), (#"\b"#, "\u{8}"), (#"\f"#, "\u{C}"),
        (#"\n"#, "\n"), (#"\r"#, "\r"), (#"\t"#, "\t"),
      ]
      for (text, scalar) in plain where take(text) { return scalar }
      guard let unit = unit() else { return nil }
      if let scalar = Unicode.Scalar(unit) { return scalar }
      let behind = position
      if unit < 0xDC00, let low = self.unit(), low & 0xFC00 == 0xDC00 {
        return Unicode.Scalar(0x10000 + (unit - 0xD800) << 10 + (low - 0xDC00))
      }
      position = behind
      if isStrict { return nil }
      return "\u{FFFD}"
    }

    private mutating func unit() -> UInt32? {
      let digits = bytes[position...].prefix(6)
      guard digits.count == 6, digits.starts(with: #"\u"#.utf8),
        digits.dropFirst(2).allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit })
      else { return nil }
      position += 6
      return UInt32(String(decoding: digits.dropFirst(2), as: UTF8.self), radix: 16)
    }
  }
}

/// The rules for a line of a pipeline.
package enum StrictJSON {
  /// Returns the error in `bytes` as one value of UTF-8 without white space around its parts,
  /// control characters and half surrogate pairs; `nil` for none.
  package static func problem(in bytes: [UInt8]) -> String? {
    if bytes.contains(where: { $0 < 0x20 }) { return "a control character" }
    if String(validating: bytes, as: UTF8.self) == nil { return "not UTF-8" }
    var reader = ReferenceJSON.Reader(bytes: bytes, isStrict: true)
    guard reader.value() != nil else { return "no JSON at \(reader.position)" }
    return reader.position == bytes.count ? nil : "more than one value"
  }
}
