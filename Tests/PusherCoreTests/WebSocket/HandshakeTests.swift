import PusherCore
import TestSupport
import Testing

struct `The opening handshake (RFC 6455 sections 1.3 and 4)` {
  private static let key = [UInt8]("the sample nonce".utf8)
  private static let accept = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="

  private func handshake(
    _ url: String = "ws://server.example.com/chat", headers: HTTPHeaders = HTTPHeaders(),
    subprotocols: [String] = [], deflate: Bool = false
  ) throws -> ClientHandshake {
    ClientHandshake(
      url: try HTTPURL(parsing: url), headers: headers, subprotocols: subprotocols,
      deflate: deflate, key: Self.key)
  }

  private func parsed(_ handshake: ClientHandshake) throws -> HTTPRequestHead {
    try #require(try HTTPHeadParser.request(from: buffer(handshake.request())))
  }

  private func answer(_ changes: [(String, String)] = []) -> HTTPResponseHead {
    var headers = HTTPHeaders([
      ("Upgrade", "WebSocket"), ("Connection", "keep-alive, Upgrade"),
      ("Sec-WebSocket-Accept", Self.accept),
    ])
    for (name, value) in changes { headers.replace(name, with: value) }
    return HTTPResponseHead(status: 101, reason: "Switching Protocols", headers: headers)
  }

  @Test func `the key of section 1.3 gives the accept value of section 1.3`() {
    #expect(ServerHandshake.accept("dGhlIHNhbXBsZSBub25jZQ==") == Self.accept)
  }

  @Test func `the request holds what section 4.1 asks for`() throws {
    let request = try handshake(
      "wss://h:8443/app/k?protocol=7", subprotocols: ["a", "b"], deflate: true
    ).request()
    #expect(
      String(decoding: request, as: UTF8.self)
        == "GET /app/k?protocol=7 HTTP/1.1\r\nHost: h:8443\r\nUpgrade: websocket\r\n"
        + "Connection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
        + "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: a, b\r\n"
        + "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits\r\n\r\n")
  }

  @Test func `compression is offered in the words that were given, or not at all`() throws {
    let offers = "permessage-deflate, permessage-deflate; client_no_context_takeover"
    for (deflate, field) in [(true, offers), (false, nil)] {
      let head = try parsed(
        ClientHandshake(
          url: HTTPURL(parsing: "ws://h/"), deflate: deflate, offers: offers, key: Self.key))
      #expect(head.headers["Sec-WebSocket-Extensions"] == field)
    }
  }

  @Test func `extra fields are sent, and replace Host and Authorization`() throws {
    let extra = HTTPHeaders([("Origin", "http://o"), ("Host", "other")])
    let head = try parsed(handshake("ws://u:p%20w@h/", headers: extra))
    #expect(head.headers.all("Host") == ["other"] && head.headers["Origin"] == "http://o")
    #expect(head.headers["Authorization"] == "Basic dTpwIHc=")
  }

  @Test func `fields of the handshake's own and line breaks are not sent`() {
    for name in ["Upgrade", "sec-websocket-key"] {
      #expect(throws: HTTPError.reservedField(name)) {
        try handshake(headers: HTTPHeaders([(name, "x")])).request()
      }
    }
    #expect(throws: HTTPError.invalidPart("value of header X")) {
      try handshake(headers: HTTPHeaders([("X", "a\r\nb")])).request()
    }
  }

  @Test func `an answer with or without an offered subprotocol is accepted`() throws {
    let offered = try handshake(subprotocols: ["a", "b"])
    #expect(try offered.accept(answer()).subprotocol == nil)
    let chosen = answer([("Sec-WebSocket-Protocol", "b")])
    #expect(try offered.accept(chosen).subprotocol == "b")
    for other in [try handshake(), try handshake(subprotocols: ["a"])] {
      #expect(throws: HandshakeError.self) { try other.accept(chosen) }
    }
  }

  @Test func `an extension is accepted only when offered`() throws {
    let chosen = answer([
      ("Sec-WebSocket-Extensions", "permessage-deflate; server_max_window_bits=9")
    ])
    let deflate = try handshake(deflate: true).accept(chosen).deflate
    #expect(deflate == PerMessageDeflate(serverMaxWindowBits: 9))
    #expect(throws: HandshakeError.self) { try handshake().accept(chosen) }
  }

  @Test(arguments: [
    ("Upgrade", "h2c"), ("Connection", "close"), ("Sec-WebSocket-Accept", "x"),
    ("Sec-WebSocket-Accept", "S3PPLMBITXAQ9KYGZZHZRBK+XOO="),
    ("Sec-WebSocket-Extensions", "permessage-bzip2"),
  ])
  func `a 101 that is none is refused`(name: String, value: String) throws {
    let handshake = try handshake(deflate: true)
    #expect {
      try handshake.accept(answer([(name, value)]))
    } throws: {
      if case .invalid = $0 as? HandshakeError { true } else { false }
    }
  }

  @Test func `another status is a refusal or a redirect`() throws {
    let refused = HTTPResponseHead(status: 426, reason: "Upgrade Required")
    #expect(throws: HandshakeError.refused(refused)) { try handshake().accept(refused) }
    let moved = HTTPResponseHead(
      status: 307, reason: "", headers: HTTPHeaders([("Location", "ws://b/")]))
    #expect(throws: HandshakeError.redirect(location: "ws://b/", status: 307)) {
      try handshake().accept(moved)
    }
  }

  @Test func `a client and a server agree on protocol and compression`() throws {
    let client = try handshake(subprotocols: ["x", "y"], deflate: true)
    let request = try parsed(client)
    let (head, agreed) = try ServerHandshake.respond(
      to: request, supportedSubprotocol: { $0 == "y" }, deflate: true)
    let response = try #require(try HTTPHeadParser.response(from: buffer(head.encode())))
    #expect(try client.accept(response) == agreed)
    #expect(agreed.subprotocol == "y" && agreed.deflate == PerMessageDeflate())
  }

  @Test(arguments: [
    ("POST", "Host", "h", 405), ("GET", "Upgrade", "h2c", 426), ("GET", "Connection", "close", 426),
    ("GET", "Sec-WebSocket-Version", "8", 426), ("GET", "Sec-WebSocket-Key", "short", 400),
    ("GET", "Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ", 400),
  ])
  func `a request that is no handshake gets its status`(
    method: String, name: String, value: String, status: Int
  ) throws {
    var request = try parsed(handshake())
    request.method = method
    request.headers.replace(name, with: value)
    let refusal = #expect(throws: HTTPResponseHead.self) {
      try ServerHandshake.respond(to: request, deflate: false)
    }
    #expect(refusal?.status == status)
  }
}
