/// Why an answer to a client's handshake opens no connection.
package enum HandshakeError: Error, Equatable, CustomStringConvertible {
  /// The server answered something else than 101; its body may say more.
  case refused(HTTPResponseHead)
  /// The server sent the client elsewhere, with a 3xx status.
  case redirect(location: String, status: Int)
  /// The server answered 101, but broke RFC 6455 section 4.1.
  case invalid(String)

  package var description: String {
    switch self {
    case .refused(let head):
      "the server refused the upgrade: \(head.status) \(head.reason)"
    case .redirect(let location, let status):
      "the server redirects to \(location) with status \(status)"
    case .invalid(let reason): "invalid upgrade: \(reason)"
    }
  }
}

/// The result of a handshake.
package struct NegotiatedWebSocket: Sendable, Equatable {
  package let subprotocol: String?
  package let deflate: PerMessageDeflateParameters?
}

/// The proof that a server understood the handshake (RFC 6455 section 4.2.2).
package enum WebSocketKey {
  /// The `Sec-WebSocket-Accept` value for a `Sec-WebSocket-Key` value.
  package static func accept(_ key: String) -> String {
    Base64.encode(Digest.sha1([UInt8]((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").utf8)))
  }
}
