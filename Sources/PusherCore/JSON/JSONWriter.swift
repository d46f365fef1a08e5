/// Writes a ``JSONValue`` as one line: members in order, no white space.
package enum JSONWriter {
  /// With `forTerminal`, characters that could drive a terminal are escaped too.
  package static func write(
    _ value: JSONValue, into buffer: ByteBuffer, forTerminal: Bool = false
  ) {
    guard var open = Container(value) else { return writeScalar(value, into: buffer, forTerminal) }
    // Open containers are kept here, because the stack may be small.
    var outer: [Container] = []
    buffer.append(open.opening)
    while true {
      guard let index = open.next() else {
        buffer.append(open.closing)
        guard let last = outer.popLast() else { return }
        open = last
        continue
      }
      if index > 0 { buffer.append(UInt8(ascii: ",")) }
      if open.isObject {
        JSONString.encode(open.members[index].name, into: buffer, forTerminal: forTerminal)
        buffer.append(UInt8(ascii: ":"))
      }
      let value = open.isObject ? open.members[index].value : open.elements[index]
      if let inner = Container(value) {
        outer.append(open)
        open = inner
        buffer.append(open.opening)
      } else {
        writeScalar(value, into: buffer, forTerminal)
      }
    }
  }

  private struct Container {
    let isObject: Bool
    private(set) var elements: [JSONValue] = []
    private(set) var members: [JSONValue.Member] = []
    private var done = 0

    init?(_ value: JSONValue) {
      switch value {
      case .array(let elements):
        isObject = false
        self.elements = elements
      case .object(let members):
        isObject = true
        self.members = members
      default: return nil
      }
    }

    mutating func next() -> Int? {
      guard done < (isObject ? members.count : elements.count) else { return nil }
      done += 1
      return done - 1
    }

    var opening: UInt8 { isObject ? UInt8(ascii: "{") : UInt8(ascii: "[") }
    var closing: UInt8 { isObject ? UInt8(ascii: "}") : UInt8(ascii: "]") }
  }

  private static func writeScalar(
    _ value: JSONValue, into buffer: ByteBuffer, _ forTerminal: Bool
  ) {
    switch value {
    case .bool(let flag): buffer.append(flag ? "true" : "false" as StaticString)
    case .number(let digits): buffer.append(digits)
    case .string(let text): JSONString.encode(text, into: buffer, forTerminal: forTerminal)
    case .null, .array, .object: buffer.append("null" as StaticString)
    }
  }

  package static func text(_ value: JSONValue) -> String {
    let buffer = ByteBuffer()
    write(value, into: buffer)
    return buffer.view.text
  }
}
