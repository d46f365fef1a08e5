import PusherCore
import TestSupport
import Testing

private struct Talk {
  let negotiation: ProxyNegotiation
  let input = ByteBuffer()
  private(set) var sent: [UInt8] = []

  init(_ url: String, host: String = "server.test", address: SocketAddress? = nil) throws {
    negotiation = try ProxyNegotiation(
      proxy: Proxy(parsing: url), host: host, port: 443, address: address)
    gather()
  }

  mutating func receive(_ bytes: some Sequence<UInt8>) throws(ProxyError) -> Bool {
    input.append([UInt8](bytes))
    defer { gather() }
    return try negotiation.receive(from: input)
  }

  private mutating func gather() {
    sent += negotiation.output.array
    negotiation.output.removeAll()
  }

  /// Feeds the answer split at each point and byte by byte; the tunnel must open exactly at the
  /// last byte.
  static func check(
    _ answer: [UInt8], rest: [UInt8] = [], sends: [UInt8], _ url: String,
    host: String = "server.test", address: SocketAddress? = nil
  ) throws {
    for split in 0..<answer.count {
      var talk = try Talk(url, host: host, address: address)
      #expect(try !talk.receive(answer[..<split]))
      #expect(try talk.receive(answer[split...] + rest))
      #expect(talk.input.array == rest && talk.sent == sends)
    }
    var talk = try Talk(url, host: host, address: address)
    for byte in answer.dropLast() { #expect(try !talk.receive([byte])) }
    #expect(try talk.receive(answer.suffix(1)))
    #expect(talk.sent == sends)
  }

  /// Expects the same error at each split point, at or before the last byte.
  static func expect(_ error: ProxyError, from answer: [UInt8], _ url: String) throws {
    for split in 0..<answer.count {
      var talk = try Talk(url)
      #expect(throws: error) {
        _ = try talk.receive(answer[..<split])
        _ = try talk.receive(answer[split...])
      }
    }
  }
}

private func bytes(_ text: String) -> [UInt8] { [UInt8](text.utf8) }

/// RFC 9110 section 9.3.6.
struct `CONNECT` {
  private let request = "CONNECT server.test:443 HTTP/1.1\r\nHost: server.test:443\r\n"

  @Test(arguments: ["HTTP/1.0 200 OK", "HTTP/1.1 204 ", "HTTP/1.1 299"])
  func `any 2xx opens the way, and what follows is the server's`(line: String) throws {
    try Talk.check(
      bytes("\(line)\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"),
      rest: bytes("from the server"), sends: bytes(request + "\r\n"), "http://proxy")
  }

  @Test func `interim answers are passed over, but not for ever`() throws {
    let interim = "HTTP/1.1 103 Early\r\n\r\n"
    let enough = String(repeating: interim, count: ProxyNegotiation.interimLimit)
    try Talk.check(
      bytes(enough + "HTTP/1.1 200 OK\r\n\r\n"), sends: bytes(request + "\r\n"), "http://proxy")
    var talk = try Talk("http://proxy")
    #expect(throws: ProxyError.invalidAnswer("more than 8 interim answers")) {
      try talk.receive(bytes(enough + interim))
    }
  }

  @Test func `credentials go out with the request, and an IPv6 address is in brackets`() throws {
    let field = "Proxy-Authorization: Basic \(Base64.encode(bytes("usér:p:w")))\r\n\r\n"
    #expect(try Talk("http://us%C3%A9r:p%3Aw@proxy").sent == bytes(request + field))
    let other = "CONNECT [::1]:443 HTTP/1.1\r\nHost: [::1]:443\r\n\r\n"
    #expect(try Talk("http://proxy", host: "::1").sent == bytes(other))
  }

  @Test(
    arguments: [
      ("http://proxy", "407", "", .credentialsMissing),
      ("http://proxy", "407", "Basic realm=\"x\"", .credentialsMissing),
      ("http://u:p@proxy", "407", "basic realm=\"x\"", .credentialsRefused),
      ("http://u:p@proxy", "407", "", .credentialsRefused),
      ("http://u:p@proxy", "401", "", .credentialsRefused),
      (
        "http://u:p@proxy", "407", "Negotiate\r\nProxy-Authenticate: NTLM",
        .unsupportedAuthentication(offered: "Negotiate, NTLM")
      ),
    ] as [(String, String, String, ProxyError)])
  func `407 says what is wanted, and 401 refuses the credentials, where there were some`(
    url: String, status: String, challenge: String, error: ProxyError
  ) throws {
    let field = challenge.isEmpty ? "" : "Proxy-Authenticate: \(challenge)\r\n"
    try Talk.expect(error, from: bytes("HTTP/1.1 \(status) Authentication\r\n\(field)\r\n"), url)
  }

  @Test(arguments: [101, 302, 400, 401, 403, 502, 503])
  func `another status is a refusal with its number and words`(status: Int) throws {
    let error = ProxyError.refused(
      destination: "server.test:443", status: status, reason: "Some words")
    try Talk.expect(error, from: bytes("HTTP/1.1 \(status) Some words\r\n\r\n"), "http://proxy")
    #expect("\(error)" == "refused to connect to server.test:443: HTTP \(status) Some words")
  }

  @Test func `an answer that is not HTTP, or has no end, is refused`() throws {
    for text in ["SSH-2.0-x\r\n\r\n", "HTTP/2 200\r\n\r\n", "HTTP/1.1 200 OK\nX\n\n"] {
      var talk = try Talk("http://proxy")
      #expect(throws: ProxyError.self) { try talk.receive(bytes(text)) }
    }
    var talk = try Talk("http://proxy")
    let limit = ProxyNegotiation.limits.bytes
    #expect(throws: ProxyError.invalidAnswer("the HTTP head is longer than \(limit) bytes")) {
      try talk.receive(
        bytes("HTTP/1.1 200 OK\r\nX: ") + [UInt8](repeating: UInt8(ascii: "a"), count: limit))
    }
  }
}

