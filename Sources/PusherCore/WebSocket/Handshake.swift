/// A client's opening handshake (RFC 6455 section 4.1).
package struct ClientHandshake: Sendable {
  private let url: HTTPURL
  private let extra: HTTPHeaders
  private let subprotocols: [String]
  private let deflate: Bool
  private let offers: String
  private let key: String

  private static let reserved = [
    "upgrade", "connection", "sec-websocket-key", "sec-websocket-version", "sec-websocket-accept",
    "sec-websocket-extensions", "sec-websocket-protocol", "content-length", "transfer-encoding",
  ]

  /// - Parameters:
  ///   - extra: Fields after the handshake's own; Host and Authorization replace the URL's.
  ///   - deflate: True to offer compression with the text `offers`.
  ///   - key: 16 random bytes.
  package init(
    url: HTTPURL, headers extra: HTTPHeaders = HTTPHeaders(), subprotocols: [String] = [],
    deflate: Bool, offers: String = PerMessageDeflate.offer, key: [UInt8]
  ) {
    precondition(key.count == 16, "the key has 16 bytes")
    (self.url, self.extra, self.subprotocols) = (url, extra, subprotocols)
    (self.deflate, self.offers) = (deflate, offers)
    self.key = Base64.encode(key)
  }

  /// Reports whether only the handshake may set a field of this name.
  package static func owns(_ name: String) -> Bool { reserved.contains(name.lowercased()) }

  /// Throws ``HTTPError/reservedField(_:)`` or ``HTTPError/invalidPart(_:)`` for such a field.
  package func request() throws(HTTPError) -> [UInt8] {
    var headers = HTTPHeaders()
    if extra["Host"] == nil { headers.append("Host", url.authority) }
    headers.append("Upgrade", "websocket")
    headers.append("Connection", "Upgrade")
    headers.append("Sec-WebSocket-Key", key)
    headers.append("Sec-WebSocket-Version", "13")
    if !subprotocols.isEmpty {
      guard subprotocols.allSatisfy({ ASCII.isToken($0) }) else {
        throw .invalidPart("subprotocol")
      }
      headers.append("Sec-WebSocket-Protocol", subprotocols.joined(separator: ", "))
    }
    if deflate { headers.append("Sec-WebSocket-Extensions", offers) }
    if let userInfo = url.userInfo, extra["Authorization"] == nil {
      guard let plain = PercentEncoding.decode(userInfo) else {
        throw .invalidURL("the user information is not percent-encoded UTF-8")
      }
      let pair = plain.contains(":") ? plain : plain + ":"
      headers.append("Authorization", "Basic \(Base64.encode([UInt8](pair.utf8)))")
    }
    for field in extra.fields {
      guard !Self.owns(field.name) else { throw .reservedField(field.name) }
      headers.append(field.name, field.value)
    }
    return try HTTPRequestHead(method: "GET", target: url.target, headers: headers).encode()
  }

  /// Checks the answer and returns the agreed terms.
  ///
  /// A 101 without an offered subprotocol is accepted. A subprotocol that was not offered is an
  /// error, and so is every extension but permessage-deflate with legal parameters.
  package func accept(
    _ head: HTTPResponseHead
  ) throws(HandshakeError) -> (subprotocol: String?, deflate: PerMessageDeflate?) {
    guard head.status == 101 else {
      if (300...399).contains(head.status), let location = head.headers["Location"] {
        throw .redirect(location: location, status: head.status)
      }
      throw .refused(head)
    }
    guard head.minorVersion >= 1 else { throw .invalid("the answer is not HTTP/1.1") }
    guard head.headers.tokens("Upgrade") == ["websocket"] else {
      throw .invalid("the answer does not upgrade to websocket")
    }
    guard head.headers.has("upgrade", in: "Connection") else {
      throw .invalid("the answer has no Connection: Upgrade")
    }
    guard head.headers.all("Sec-WebSocket-Accept") == [ServerHandshake.accept(key)] else {
      throw .invalid("Sec-WebSocket-Accept does not match the key")
    }
    let chosen = head.headers.all("Sec-WebSocket-Protocol")
    if let foreign = chosen.first(where: { !subprotocols.contains($0) }) {
      throw .invalid("the server chose the subprotocol '\(foreign)', which was not offered")
    }
    guard chosen.count <= 1 else { throw .invalid("the server chose two subprotocols") }
    let accepted = try PerMessageDeflate.accept(head.headers.all("Sec-WebSocket-Extensions"))
    guard accepted == nil || deflate else {
      throw .invalid(
        "the server chose the extension 'permessage-deflate', which was not offered")
    }
    return (chosen.first, accepted)
  }
}

