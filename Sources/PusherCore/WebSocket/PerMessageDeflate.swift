/// Agreed parameters of permessage-deflate (RFC 7692 section 7.1).
package struct PerMessageDeflateParameters: Sendable, Equatable {
  package struct Direction: Sendable, Equatable {
    /// The window is `1 << windowBits` bytes; 8 to 15.
    package let windowBits: Int
    /// True if a message may refer back to earlier messages.
    package let takesContextOver: Bool
  }

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
    case .client:
      Direction(windowBits: clientMaxWindowBits, takesContextOver: !clientNoContextTakeover)
    case .server:
      Direction(windowBits: serverMaxWindowBits, takesContextOver: !serverNoContextTakeover)
    }
  }
}

/// Negotiates permessage-deflate in the `Sec-WebSocket-Extensions` fields.
package enum PerMessageDeflate {
  /// A client's offer: the server may choose every parameter.
  package static let offer = "permessage-deflate; client_max_window_bits"

  /// Returns the parameters that a server's answer fixes; `nil` if it has no extension.
  ///
  /// Throws for violations of RFC 7692 section 7.1: another extension, the same one twice, an
  /// unknown or repeated parameter, a value out of 8 to 15 or in the wrong place.
  package static func accept(
    _ answers: [String]
  ) throws(InvalidExtension) -> PerMessageDeflateParameters? {
    let extensions = try WebSocketExtension.parse(answers)
    guard let answer = extensions.first else { return nil }
    if let foreign = extensions.first(where: { $0.name != "permessage-deflate" }) {
      throw InvalidExtension(
        reason: "the server chose the extension '\(foreign.name)', which was not offered")
    }
    guard extensions.count == 1 else {
      throw InvalidExtension(reason: "the server chose permessage-deflate twice")
    }
    let requested = try Requested(answer)
    guard !requested.clientBitsWithoutValue else {
      throw InvalidExtension(reason: "client_max_window_bits has no value")
    }
    return requested.parameters
  }

  /// Chooses the first acceptable offer, as a server, and the field value of the answer.
  ///
  /// Declines invalid, unknown and repeated parameters, and windows that zlib cannot write.
  package static func choose(
    from offers: [String]
  ) -> (parameters: PerMessageDeflateParameters, answer: String)? {
    guard let extensions = try? WebSocketExtension.parse(offers) else { return nil }
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

  private struct Requested {
    var parameters = PerMessageDeflateParameters()
    var clientBitsWithoutValue = false
    var namesServerBits = false

    init(_ element: WebSocketExtension) throws(InvalidExtension) {
      var seen: Set<String> = []
      for (name, value) in element.parameters {
        guard seen.insert(name).inserted else {
          throw InvalidExtension(reason: "\(name) is given twice")
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
        default: throw InvalidExtension(reason: "a permessage-deflate parameter is invalid")
        }
      }
    }

    /// A decimal from 8 to 15 without leading zeros.
    private static func windowBits(_ text: String) throws(InvalidExtension) -> Int {
      guard let bits = Int(text), (8...15).contains(bits), String(bits) == text else {
        throw InvalidExtension(reason: "a window size is not a number from 8 to 15")
      }
      return bits
    }
  }
}
