import Foundation
import PusherCore
import Testing

/// An answer to the upgrade: a row of docs/connection-errors.md.
struct UpgradeCase: CustomTestStringConvertible, Sendable {
  let name: String
  var options: [String] = []
  /// True if the server speaks TLS.
  var isSecure = false
  let serve: ScriptedServer.Script

  var testDescription: String { name }

  private static let deadline = ["--connect-timeout", "300ms"]
  private static let accept = "Sec-WebSocket-Accept"

  private static func answer(
    _ name: String, _ status: Int, _ reason: String, _ fields: (String, String)...,
    body: String = "", isSecure: Bool = false
  ) -> UpgradeCase {
    UpgradeCase(name: name, isSecure: isSecure) { connection in
      _ = try connection.request()
      try connection.answer(status, reason, fields, body: body)
    }
  }

  /// Bytes that are no complete answer.
  private static func bytes(
    _ name: String, _ bytes: [UInt8], ends: Bool = false, _ options: [String] = []
  ) -> UpgradeCase {
    UpgradeCase(name: name, options: options) { connection in
      _ = try connection.request()
      try connection.send(bytes: bytes)
      if !ends { try connection.stall() }
    }
  }

  private static func bytes(_ name: String, _ text: String, ends: Bool = false) -> UpgradeCase {
    bytes(name, Array(text.utf8), ends: ends)
  }

  /// A valid 101 with a change.
  private static func upgrade(
    _ name: String, _ options: [String] = [],
    _ change: @escaping @Sendable (inout HTTPResponseHead) -> Void
  ) -> UpgradeCase {
    UpgradeCase(name: name, options: options) { connection in
      var head = try ServerHandshake.respond(to: connection.request(), deflate: false).0
      change(&head)
      try connection.send(bytes: head.encode())
      try connection.stall()
    }
  }

  static let all = statuses + upgrades + others

