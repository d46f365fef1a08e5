/// The fields of a head in order (RFC 9110 section 5); names ignore case.
package struct HTTPHeaders: Sendable, Equatable {
  package struct Field: Sendable, Equatable {
    package let name: String
    package let value: String
  }

  package private(set) var fields: [Field] = []

  package init(_ pairs: [(String, String)] = []) {
    fields = pairs.map { Field(name: $0.0, value: $0.1) }
  }

  package var count: Int { fields.count }
  package var isEmpty: Bool { fields.isEmpty }

  package mutating func append(_ name: String, _ value: String) {
    fields.append(Field(name: name, value: value))
  }

  package mutating func replace(_ name: String, with value: String) {
    remove(name)
    append(name, value)
  }

  package mutating func remove(_ name: String) {
    fields.removeAll { ASCII.equalIgnoringCase($0.name, name) }
  }

  package subscript(name: String) -> String? {
    fields.first { ASCII.equalIgnoringCase($0.name, name) }?.value
  }

  package func all(_ name: String) -> [String] {
    fields.filter { ASCII.equalIgnoringCase($0.name, name) }.map(\.value)
  }

  /// Returns the non-empty members of comma-separated lists, over all fields of this name,
  /// lower-cased.
  package func tokens(_ name: String) -> [String] { list(name).map { $0.lowercased() } }

  /// Returns the members of a comma-separated list as written, over all fields of this name.
  package func list(_ name: String) -> [String] {
    all(name).flatMap { value in
      value.split(separator: ",").map { ASCII.trimmed($0) }.filter { !$0.isEmpty }
    }
  }
}

/// HTTP's rules for single characters (RFC 9110 section 5.6).
package enum ASCII {
  static func equalIgnoringCase(_ left: String, _ right: String) -> Bool {
    guard left.utf8.count == right.utf8.count else { return false }
    var others = right.utf8.makeIterator()
    for byte in left.utf8 {
      guard let other = others.next(), lowercased(byte) == lowercased(other) else { return false }
    }
    return true
  }

  /// Returns the text without the bytes at its ends that are blank: a space or a tab, or as given.
  package static func trimmed(
    _ text: Substring, of isBlank: (UInt8) -> Bool = { $0 == 0x20 || $0 == 0x09 }
  ) -> String {
    var bytes = text.utf8
    bytes = bytes.drop(while: isBlank)
    while let last = bytes.last, isBlank(last) { bytes.removeLast() }
    return String(Substring(bytes))
  }

  /// Returns whether a byte is allowed in a token: a method, a field name, a parameter.
  @inline(__always) static func isToken(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"):
      true
    case UInt8(ascii: "!"), UInt8(ascii: "#")...UInt8(ascii: "'"), UInt8(ascii: "*"),
      UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "^"),
      UInt8(ascii: "_"), UInt8(ascii: "`"), UInt8(ascii: "|"), UInt8(ascii: "~"):
      true
    default: false
    }
  }

  package static func isToken(_ text: some StringProtocol) -> Bool {
    !text.isEmpty && text.utf8.allSatisfy { isToken($0) }
  }

  /// Returns whether a byte is allowed in a field value: no control character except tab.
  @inline(__always) static func isFieldValue(_ byte: UInt8) -> Bool {
    byte >= 0x20 ? byte != 0x7F : byte == 0x09
  }

  /// Returns whether a byte is printable ASCII and not a blank, as in a request target.
  @inline(__always) static func isVisible(_ byte: UInt8) -> Bool { byte > 0x20 && byte < 0x7F }
  private static func lowercased(_ byte: UInt8) -> UInt8 { byte &- 0x41 < 26 ? byte | 0x20 : byte }
}