package enum HandshakeError: Error, Equatable, CustomStringConvertible {
  /// The status is not 101; the body may say more.
  case refused(HTTPResponseHead)
  case redirect(location: String, status: Int)
  /// The server answered 101, but broke RFC 6455 section 4.1.
  case invalid(String)

  package var description: String {
    switch self {
    case .refused(let head): "the server refused the upgrade: \(head.status) \(head.reason)"
    case .redirect(let location, let status):
      "the server redirects to \(location) with status \(status)"
    case .invalid(let reason): "invalid upgrade: \(reason)"
    }
  }
}

/// A server's answer to an opening handshake (RFC 6455 section 4.2).
package enum ServerHandshake {
  /// Returns the proof that a server understood a client's key.
  package static func accept(_ key: String) -> String {
    Base64.encode(Digest.sha1([UInt8]((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").utf8)))
  }

  /// Reports whether a request asks for a WebSocket, even in a wrong form.
  package static func isUpgrade(_ head: HTTPRequestHead) -> Bool {
    head.headers.has("websocket", in: "Upgrade")
  }

  /// Returns the 101 that accepts a request, and the agreed terms.
  ///
  /// The answer names the first supported subprotocol, and the first acceptable compression. Throws
  /// the refusal of a request that is not a handshake.
  package static func respond(
    to head: HTTPRequestHead, supportedSubprotocol: (String) -> Bool = { _ in false }, deflate: Bool
  ) throws(HTTPResponseHead) -> (
    HTTPResponseHead, (subprotocol: String?, deflate: PerMessageDeflate?)
  ) {
    let key = try checkedKey(head)
    var headers = HTTPHeaders([
      ("Upgrade", "websocket"), ("Connection", "Upgrade"),
      ("Sec-WebSocket-Accept", ServerHandshake.accept(key)),
    ])
    let subprotocol = head.headers.list("Sec-WebSocket-Protocol").first(where: supportedSubprotocol)
    if let subprotocol { headers.append("Sec-WebSocket-Protocol", subprotocol) }
    let chosen =
      deflate ? PerMessageDeflate.choose(from: head.headers.all("Sec-WebSocket-Extensions")) : nil
    if let chosen { headers.append("Sec-WebSocket-Extensions", chosen.answer) }
    return (
      HTTPResponseHead(status: 101, reason: "Switching Protocols", headers: headers),
      (subprotocol, chosen?.parameters)
    )
  }

  private static func checkedKey(_ head: HTTPRequestHead) throws(HTTPResponseHead) -> String {
    guard head.method == "GET" else { throw refusal(405, "Method Not Allowed", [("Allow", "GET")]) }
    guard head.minorVersion >= 1, head.headers.all("Host").count == 1 else {
      throw refusal(400, "Bad Request")
    }
    guard isUpgrade(head), head.headers.has("upgrade", in: "Connection") else {
      throw refusal(426, "Upgrade Required", [("Upgrade", "websocket"), ("Connection", "Upgrade")])
    }
    guard head.headers.all("Sec-WebSocket-Version") == ["13"] else {
      throw refusal(426, "Upgrade Required", [("Sec-WebSocket-Version", "13")])
    }
    let keys = head.headers.all("Sec-WebSocket-Key")
    guard keys.count == 1, let key = keys.first, Base64.decode(key)?.count == 16 else {
      throw refusal(400, "Bad Request")
    }
    return key
  }

  private static func refusal(
    _ status: Int, _ reason: String, _ fields: [(String, String)] = []
  ) -> HTTPResponseHead {
    var headers = HTTPHeaders(fields)
    headers.append("Content-Length", "0")
    return HTTPResponseHead(status: status, reason: reason, headers: headers)
  }
}
