/// A server's answer to an opening handshake (RFC 6455 section 4.2).
package enum ServerHandshake {
  /// Rejects a request that is not a handshake; ``response`` is the answer.
  package struct Refusal: Error, Equatable { package let response: HTTPResponseHead }

  /// Reports whether a request asks for a WebSocket, even in a wrong form.
  package static func isUpgrade(_ head: HTTPRequestHead) -> Bool {
    head.headers.tokens("Upgrade").contains(where: { $0 == "websocket" })
  }

  /// Returns the 101 that accepts a request, and the agreed terms.
  ///
  /// The answer names the first supported subprotocol, and the first acceptable compression.
  package static func respond(
    to head: HTTPRequestHead, supportedSubprotocol: (String) -> Bool = { _ in false }, deflate: Bool
  ) throws(Refusal) -> (HTTPResponseHead, NegotiatedWebSocket) {
    let key = try checkedKey(head)
    var headers = HTTPHeaders([
      ("Upgrade", "websocket"), ("Connection", "Upgrade"),
      ("Sec-WebSocket-Accept", WebSocketKey.accept(key)),
    ])
    let subprotocol = head.headers.list("Sec-WebSocket-Protocol").first(where: supportedSubprotocol)
    if let subprotocol { headers.append("Sec-WebSocket-Protocol", subprotocol) }
    let chosen =
      deflate ? PerMessageDeflate.choose(from: head.headers.all("Sec-WebSocket-Extensions")) : nil
    if let chosen { headers.append("Sec-WebSocket-Extensions", chosen.answer) }
    return (
      HTTPResponseHead(status: 101, reason: "Switching Protocols", headers: headers),
      NegotiatedWebSocket(subprotocol: subprotocol, deflate: chosen?.parameters)
    )
  }

  private static func checkedKey(_ head: HTTPRequestHead) throws(Refusal) -> String {
    guard head.method == "GET" else { throw refusal(405, "Method Not Allowed", [("Allow", "GET")]) }
    guard head.minorVersion >= 1, head.headers.all("Host").count == 1 else {
      throw refusal(400, "Bad Request")
    }
    guard isUpgrade(head), head.headers.tokens("Connection").contains(where: { $0 == "upgrade" })
    else {
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
  ) -> Refusal {
    var headers = HTTPHeaders(fields)
    headers.append("Content-Length", "0")
    return Refusal(response: HTTPResponseHead(status: status, reason: reason, headers: headers))
  }
}
