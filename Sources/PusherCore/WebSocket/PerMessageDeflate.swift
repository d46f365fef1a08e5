/// Agreed parameters of permessage-deflate (RFC 7692 section 7.1).
package struct PerMessageDeflate: Sendable, Equatable {
  /// The window is `1 << windowBits` bytes; 8 to 15.
  ///
  /// With `takesContextOver`, a message may refer back to earlier messages.
  package typealias Direction = (windowBits: Int, takesContextOver: Bool)

  package var serverNoContextTakeover: Bool
  package var clientNoContextTakeover: Bool
  package var serverMaxWindowBits: Int
  package var clientMaxWindowBits: Int

  /// Creates parameters; by default both sides keep their context, in windows of 32 KiB.
  package init(
    serverNoContextTakeover: Bool = false, clientNoContextTakeover: Bool = false,
    serverMaxWindowBits: Int = 15, clientMaxWindowBits: Int = 15
  ) {
    self.serverNoContextTakeover = serverNoContextTakeover
    self.clientNoContextTakeover = clientNoContextTakeover
    self.serverMaxWindowBits = serverMaxWindowBits
    self.clientMaxWindowBits = clientMaxWindowBits
  }

  package func outgoing(from role: WebSocketConnection.Role) -> Direction {
    switch role {
    case .client: (clientMaxWindowBits, !clientNoContextTakeover)
    case .server: (serverMaxWindowBits, !serverNoContextTakeover)
    }
  }
}

/// The negotiation, in the `Sec-WebSocket-Extensions` fields.
extension PerMessageDeflate {
  /// A client's offer: the server may choose every parameter.
  package static let offer = "permessage-deflate; client_max_window_bits"

  /// Returns the parameters that a server's answer fixes; `nil` if it has no extension.
  ///
  /// Throws for violations of RFC 7692 section 7.1: another extension, the same one twice, an
  /// unknown or repeated parameter, a value out of 8 to 15 or in the wrong place.
  package static func accept(
    _ answers: [String]
  ) throws(HandshakeError) -> PerMessageDeflate? {
    let extensions = try ExtensionReader.elements(of: answers)
    guard let answer = extensions.first else { return nil }
    if let foreign = extensions.first(where: { $0.name != "permessage-deflate" }) {
      throw .invalid("the server chose the extension '\(foreign.name)', which was not offered")
    }
    guard extensions.count == 1 else {
      throw .invalid("the server chose permessage-deflate twice")
    }
    let requested = try Requested(answer)
    guard !requested.clientBitsWithoutValue else {
      throw .invalid("client_max_window_bits has no value")
    }
    return requested.parameters
  }

  /// Chooses the first acceptable offer, as a server, and the field value of the answer.
  ///
  /// Declines invalid, unknown and repeated parameters, and windows that zlib cannot write.
  package static func choose(
    from offers: [String]
  ) -> (parameters: PerMessageDeflate, answer: String)? {
    guard let extensions = try? ExtensionReader.elements(of: offers) else { return nil }
    for candidate in extensions where candidate.name == "permessage-deflate" {
      guard let requested = try? Requested(candidate),
        Deflater.windowBits.contains(requested.parameters.serverMaxWindowBits)
      else { continue }
      return (requested.parameters, answer(requested))
    }
    return nil
  }

  private static func answer(_ requested: Requested) -> String {
    let parameters = requested.parameters
    var parts = ["permessage-deflate"]
    if parameters.serverNoContextTakeover { parts.append("server_no_context_takeover") }
    if parameters.clientNoContextTakeover { parts.append("client_no_context_takeover") }
    if requested.namesServerBits {
      parts.append("server_max_window_bits=\(parameters.serverMaxWindowBits)")
    }
    if parameters.clientMaxWindowBits < 15 {
      parts.append("client_max_window_bits=\(parameters.clientMaxWindowBits)")
    }
    return parts.joined(separator: "; ")
  }

  fileprivate struct Requested {
    var parameters = PerMessageDeflate()
    var clientBitsWithoutValue = false
    var namesServerBits = false

    init(_ element: ExtensionReader.Element) throws(HandshakeError) {
      var seen: Set<String> = []
      for (name, value) in element.parameters {
        guard seen.insert(name).inserted else {
          throw .invalid("\(name) is given twice")
        }
        switch (name, value) {
        case ("server_no_context_takeover", nil): parameters.serverNoContextTakeover = true
        case ("client_no_context_takeover", nil): parameters.clientNoContextTakeover = true
        case ("client_max_window_bits", nil): clientBitsWithoutValue = true
        case ("client_max_window_bits", let value?):
          parameters.clientMaxWindowBits = try Self.windowBits(value)
        case ("server_max_window_bits", let value?):
          parameters.serverMaxWindowBits = try Self.windowBits(value)
          namesServerBits = true
        default: throw .invalid("a permessage-deflate parameter is invalid")
        }
      }
    }

    /// A decimal from 8 to 15 without leading zeros.
    private static func windowBits(_ text: String) throws(HandshakeError) -> Int {
      guard let bits = Int(text), (8...15).contains(bits), String(bits) == text else {
        throw .invalid("a window size is not a number from 8 to 15")
      }
      return bits
    }
  }
}

/// Reads one `Sec-WebSocket-Extensions` list (RFC 6455 section 9.1).
private struct ExtensionReader {
  typealias Element = (name: String, parameters: [(name: String, value: String?)])

  private var rest: ArraySlice<UInt8>

  static func elements(of fields: [String]) throws(HandshakeError) -> [Element] {
    var elements: [Element] = []
    for field in fields {
      var reader = ExtensionReader(rest: [UInt8](field.utf8)[...])
      try reader.read(into: &elements)
    }
    return elements
  }

  private mutating func read(into elements: inout [Element]) throws(HandshakeError) {
    while true {
      // Empty elements are part of every HTTP list (RFC 9110 section 5.6.1).
      while take(UInt8(ascii: ",")) {}
      guard !rest.isEmpty else { return }
      var element: Element = (try token(), [])
      while take(UInt8(ascii: ";")) {
        let name = try token()
        element.parameters.append((name, take(UInt8(ascii: "=")) ? try value() : nil))
      }
      guard rest.isEmpty || rest.first == UInt8(ascii: ",") else { throw Self.malformed }
      elements.append(element)
    }
  }

  private static let malformed = HandshakeError.invalid(
    "the Sec-WebSocket-Extensions field is malformed")

  /// Takes one byte and the blanks around it, if it comes next.
  private mutating func take(_ byte: UInt8) -> Bool {
    skipBlanks()
    guard rest.first == byte else { return false }
    rest.removeFirst()
    skipBlanks()
    return true
  }

  private mutating func skipBlanks() { rest = rest.drop { $0 == 0x20 || $0 == 0x09 } }

  private mutating func token() throws(HandshakeError) -> String {
    let token = rest.prefix { ASCII.isToken($0) }
    guard !token.isEmpty else { throw Self.malformed }
    rest = rest.dropFirst(token.count)
    return String(decoding: token, as: UTF8.self)
  }

  /// A token, or a quoted string whose content is a token.
  private mutating func value() throws(HandshakeError) -> String {
    guard rest.first == UInt8(ascii: "\"") else { return try token() }
    rest.removeFirst()
    let value = try token()
    guard rest.popFirst() == UInt8(ascii: "\"") else { throw Self.malformed }
    return value
  }
}