/// RFC 1928 and RFC 1929.
struct `SOCKS 5` {
  private let name: [UInt8] = [11] + [UInt8]("server.test".utf8) + [1, 187]
  private let accepted: [UInt8] = [5, 0, 0, 1, 0, 0, 0, 0, 0, 0]

  @Test func `the name is left to the proxy, and all kinds of bound address are skipped`() throws {
    for bound in [
      [1, 0, 0, 0, 0], [4] + [UInt8](repeating: 9, count: 16), [3, 3, 97, 98, 99], [3, 0],
    ] {
      try Talk.check(
        [5, 0, 5, 0, 0] + bound + [0, 80], rest: [22, 3, 1],
        sends: [5, 1, 0, 5, 1, 0, 3] + name, "socks5h://proxy")
    }
  }

  @Test func `an address is asked for as one`() throws {
    let ipv4 = SocketAddress(family: .ipv4, octets: [127, 0, 0, 1], port: 443)
    let ipv6 = SocketAddress(
      family: .ipv6, octets: [UInt8](repeating: 0, count: 15) + [1], port: 443)
    for (address, kind) in [(ipv4, UInt8(1)), (ipv6, 4)] {
      try Talk.check(
        [5, 0] + accepted, sends: [5, 1, 0, 5, 1, 0, kind] + address.octets + [1, 187],
        "socks5://proxy", host: address.host, address: address)
    }
  }

  @Test func `user name and password go out when the proxy asks for them, and only then`() throws {
    try Talk.check(
      [5, 2, 1, 0] + accepted,
      sends: [5, 2, 0, 2, 1, 1, 117, 2, 112, 119, 5, 1, 0, 3] + name, "socks5h://u:pw@proxy")
    try Talk.check(
      [5, 0] + accepted, sends: [5, 2, 0, 2, 5, 1, 0, 3] + name, "socks5h://u:pw@proxy")
  }

  @Test(
    arguments: [
      ("socks5h://proxy", [5, 255], .credentialsMissing),
      ("socks5h://u:p@proxy", [5, 2, 1, 1], .credentialsRefused),
      ("socks5h://u:p@proxy", [5, 255], .unsupportedAuthentication(offered: "another method")),
      ("socks5h://u:p@proxy", [5, 2, 5, 0], .invalidAnswer("it does not speak RFC 1929")),
    ] as [(String, [UInt8], ProxyError)])
  func `a refusal of credentials is told`(url: String, answer: [UInt8], error: ProxyError) throws {
    try Talk.expect(error, from: answer, url)
  }

  @Test(
    arguments: [
      (1, "general failure"), (2, "not allowed by its rules"), (3, "network unreachable"),
      (4, "host unreachable"), (5, "connection refused"), (6, "time to live expired"),
      (7, "command not supported"), (8, "address type not supported"), (9, "unknown reason"),
      (255, "unknown reason"),
    ] as [(UInt8, String)])
  func `each reply of SOCKS has its words`(code: UInt8, words: String) throws {
    let error = ProxyError.socksRefused(destination: "server.test:443", reply: code)
    #expect("\(error)" == "refused to connect to server.test:443: \(words) (SOCKS reply \(code))")
    try Talk.expect(error, from: [5, 0, 5, code], "socks5h://proxy")
  }

  @Test(
    arguments: [[4], [72, 84], [5, 2], [5, 1], [5, 0, 4], [5, 0, 5, 0, 0, 2]] as [[UInt8]])
  func `an answer that is not SOCKS is refused`(answer: [UInt8]) throws {
    var talk = try Talk("socks5h://proxy")
    let error = #expect(throws: ProxyError.self) { try talk.receive(answer) }
    guard case .invalidAnswer? = error else { return unexpected(error) }
  }

  @Test func `a name longer than SOCKS can write is refused`() throws {
    _ = try Talk("socks5h://proxy", host: String(repeating: "a", count: 255))
    for count in [0, 256] {
      #expect(throws: ProxyError.invalidName("SOCKS names have 1 to 255 bytes")) {
        try Talk("socks5h://proxy", host: String(repeating: "a", count: count))
      }
    }
  }

  @Test func `random bytes never open a way that no proxy gave, nor crash`() throws {
    var generator = SeededGenerator(seed: 1928)
    for url in ["http://proxy", "socks5h://u:p@proxy"] {
      for _ in 0..<2000 {
        var talk = try Talk(url)
        let bytes = (0..<40).map { _ in UInt8(generator.below(256)) }
        // The first byte belongs to neither SOCKS 5 nor HTTP.
        #expect(throws: ProxyError.self) {
          for byte in [0] + bytes { _ = try talk.receive([byte]) }
          if url.hasPrefix("http") { _ = try talk.receive([13, 10, 13, 10]) }
        }
      }
    }
  }
}
