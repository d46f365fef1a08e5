import Foundation
import PusherCore
import Testing

/// The HTTP cases of docs/connection-errors.md.
enum UpgradeCase: String, CaseIterable, Sendable {
  case ok = "200"
  case noLocation = "302 without Location"
  case otherRedirect = "300"
  case insecureRedirect = "redirect from wss to ws"
  case sixthRedirect = "sixth redirect"
  case badRedirect = "redirect to an invalid URL"
  case badRequest = "400"
  case deflateRefused = "400 to a compression that it does not have"
  case unauthorized = "401"
  case unauthorizedWithReason = "401 and a message in JSON"
  case forbidden = "403"
  case forbiddenPage = "403 and a page"
  case notFound = "404"
  case proxyAuthentication = "407"
  case upgradeRequired = "426"
  case tooMany = "429 with Retry-After in seconds"
  case serverError = "500"
  case unavailable = "503"
  case unavailableForNow = "503 with Retry-After in seconds"
  case wrongAccept = "101 with a wrong accept key"
  case noUpgrade = "101 without Upgrade"
  case foreignExtension = "101 with an extension that was not offered"
  case foreignDeflate = "101 with permessage-deflate, which was not offered"
  case foreignSubprotocol = "101 with a sub-protocol that was not offered"
  case oldHTTP = "101 in HTTP/1.0"
  case largeHead = "head of more than 64 KiB"
  case manyFields = "head with more than 256 fields"
  case drip = "head that drips"
  case silent = "silence instead of an answer"
  case closedEarly = "closed before the answer"
  case closedInHead = "closed inside the answer"
  case noGreeting = "upgraded, but no greeting"
  case tls = "TLS server on a plain port"
  case ssh = "SSH server"
  case http2 = "HTTP/2 server"
  case otherText = "another text protocol"
  case otherBytes = "another binary protocol"

  private static let accept = "Sec-WebSocket-Accept"

  private var body: String {
    switch self {
    case .deflateRefused: "unsupported permessage-deflate"
    case .unauthorizedWithReason: #"{"message":"Unauthenticated."}"#
    case .forbiddenPage: "<html><head><style>p{color:red}</style><title>Blocked</title></head>"
    default: ""
    }
  }

  /// The answer, in cases that consist of a head and a body.
  private var answer: (status: Int, reason: String, fields: [(String, String)])? {
    switch self {
    case .ok: (200, "OK", [])
    case .noLocation: (302, "Found", [])
    case .otherRedirect: (300, "Multiple Choices", [("Location", "/other")])
    case .insecureRedirect: (302, "Found", [("Location", "ws://127.0.0.1:1/app/x")])
    case .sixthRedirect: (307, "Temporary Redirect", [("Location", "/again?secret")])
    case .badRedirect: (301, "Moved Permanently", [("Location", "ftp://user:secret@host/")])
    case .badRequest, .deflateRefused: (400, "Bad Request", [])
    case .unauthorizedWithReason: (401, "Unauthorized", [])
    case .unauthorized: (401, "Unauthorized", [("WWW-Authenticate", "Basic")])
    case .forbidden, .forbiddenPage: (403, "Forbidden", [])
    case .notFound: (404, "Not Found", [])
    case .proxyAuthentication: (407, "Proxy Authentication Required", [])
    case .upgradeRequired: (426, "Upgrade Required", [])
    case .tooMany: (429, "Too Many Requests", [("Retry-After", "30")])
    case .serverError: (500, "Internal Server Error", [])
    case .unavailable: (503, "Service Unavailable", [])
    case .unavailableForNow: (503, "Service Unavailable", [("Retry-After", "120")])
    default: nil
    }
  }

