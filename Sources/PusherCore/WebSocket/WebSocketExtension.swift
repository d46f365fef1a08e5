package struct InvalidExtension: Error, Equatable { package let reason: String }

/// One element of a `Sec-WebSocket-Extensions` list (RFC 6455 section 9.1).
struct WebSocketExtension {
  let name: String
  var parameters: [(name: String, value: String?)] = []

  static func parse(_ fields: [String]) throws(InvalidExtension) -> [WebSocketExtension] {
    var elements: [WebSocketExtension] = []
    for field in fields {
      var reader = Reader(rest: [UInt8](field.utf8)[...])
      elements += try reader.elements()
    }
    return elements
  }

  private struct Reader {
    var rest: ArraySlice<UInt8>

    mutating func elements() throws(InvalidExtension) -> [WebSocketExtension] {
      var elements: [WebSocketExtension] = []
      while true {
        // Empty elements are part of every HTTP list (RFC 9110 section 5.6.1).
        while take(UInt8(ascii: ",")) {}
        guard !rest.isEmpty else { return elements }
        var element = WebSocketExtension(name: try token())
        while take(UInt8(ascii: ";")) {
          let name = try token()
          element.parameters.append((name, take(UInt8(ascii: "=")) ? try value() : nil))
        }
        guard rest.isEmpty || rest.first == UInt8(ascii: ",") else { throw Self.malformed }
        elements.append(element)
      }
    }

    private static let malformed = InvalidExtension(
      reason: "the Sec-WebSocket-Extensions field is malformed")

    /// Takes one byte and the blanks around it, if it comes next.
    private mutating func take(_ byte: UInt8) -> Bool {
      skipBlanks()
      guard rest.first == byte else { return false }
      rest.removeFirst()
      skipBlanks()
      return true
    }

    private mutating func skipBlanks() { rest = rest.drop { $0 == 0x20 || $0 == 0x09 } }

    private mutating func token() throws(InvalidExtension) -> String {
      let token = rest.prefix { ASCII.isToken($0) }
      guard !token.isEmpty else { throw Self.malformed }
      rest = rest.dropFirst(token.count)
      return String(decoding: token, as: UTF8.self)
    }

    /// A token, or a quoted string whose content is a token.
    private mutating func value() throws(InvalidExtension) -> String {
      guard rest.first == UInt8(ascii: "\"") else { return try token() }
      rest.removeFirst()
      let value = try token()
      guard rest.popFirst() == UInt8(ascii: "\"") else { throw Self.malformed }
      return value
    }
  }
}
