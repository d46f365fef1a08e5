/// The way to one value inside JSON, step by step.
struct JSONPath: Equatable, Sendable {
  /// A step into a member, into an element, or into whichever the value has.
  fileprivate struct Step: Equatable, Sendable {
    /// `nil` for an element only.
    let name: [UInt8]?
    /// Place in an array, from 0; `nil` for a member only.
    let index: Int?
  }

  private var steps: [Step] = []

  var count: Int { steps.count }

  mutating func append(name: some Sequence<UInt8>, index: Int? = nil) {
    steps.append(Step(name: Array(name), index: index))
  }

  mutating func append(index: Int) { steps.append(Step(name: nil, index: index)) }

  /// Returns the value at the path, a string with its quotes; `nil` without one.
  ///
  /// The last of repeated members counts, as in JavaScript.
  ///
  /// - Throws: ``JSONError`` for an invalid value on the way.
  func value(in json: ByteView) throws(JSONError) -> ByteView? {
    var value = json
    for step in steps {
      var cursor = JSONCursor(value)
      cursor.skipWhitespace()
      let isArray = cursor.byte == UInt8(ascii: "[")
      guard isArray || cursor.byte == UInt8(ascii: "{") else {
        _ = try cursor.skipValue()
        return nil
      }
      var found: ByteView?
      var index = 0
      try cursor.eachPart { name, part in
        if name.map({ step.isNamed($0) }) ?? (index == step.index) { found = part }
        index += 1
      }
      guard let found else { return nil }
      value = found
    }
    return value
  }
}

extension JSONPath.Step {
  /// Reports whether a member has this name; `text` stands between quotes.
  ///
  /// An escape is longer than its character, and at most six times as long, so a peer's longer name
  /// costs no copy.
  fileprivate func isNamed(_ text: ByteView) -> Bool {
    guard let name else { return false }
    guard text.holds(UInt8(ascii: "\\")) else { return text.equals(name) }
    guard text.count > name.count, text.count <= name.count * 6 else { return false }
    let plain = ByteBuffer(capacity: text.count)
    JSONString.decode(text, into: plain)
    return withExtendedLifetime(plain) { $0.view.equals(name) }
  }
}