  /// The head of a valid 101 with one error.
  private func broken101(_ request: HTTPRequestHead) throws -> HTTPResponseHead? {
    var head = try ServerHandshake.respond(to: request, deflate: false).0
    switch self {
    case .wrongAccept:
      head.headers.remove(Self.accept)
      head.headers.append(Self.accept, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
    case .noUpgrade: head.headers.remove("Upgrade")
    case .foreignExtension: head.headers.append("Sec-WebSocket-Extensions", "x-compress")
    case .foreignDeflate: head.headers.append("Sec-WebSocket-Extensions", "permessage-deflate")
    case .foreignSubprotocol: head.headers.append("Sec-WebSocket-Protocol", "mqtt")
    case .oldHTTP: head.minorVersion = 0
    default: return nil
    }
    return head
  }

  /// Bytes that are not a complete answer, and if the server closes afterwards.
  private var bytes: (text: [UInt8], ends: Bool)? {
    switch self {
    case .largeHead:
      (
        Array("HTTP/1.1 101 Switching Protocols\r\nX: ".utf8) + Array(repeating: 97, count: 66_000),
        false
      )
    case .manyFields:
      (
        Array(
          ("HTTP/1.1 101 Switching Protocols\r\n" + String(repeating: "A: b\r\n", count: 257)
            + "\r\n").utf8), false
      )
    case .silent: ([], false)
    case .closedEarly: ([], true)
    case .closedInHead: (Array("HTTP/1.1 101 Switching Pro".utf8), true)
    case .tls: ([21, 3, 1, 0, 2, 2, 70], true)
    case .ssh: (Array("SSH-2.0-OpenSSH_9.2p1\r\n".utf8), false)
    case .http2: ([0, 0, 0, 4, 0, 0, 0, 0, 0], false)
    case .otherText: (Array("220 mail.example.test ESMTP\r\n".utf8), false)
    case .otherBytes: ([0x4A, 0, 0, 0, 0x0A, 0x35, 0x2E, 0x37, 0x1B], false)
    default: nil
    }
  }

  func serve(_ connection: ScriptedConnection) throws {
    let request = try connection.request()
    if let answer {
      let head = HTTPResponseHead(
        status: answer.status, reason: answer.reason,
        headers: HTTPHeaders(answer.fields + [("Content-Length", "\(body.utf8.count)")]))
      try connection.send(bytes: head.encode() + Array(body.utf8))
    } else if let bytes {
      try connection.send(bytes: bytes.text)
      if !bytes.ends { try connection.stall() }
    } else if self == .drip {
      let pause = Gate()
      for byte
        in "HTTP/1.1 101 Switching Protocols\r\nX-Drip: \(String(repeating: "a", count: 999))"
        .utf8
      {
        try connection.send(bytes: [byte])
        _ = pause.isOpened(within: 0.02)
      }
    } else if let head = try broken101(request) {
      try connection.send(bytes: head.encode())
      try connection.stall()
    } else {
      let (head, _) = try ServerHandshake.respond(to: request, deflate: false)
      try connection.send(bytes: head.encode())
      try connection.stall()
    }
  }

  var options: [String] {
    switch self {
    case .drip, .silent, .noGreeting: ["--connect-timeout", "300ms"]
    case .foreignDeflate: ["--no-compression"]
    default: []
    }
  }
}

@Suite("The upgrade: every answer but a proper one", .runsPrograms)
struct UpgradeRefusalTests {
  @Test(arguments: UpgradeCase.allCases)
  func `subscribe says what its row says`(wrong: UpgradeCase) throws {
    var options = wrong.options
    var certificate: ServerCertificate?
    if wrong == .insecureRedirect {
      guard try Need.certificates.isMet(), let matrix = CertificateMatrix.shared else {
        return
      }
      certificate = matrix.server("valid")
      options = ["--cacert", matrix.authority]
    }
    let server = try ScriptedServer(certificate: certificate) { try wrong.serve($0) }
    let arguments = ["subscribe"] + server.address + options + ["news"]
    let result = try PusherCLI.run(arguments + ["--reconnect", "never"])
    let retrying = try PusherCLI.run(
      arguments + ["--reconnect", "always", "--max-retries", "0"])
    ConnectionErrorTable.check(wrong.rawValue, result, retrying: retrying, port: server.port)
    #expect(!retrying.errorText.contains("secret"))
  }

  @Test func `every row of the document is the row of a test`() {
    let cases = TLSCase.allCases.map(\.rawValue) + UpgradeCase.allCases.map(\.rawValue)
    #expect(Set(cases) == Set(ConnectionErrorTable.rows.keys))
    #expect(Set(cases).count == cases.count)
  }
}

@Suite("The upgrade: redirects", .runsPrograms)
struct RedirectTests {
  @Test(arguments: [301, 302, 303, 307, 308], ["/elsewhere/app/k?protocol=7", "absolute"])
  func `a redirect is followed, and shown with -v`(status: Int, location: String) throws {
    let targets = Record<String>()
    let server = try ScriptedServer { connection in
      guard connection.number == 1 else {
        targets.add(try connection.welcomeAndTell())
        try connection.acceptSubscription()
        try connection.send(event: "e", data: "1")
        try connection.stay()
      }
      let host = try connection.request().headers["Host"] ?? ""
      let place = location == "absolute" ? "http://\(host)/far/app/k" : location
      try connection.redirect(status, to: place)
    }
    let result = try PusherCLI.subscribe(to: server, "news", "-r", "-n", "1", "-v").result()
    #expect(result.ending == .exited(0), "\(result.errorText)")
    #expect(result.outputText == "1\n")
    let path = location == "absolute" ? "/far/app/k" : "/elsewhere/app/k"
    #expect(
      result.errorLines.first
        == "pusher-cli: redirected (\(status)) to ws://127.0.0.1:\(server.port)\(path)")
    #expect(targets.values == [location == "absolute" ? path : location])
  }

