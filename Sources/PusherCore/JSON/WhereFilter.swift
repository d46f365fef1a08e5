/// Decides whether a line meets all conditions of `--where`.
///
/// One pass over the line for each condition, without a tree. A line's text with escapes and the
/// text that a pattern searches are copied into one buffer, which keeps its room.
package final class WhereFilter {
  private let clauses: [WhereClause]
  private let scratch = ByteBuffer(capacity: WhereClause.searchedBytes + 64)

  /// Returns `nil` without conditions.
  package init?(_ clauses: [WhereClause]) {
    guard !clauses.isEmpty else { return nil }
    self.clauses = clauses
  }

  /// - Parameter line: A JSON object, with or without the end of its line.
  package func passes(_ line: ByteView) -> Bool {
    for clause in clauses where !clause.holds(for: line, scratch) { return false }
    return true
  }
}

extension WhereClause {
  /// Returns false for text that is not JSON.
  func holds(for line: ByteView, _ scratch: ByteBuffer) -> Bool {
    var cursor = JSONCursor(line)
    let range: Range<Int>?
    do throws(JSONError) {
      range = try find(0, &cursor)
    } catch {
      return false
    }
    let value = range.map { line[$0] }
    switch test {
    case .exists: return range != nil
    case .compares(let comparison, let operand):
      return comparison.holds(Self.order(of: value, operand, scratch))
    case .matches(let pattern):
      guard let value, let body = value.unquoted else { return false }
      return Self.search(body, pattern, scratch)
    }
  }

  /// Returns the value at the path from `step` on, and steps over the whole value at the cursor.
  ///
  /// The recursion is as deep as the path, whatever the line's depth.
  private func find(_ step: Int, _ cursor: inout JSONCursor) throws(JSONError) -> Range<Int>? {
    cursor.skipWhitespace()
    let first = cursor.offset
    guard step < steps.count else {
      try cursor.passValue()
      return first..<cursor.offset
    }
    switch steps[step] {
    case .member(let name) where cursor.byte == UInt8(ascii: "{"):
      return try findMember(name, step, &cursor)
    case .element(let index) where cursor.byte == UInt8(ascii: "["):
      return try findElement(index, step, &cursor)
    case .member, .element:
      try cursor.passValue()
      return nil
    }
  }

  /// The last of repeated members counts, as in JavaScript.
  private func findMember(
    _ name: [UInt8], _ step: Int, _ cursor: inout JSONCursor
  ) throws(JSONError) -> Range<Int>? {
    var found: Range<Int>?
    var isFirst = true
    while try cursor.passSeparator(closing: UInt8(ascii: "}"), &isFirst) {
      let key = cursor.view[try cursor.skipString()]
      cursor.skipWhitespace()
      try cursor.require(UInt8(ascii: ":"))
      cursor.skipWhitespace()
      if key.isName(name) {
        found = try find(step + 1, &cursor)
      } else {
        try cursor.passValue()
      }
    }
    return found
  }

  private func findElement(
    _ index: Int, _ step: Int, _ cursor: inout JSONCursor
  ) throws(JSONError) -> Range<Int>? {
    var found: Range<Int>?
    var place = 0
    var isFirst = true
    while try cursor.passSeparator(closing: UInt8(ascii: "]"), &isFirst) {
      if place == index {
        found = try find(step + 1, &cursor)
      } else {
        try cursor.passValue()
      }
      place += 1
    }
    return found
  }

  /// Compares a line's value with the operand; `nil` for values of different kinds.
  ///
  /// A missing value counts as null, as in jq.
  @inline(__always) private static func order(
    of value: ByteView?, _ operand: Operand, _ scratch: ByteBuffer
  ) -> Int? {
    guard let value, !value.isEmpty else {
      if case .null = operand { return 0 }
      return nil
    }
    switch operand {
    case .null: return value.equals("null") ? 0 : nil
    case .bool(let isTrue): return value.equals(isTrue ? "true" : "false") ? 0 : nil
    case .number(let number):
      guard value[0] == UInt8(ascii: "-") || value[0] &- 0x30 < 10 else { return nil }
      return number.order(of: value)
    case .text(let text):
      guard let body = value.unquoted else { return nil }
      guard body.isEscaped else { return body.order(text) }
      scratch.removeAll()
      defer { scratch.removeAll() }
      JSONString.decode(body, into: scratch)
      return scratch.view.order(text)
    }
  }

  private static func search(
    _ body: ByteView, _ pattern: any TextPattern, _ scratch: ByteBuffer
  ) -> Bool {
    let beginning = beginning(of: body)
    scratch.removeAll()
    defer { scratch.removeAll() }
    JSONString.decode(beginning, into: scratch)
    scratch.append(0)
    let text = scratch.view[0..<(scratch.count - 1)]
    return pattern.matches(text, isCut: beginning.count < body.count)
  }

  /// Returns the part that a pattern searches; it ends neither in an escape nor in a character.
  private static func beginning(of body: ByteView) -> ByteView {
    guard body.count > searchedBytes else { return body }
    var end = 0
    while true {
      var next = end + 1
      if body[end] == UInt8(ascii: "\\") {
        next = end + (body[next] == UInt8(ascii: "u") ? 6 : 2)
      }
      guard next <= searchedBytes else { break }
      end = next
    }
    while end > 0, body[end] & 0xC0 == 0x80 { end -= 1 }
    return body[0..<end]
  }
}

extension JSONCursor {
  /// Steps over a value of text that is known to be JSON; only its end is looked for.
  fileprivate mutating func passValue() throws(JSONError) {
    switch byte {
    case UInt8(ascii: "\""): _ = try skipString()
    case UInt8(ascii: "{"), UInt8(ascii: "["): try passContainer()
    default: passScalar()
    }
  }

  private mutating func passContainer() throws(JSONError) {
    var depth = 0
    repeat {
      switch byte {
      case UInt8(ascii: "\""): _ = try skipString()
      case UInt8(ascii: "{"), UInt8(ascii: "["):
        depth += 1
        advance()
      case UInt8(ascii: "}"), UInt8(ascii: "]"):
        depth -= 1
        advance()
      default:
        guard !atEnd else { throw failure }
        advance()
      }
    } while depth > 0
  }

  private mutating func passScalar() {
    while !atEnd {
      switch byte {
      case UInt8(ascii: ","), UInt8(ascii: "}"), UInt8(ascii: "]"), 0x20, 0x0A, 0x0D, 0x09: return
      default: advance()
      }
    }
  }

  /// Steps over what precedes a part of the container, or ends the container.
  ///
  /// Returns false after the last part. The cursor is at the opening if `isFirst` is set.
  fileprivate mutating func passSeparator(
    closing: UInt8, _ isFirst: inout Bool
  ) throws(JSONError) -> Bool {
    let isOpening = isFirst
    isFirst = false
    if isOpening { advance() }
    skipWhitespace()
    if byte == closing {
      advance()
      return false
    }
    if !isOpening {
      try require(UInt8(ascii: ","))
      skipWhitespace()
    }
    return true
  }
}

extension ByteView {
  /// The text between the quotes of a JSON string; `nil` for any other value.
  fileprivate var unquoted: ByteView? {
    count >= 2 && self[0] == UInt8(ascii: "\"") ? self[1..<(count - 1)] : nil
  }

  /// Returns the order of this text and `other` by their bytes: below, equal to or above 0.
  fileprivate func order(_ other: [UInt8]) -> Int {
    for index in 0..<min(count, other.count) where self[index] != other[index] {
      return Int(self[index]) - Int(other[index])
    }
    return count - other.count
  }
}
