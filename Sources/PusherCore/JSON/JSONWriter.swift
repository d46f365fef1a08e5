/// A ``JSONValue`` to one line of bytes: members in their order, no white space.
package enum JSONWriter {
  /// Appends `value`; with `forTerminal` DEL and the C1 controls are escaped too.
  package static func write(
    _ value: JSONValue, into buffer: ByteBuffer, forTerminal: Bool = false
  ) {
    switch value {
    case .null: buffer.append("null" as StaticString)
    case .bool(let flag): buffer.append(flag ? "true" : "false" as StaticString)
    case .number(let digits): buffer.append(digits)
    case .string(let text): JSONString.encode(text, into: buffer, forTerminal: forTerminal)
    case .array(let elements):
      buffer.append(UInt8(ascii: "["))
      for (index, element) in elements.enumerated() {
        if index > 0 { buffer.append(UInt8(ascii: ",")) }
        write(element, into: buffer, forTerminal: forTerminal)
      }
      buffer.append(UInt8(ascii: "]"))
    case .object(let members):
      buffer.append(UInt8(ascii: "{"))
      for (index, member) in members.enumerated() {
        if index > 0 { buffer.append(UInt8(ascii: ",")) }
        JSONString.encode(member.name, into: buffer, forTerminal: forTerminal)
        buffer.append(UInt8(ascii: ":"))
        write(member.value, into: buffer, forTerminal: forTerminal)
      }
      buffer.append(UInt8(ascii: "}"))
    }
  }

  /// The line as text.
  package static func text(_ value: JSONValue) -> String {
    let buffer = ByteBuffer()
    write(value, into: buffer)
    return buffer.view.text
  }
}