  private static let statuses = [
    answer("200", 200, "OK"),
    answer("302 without Location", 302, "Found"),
    answer("300", 300, "Multiple Choices", ("Location", "/other")),
    answer(
      "redirect from wss to ws", 302, "Found", ("Location", "ws://127.0.0.1:1/app/x"),
      isSecure: true),
    answer("sixth redirect", 307, "Temporary Redirect", ("Location", "/again?secret")),
    answer(
      "redirect to an invalid URL", 301, "Moved Permanently",
      ("Location", "ftp://user:secret@host/")),
    answer("400", 400, "Bad Request"),
    answer(
      "400 to a compression that it does not have", 400, "Bad Request",
      body: "unsupported permessage-deflate"),
    answer("401", 401, "Unauthorized", ("WWW-Authenticate", "Basic")),
    answer(
      "401 and a message in JSON", 401, "Unauthorized", body: #"{"message":"Unauthenticated."}"#),
    answer("403", 403, "Forbidden"),
    answer(
      "403 and a page", 403, "Forbidden",
      body: "<html><head><style>p{color:red}</style><title>Blocked</title></head>"),
    answer("404", 404, "Not Found"),
    answer("407", 407, "Proxy Authentication Required"),
    answer("426", 426, "Upgrade Required"),
    answer("429 with Retry-After in seconds", 429, "Too Many Requests", ("Retry-After", "30")),
    answer("500", 500, "Internal Server Error"),
    answer("503", 503, "Service Unavailable"),
    answer("503 with Retry-After in seconds", 503, "Service Unavailable", ("Retry-After", "120")),
  ]

  private static let upgrades = [
    upgrade("101 with a wrong accept key") {
      $0.headers.remove(accept)
      $0.headers.append(accept, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
    },
    upgrade("101 without Upgrade") { $0.headers.remove("Upgrade") },
    upgrade("101 with an extension that was not offered") {
      $0.headers.append("Sec-WebSocket-Extensions", "x-compress")
    },
    upgrade("101 with permessage-deflate, which was not offered", ["--no-compression"]) {
      $0.headers.append("Sec-WebSocket-Extensions", "permessage-deflate")
    },
    upgrade("101 with a sub-protocol that was not offered") {
      $0.headers.append("Sec-WebSocket-Protocol", "mqtt")
    },
    upgrade("101 in HTTP/1.0") { $0.minorVersion = 0 },
    upgrade("upgraded, but no greeting", deadline) { _ in },
  ]

  private static let others = [
    bytes(
      "head of more than 64 KiB",
      "HTTP/1.1 101 Switching Protocols\r\nX: " + String(repeating: "a", count: 66_000)),
    bytes(
      "head with more than 256 fields",
      "HTTP/1.1 101 Switching Protocols\r\n" + String(repeating: "A: b\r\n", count: 257) + "\r\n"),
    UpgradeCase(name: "head that drips", options: deadline) { connection in
      _ = try connection.request()
      let pause = Gate()
      for byte in "HTTP/1.1 101 Switching Protocols\r\nX: \(String(repeating: "a", count: 999))"
        .utf8
      {
        try connection.send(bytes: [byte])
        _ = pause.isOpened(within: 0.02)
      }
    },
    bytes("silence instead of an answer", [], deadline),
    bytes("closed before the answer", [], ends: true),
    bytes("closed inside the answer", "HTTP/1.1 101 Switching Pro", ends: true),
    bytes("TLS server on a plain port", [21, 3, 1, 0, 2, 2, 70], ends: true),
    bytes("SSH server", "SSH-2.0-OpenSSH_9.2p1\r\n"),
    bytes("HTTP/2 server", [0, 0, 0, 4, 0, 0, 0, 0, 0]),
    bytes("another text protocol", "220 mail.example.test ESMTP\r\n"),
    bytes("another binary protocol", [0x4A, 0, 0, 0, 0x0A, 0x35, 0x2E, 0x37, 0x1B]),
  ]
}

@Suite("The upgrade: every answer but a proper one", .runsPrograms) struct UpgradeRefusalTests {
  @Test(arguments: UpgradeCase.all)
  func `subscribe says what its row says`(wrong: UpgradeCase) throws {
    var options = wrong.options
    var certificate: ServerCertificate?
    if wrong.isSecure {
      guard try Need.certificates.isMet(), let matrix = CertificateMatrix.shared else {
        return
      }
      certificate = matrix.server("valid")
      options = ["--cacert", matrix.authority]
    }
    let server = try ScriptedServer(certificate: certificate) { try wrong.serve($0) }
    let arguments = ["subscribe"] + server.address + options + ["news"]
    let result = try PusherCLI.run(arguments + ["--reconnect", "never"])
    let retrying = try PusherCLI.run(arguments + ["--reconnect", "always", "--max-retries", "0"])
    ConnectionErrorTable.check(wrong.name, result, retrying: retrying, port: server.port)
    #expect(!retrying.errorText.contains("secret"))
  }

  @Test func `every row of the document is the row of a test`() {
    let cases = TLSCase.allCases.map(\.rawValue) + UpgradeCase.all.map(\.name)
    #expect(Set(cases) == Set(ConnectionErrorTable.rows.keys))
    #expect(Set(cases).count == cases.count)
  }
}

@Suite("The upgrade: redirects", .runsPrograms) struct RedirectTests {
  @Test(arguments: [301, 302, 303, 307, 308], ["/elsewhere/app/k?protocol=7", "absolute"])
  func `a redirect is followed, and shown with -v`(status: Int, location: String) throws {
    let isAbsolute = location == "absolute"
    let targets = Record<String>()
    let server = try ScriptedServer { connection in
      guard connection.number == 1 else {
        targets.add(try connection.welcomeAndTell())
        try connection.acceptSubscription()
        try connection.send(event: "e", data: "1")
        try connection.stay()
      }
      let host = try connection.request().headers["Host"] ?? ""
      try connection.redirect(status, to: isAbsolute ? "http://\(host)/far/app/k" : location)
    }
    let result = try PusherCLI.subscribe(to: server, "news", "-o", "raw", "-n", "1", "-v").result()
    result.expect(0, prints: "1\n")
    let path = isAbsolute ? "/far/app/k" : "/elsewhere/app/k"
    #expect(
      result.errorLines.first
        == "pusher-cli: redirected (\(status)) to ws://127.0.0.1:\(server.port)\(path)")
    #expect(targets.values == [isAbsolute ? path : location])
  }

  @Test(.needs(.certificates))
  func `a redirect from ws to wss is followed, and the certificate there is checked`() throws {
    let matrix = try #require(CertificateMatrix.shared)
    let secure = try ScriptedServer(certificate: matrix.server("valid")) { connection in
      try connection.join()
      try connection.send(event: "e", data: "1")
      try connection.stay()
    }
    let place = "https://localhost:\(secure.port)/app/k"
    let server = try ScriptedServer { connection in
      _ = try connection.request()
      try connection.redirect(308, to: place)
    }
    func subscribe(trusting authority: String) throws -> ProgramResult {
      try PusherCLI.subscribe(to: server, "news", "-n", "1", "-L", "--cacert", authority).result()
    }
    let trusting = try subscribe(trusting: matrix.authority)
    #expect(trusting.ending == .exited(0), "\(trusting.errorText)")
    #expect(trusting.outputText.contains(#""host":"localhost""#), "\(trusting.outputText)")
    try subscribe(trusting: matrix.file("stranger.pem"))
      .expect(4, telling: "certificate not accepted")
  }

  @Test func `after a loss the first address is asked again`() throws {
    let server = try ScriptedServer { connection in
      if connection.number % 2 == 1 {
        _ = try connection.request()
        return try connection.redirect(307, to: "/there")
      }
      #expect(try connection.welcomeAndTell() == "/there")
      try connection.acceptSubscription()
      try connection.send(event: "e", data: "\(connection.number)")
      if connection.number == 2 { return connection.drop() }
      try connection.stay()
    }
    let result = try PusherCLI.subscribe(
      to: server, "news", "-o", "raw", "-n", "2", "--retry-max-delay", "100ms"
    ).result()
    #expect(result.outputText == "2\n4\n")
  }

  @Test func `a redirect that never gets anywhere ends with the deadline`() throws {
    let server = try ScriptedServer { connection in
      _ = try connection.request()
      if connection.number == 1 { return try connection.redirect(302, to: "/slow") }
      try connection.stall()
    }
    let result = try PusherCLI.subscribe(to: server, "news", "--connect-timeout", "300ms").result()
    result.expect(4, telling: "did not answer the upgrade within 0.3 s")
  }
}

extension ScriptedConnection {
  /// Sends the client elsewhere and ends.
  fileprivate func redirect(_ status: Int, to location: String) throws {
    try answer(status, "Elsewhere", [("Location", location)])
  }

  fileprivate func welcomeAndTell() throws -> String {
    let target = try upgrade().target
    let data = #"{"socket_id":"\#(socketID)","activity_timeout":120}"#
    try send(event: "pusher:connection_established", channel: nil, data: data)
    return target
  }
}