  @Test func `five redirects are followed`() throws {
    let server = try ScriptedServer { connection in
      guard connection.number > 5 else {
        _ = try connection.request()
        return try connection.redirect(302, to: "\(connection.number)")
      }
      try connection.join()
      try connection.send(event: "e", data: "1")
      try connection.stay()
    }
    let result = try PusherCLI.subscribe(to: server, "news", "-r", "-n", "1", "-v").result()
    #expect(result.ending == .exited(0), "\(result.errorText)")
    #expect(result.errorLines.count { $0.contains("redirected (302)") } == 5)
    #expect(server.connectionCount == 6)
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
    let trusting = try PusherCLI.subscribe(
      to: server, "news", "-n", "1", "-L", "--cacert", matrix.authority
    ).result()
    #expect(trusting.ending == .exited(0), "\(trusting.errorText)")
    #expect(trusting.outputText.contains(#""host":"localhost""#), "\(trusting.outputText)")
    let other = try PusherCLI.subscribe(
      to: server, "news", "-n", "1", "--cacert", matrix.file("stranger.pem")
    ).result()
    #expect(other.ending == .exited(4))
    #expect(other.errorText.contains("certificate not accepted"))
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
      to: server, "news", "-r", "-n", "2", "--retry-max-delay", "100ms"
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
    #expect(result.ending == .exited(4))
    #expect(result.errorText.contains("did not answer the upgrade within 0.3 s"))
  }
}

@Suite("The upgrade: waiting as the server asks", .runsPrograms)
struct RetryAfterTests {
  private func refusingOnce(_ value: String) throws -> ScriptedServer {
    try ScriptedServer { connection in
      guard connection.number == 1 else {
        try connection.join()
        try connection.send(event: "e", data: "1")
        try connection.stay()
      }
      _ = try connection.request()
      try connection.answer(503, "Service Unavailable", [("Retry-After", value)])
    }
  }

  private func subscribe(
    to server: ScriptedServer, maximum: String, _ clock: MovedClock
  ) throws -> ChildProgram {
    try PusherCLI.subscribe(
      to: server, "news", "-n", "1", "--reconnect", "always", "--retry-max-delay", maximum,
      environment: clock.environment())
  }

  @Test(
    .needs(.movedClock),
    arguments: [
      ("3", "10s", "and asks to wait 3 s); retrying in 3 s", Duration.seconds(3)),
      ("3600", "200ms", "and asks to wait 60 min); retrying in 0.2 s", .milliseconds(200)),
    ])
  func `the wait is what the server asks for, but never longer than --retry-max-delay`(
    value: String, maximum: String, words: String, wait: Duration
  ) throws {
    let server = try refusingOnce(value)
    let clock = try MovedClock(standsStill: true)
    let program = try subscribe(to: server, maximum: maximum, clock)
    let text = try program.errorLine(containing: "retrying")
    #expect(text.contains(words), "\(text)")
    try clock.move(wait - .milliseconds(1), seenBy: program)
    #expect(server.connectionCount == 1)
    #expect(try clock.move(.milliseconds(1), untilEndOf: program) == .exited(0))
    #expect(server.connectionCount == 2)
  }

  @Test func `a date is understood as well`() throws {
    let formatter = DateFormatter()
    formatter.locale = Locale(identifier: "en_US_POSIX")
    formatter.timeZone = TimeZone(identifier: "GMT")
    formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
    let server = try refusingOnce(formatter.string(from: Date(timeIntervalSinceNow: 3600)))
    let program = try PusherCLI.subscribe(
      to: server, "news", "-n", "1", "--reconnect", "always", "--retry-max-delay", "200ms")
    let text = try program.errorLine(containing: "retrying")
    #expect(text.contains(#/asks to wait (3\d{3}(\.\d)? s|\d\d min)\)/#), "\(text)")
    #expect(try program.wait() == .exited(0))
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
