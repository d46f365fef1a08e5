extension JSONWalk {
  enum Place {
    /// At a value, or after the opening quote of a name.
    case part
    /// After the closing bracket.
    case end
    /// The text is not JSON.
    case broken
  }

  // Little-endian numbers of the bytes between parts.

  /// The bytes `":`.
  private static let nameEnd: UInt32 = 0x3A22
  /// The bytes `":"`.
  private static let nameEndBeforeText: UInt32 = 0x22_3A22
  /// The bytes `","`.
  private static let textEndBeforeName: UInt32 = 0x22_2C22
  /// The bytes `,"`.
  private static let nextName: UInt32 = 0x222C

  /// Steps over members of an object, up to the value of the next one with this name.
  ///
  /// - Parameters:
  ///   - isFirst: True at the opening bracket, false after a value.
  ///   - isLast: True to go on to the end of the object; `found` becomes the last value.
  @inline(never) mutating func passMembers(
    _ name: JSONPath.Name, of path: JSONPath, isFirst: Bool, isLast: Bool, _ found: inout ByteView
  ) -> Place {
    // A copy stays in registers.
    var walk = self
    defer { self = walk }
    var place = isFirst ? walk.passOpening() : walk.passToName()
    while place == .part {
      let first = walk.at
      walk.passPlainText()
      let isName: Bool
      if walk.word & 0xFFFF == Self.nameEnd {
        isName = path.isName(name, plain: walk.view.part(first, walk.at))
        if !isName, let next = walk.passTextValue() {
          place = next
          continue
        }
        walk.advance(2)
        walk.passBlanks()
      } else {
        let unusual = Self.unusualName(walk.view, first, walk.at, name, path)
        guard walk.move(to: unusual.end) else { return .broken }
        isName = unusual.isName
      }
      if isName, !isLast { return .part }
      let value = walk.at
      guard walk.passValue() else { return .broken }
      if isName { found = walk.view.part(value, walk.at) }
      place = walk.passToName()
    }
    return place
  }

  /// Steps from a name's closing quote to the next name if the value is a text, as most are;
  /// otherwise stays and returns `nil`.
  @inline(__always) private mutating func passTextValue() -> Place? {
    guard word & 0xFF_FFFF == Self.nameEndBeforeText else { return nil }
    advance(3)
    passPlainText()
    if word & 0xFF_FFFF == Self.textEndBeforeName {
      guard !atEnd else { return .broken }
      advance(3)
      return .part
    }
    return passTextEnd() ? passToName() : .broken
  }

  /// Returns the place of the value after a name with escapes or blanks, or -1.
  @inline(never) private static func unusualName(
    _ view: ByteView, _ first: Int, _ textEnd: Int, _ name: JSONPath.Name, _ path: JSONPath
  ) -> (end: Int, isName: Bool) {
    var walk = JSONWalk(view, at: textEnd)
    let isEscaped = walk.byte == UInt8(ascii: "\\")
    guard walk.passTextEnd(), !walk.atEnd else { return (-1, false) }
    let text = view.part(first, walk.at &- 1)
    walk.passBlanks()
    guard walk.pass(UInt8(ascii: ":")) else { return (-1, false) }
    walk.passBlanks()
    return (walk.at, isEscaped ? path.isName(name, escaped: text) : path.isName(name, plain: text))
  }

  @inline(__always) private mutating func passOpening() -> Place {
    advance()
    passBlanks()
    guard !atEnd else { return .broken }
    if pass(UInt8(ascii: "\"")) { return .part }
    return pass(UInt8(ascii: "}")) ? .end : .broken
  }

  /// Steps from the end of a value to the next name, or over the closing bracket.
  @inline(__always) private mutating func passToName() -> Place {
    guard !atEnd else { return .broken }
    if word & 0xFFFF == Self.nextName {
      advance(2)
      return .part
    }
    passBlanks()
    guard !atEnd else { return .broken }
    if pass(UInt8(ascii: "}")) { return .end }
    guard pass(UInt8(ascii: ",")) else { return .broken }
    passBlanks()
    return pass(UInt8(ascii: "\"")) ? .part : .broken
  }
}

extension ByteView {
  /// The bytes between two places, without a check: for walks only.
  @inline(__always) func part(_ first: Int, _ end: Int) -> ByteView {
    unsafe ByteView(base: base + first, count: end &- first)
  }
}
