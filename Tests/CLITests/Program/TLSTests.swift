import CSystemOpenSSL
import Foundation
import PusherCore
import Testing

/// The TLS cases of docs/connection-errors.md.
enum TLSCase: String, CaseIterable, Sendable {
  case expired = "certificate expired"
  case notYetValid = "certificate not yet valid"
  case wrongHost = "certificate for another host"
  case wrongAddress = "certificate for another address"
  case selfSigned = "self-signed certificate"
  case unknownRoot = "unknown root"
  case missingIntermediate = "intermediate certificate not sent"
  case tooDeep = "chain too deep"
  case wrongPin = "another key than the pinned one"
  case wrongPinInsecure = "another key than the pinned one, with --insecure"
  case oldVersion = "TLS 1.1 only"
  case clientCertificateMissing = "client certificate asked, none given"
  case clientCertificateUnknown = "client certificate of an unknown authority"
  case plain = "plain HTTP on a TLS port"
  case onlyHTTP2 = "HTTP/2 only, HTTP/1.1 refused by an alert"
  case onlyHTTP2Silent = "HTTP/2 only, closed without an answer"
  case silent = "silence instead of a TLS handshake"
  case cutInHandshake = "cut in the TLS handshake"
  case cutBeforeAnswer = "cut before the upgrade's answer, no close_notify"
  case cutInStream = "cut in the event stream, no close_notify"

  /// The server's certificate of the matrix.
  var certificate: String {
    switch self {
    case .expired: "expired"
    case .notYetValid: "not-yet-valid"
    case .wrongHost, .wrongAddress: "wrong-host"
    case .selfSigned: "self-signed"
    case .unknownRoot: "unknown-root"
    case .missingIntermediate: "missing-intermediate"
    case .tooDeep: "too-deep"
    default: "valid"
    }
  }

  /// True if the HTTP API's client must report the same.
  var isOfCertificate: Bool {
    switch self {
    case .silent, .cutBeforeAnswer, .cutInStream, .onlyHTTP2Silent: false
    default: true
    }
  }

  func server(_ matrix: CertificateMatrix) throws -> ScriptedServer {
    switch self {
    case .plain:
      return try ScriptedServer { connection in
        try connection.receive(into: connection.input)
        try connection.answer(400, "Bad Request")
      }
    case .silent: return try ScriptedServer { try $0.stall() }
    case .cutInHandshake:
      return try ScriptedServer { try $0.receive(into: $0.input) }
    case .cutBeforeAnswer:
      return try ScriptedServer(certificate: matrix.server(certificate)) { connection in
        _ = try connection.request()
        connection.drop()
      }
    case .cutInStream:
      return try ScriptedServer(certificate: matrix.server(certificate)) { connection in
        try connection.join()
        connection.drop()
      }
    case .onlyHTTP2, .onlyHTTP2Silent:
      let behaviour = TLSBehaviour(withoutHTTP2: self == .onlyHTTP2 ? .alert : .silence)
      return try ScriptedServer(certificate: matrix.server(certificate, behaviour)) { connection in
        _ = try connection.request()
        connection.drop()
      }
    case .oldVersion:
      return try ScriptedServer(
        certificate: matrix.server(certificate, TLSBehaviour(newest: TLS1_1_VERSION))
      ) { _ = try $0.request() }
    case .clientCertificateMissing, .clientCertificateUnknown:
      let behaviour = TLSBehaviour(clientAuthority: matrix.authority)
      return try ScriptedServer(certificate: matrix.server(certificate, behaviour)) {
        _ = try $0.request()
      }
    default:
      return try ScriptedServer(certificate: matrix.server(certificate)) { _ = try $0.request() }
    }
  }

  func options(_ matrix: CertificateMatrix) throws -> [String] {
    switch self {
    case .wrongPin: ["--cacert", matrix.authority, "--pin-sha256", try matrix.pin("other-key")]
    case .wrongPinInsecure: ["--insecure", "--pin-sha256", try matrix.pin("other-key")]
    case .clientCertificateUnknown:
      [
        "--cacert", matrix.authority, "--tls-cert", matrix.file("unknown-client.pem"),
        "--tls-key", matrix.file("unknown-client.key"),
      ]
    case .silent: ["--cacert", matrix.authority, "--connect-timeout", "300ms"]
    default: ["--cacert", matrix.authority]
    }
  }

  /// Returns the server's address; the certificates name `localhost` and 127.0.0.1.
  func address(_ server: ScriptedServer) -> [String] {
    [
      "--host", self == .wrongAddress ? "127.0.0.1" : "localhost", "--port", "\(server.port)",
      "--scheme", "https", "--key", "test-key",
    ]
  }
}

@Suite("TLS: what is refused, and in which words", .needs(.certificates), .runsPrograms)
struct TLSRefusalTests {
  @Test(arguments: TLSCase.allCases)
  func `subscribe says what its row says`(wrong: TLSCase) throws {
    let matrix = try #require(CertificateMatrix.shared)
    let server = try wrong.server(matrix)
    let arguments = try ["subscribe"] + wrong.address(server) + wrong.options(matrix) + ["news"]
    let result = try PusherCLI.run(arguments + ["--reconnect", "never"])
    let retrying = try PusherCLI.run(
      arguments + ["--reconnect", "always", "--max-retries", "0"])
    ConnectionErrorTable.check(wrong.rawValue, result, retrying: retrying, port: server.port)
  }

  private func expectRow(
    _ wrong: TLSCase, _ matrix: CertificateMatrix, _ command: (ScriptedServer) -> [String],
    connections: Int? = nil
  ) throws {
    let server = try wrong.server(matrix)
    let result = try PusherCLI.run(
      command(server) + wrong.options(matrix), environment: ["PUSHER_APP_SECRET": "s"])
    let row = try #require(ConnectionErrorTable.rows[wrong.rawValue])
    let lines = result.errorLines.filter { !$0.contains("warning: --insecure") }
    #expect(result.ending == .exited(4))
    #expect(result.output.isEmpty)
    #expect(
      lines.map {
        $0.replacing(#/sha256/[A-Za-z0-9+/]{43}=/#, with: "sha256/HASH")
          .replacing(":\(server.port)", with: ":PORT")
      } == ["pusher-cli: error: \(row.message)"])
    if let connections { #expect(server.connectionCount == connections) }
  }

  @Test(arguments: TLSCase.allCases.filter(\.isOfCertificate))
  func `trigger says what the row of subscribe says`(wrong: TLSCase) throws {
    let matrix = try #require(CertificateMatrix.shared)
    try expectRow(wrong, matrix) {
      ["trigger", "--app-id", "1"] + wrong.address($0) + ["-c", "news", "-e", "e", "{}"]
    }
  }

  @Test(arguments: [TLSCase.onlyHTTP2, .onlyHTTP2Silent, .cutBeforeAnswer])
  func `sse says what the row of subscribe says`(wrong: TLSCase) throws {
    let matrix = try #require(CertificateMatrix.shared)
    // A second handshake finds out what a server that closes speaks.
    try expectRow(
      wrong, matrix, { ["sse", "https://localhost:\($0.port)/"] },
      connections: wrong == .onlyHTTP2 ? 1 : 2)
  }
}

@Suite("TLS: what is accepted", .needs(.certificates), .runsPrograms)
struct TLSAcceptanceTests {
  private let matrix = CertificateMatrix.shared

  /// Serves one event and expects its line.
  private func expectEvent(
    _ certificate: ServerCertificate, host: String = "localhost", _ options: [String],
    environment: [String: String] = [:], sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let server = try ScriptedServer(certificate: certificate) { connection in
      try connection.join()
      try connection.send(event: "e", data: #"{"n":1}"#)
      try connection.stay()
    }
    let result = try PusherCLI.run(
      [
        "subscribe", "--host", host, "--port", "\(server.port)", "--key", "k", "news", "-n", "1",
      ] + options, environment: environment)
    #expect(result.ending == .exited(0), sourceLocation: sourceLocation)
    #expect(
      result.outputText == #"{"event":"e","channel":"news","data":{"n":1}}"# + "\n",
      "\(result.errorText)", sourceLocation: sourceLocation)
  }

  @Test func `a certificate for the name`() throws {
    let matrix = try #require(matrix)
    try expectEvent(matrix.server("valid"), ["--cacert", matrix.authority])
    try expectEvent(matrix.server("valid"), [], environment: ["SSL_CERT_FILE": matrix.authority])
  }

  @Test func `a certificate for the address`() throws {
    let matrix = try #require(matrix)
    try expectEvent(matrix.server("address"), host: "127.0.0.1", ["--cacert", matrix.authority])
  }

  @Test(.needs(.localNames))
  func `a wildcard, for one label and no more`() throws {
    let matrix = try #require(matrix)
    let names = ["LD_PRELOAD": LocalNames.library ?? ""]
    let options = ["--cacert", matrix.authority]
    try expectEvent(
      matrix.server("wildcard"), host: "ws.example.test", options, environment: names)
    for host in ["a.b.example.test", "example.test"] {
      let server = try ScriptedServer(certificate: matrix.server("wildcard")) {
        _ = try $0.request()
      }
      let result = try PusherCLI.run(
        ["subscribe", "--host", host, "--port", "\(server.port)", "--key", "k", "news"] + options,
        environment: names)
      #expect(result.ending == .exited(4))
      #expect(result.errorText.contains("it is not for \(host) (CN=wildcard)"))
    }
  }

  @Test func `a chain with its intermediate certificate`() throws {
    let matrix = try #require(matrix)
    try expectEvent(matrix.server("chain"), ["--cacert", matrix.authority])
  }

  @Test func `a pinned key, however it is written, also among others and without a chain`() throws {
    let matrix = try #require(matrix)
    let pin = try matrix.pin("valid")
    let trusting = ["--cacert", matrix.authority]
    for spelling in [pin, "sha256/" + pin, "sha256//" + pin] {
      try expectEvent(matrix.server("valid"), trusting + ["--pin-sha256", spelling])
    }
    let other = try matrix.pin("other-key")
    try expectEvent(
      matrix.server("valid"), trusting + ["--pin-sha256", other, "--pin-sha256", pin])
    try expectEvent(
      matrix.server("self-signed"),
      ["--insecure", "--pin-sha256", try matrix.pin("self-signed")])
  }

  @Test func `a right pin does not make up for a certificate that is not trusted`() throws {
    let matrix = try #require(matrix)
    let server = try ScriptedServer(certificate: matrix.server("self-signed")) {
      _ = try $0.request()
    }
    let result = try PusherCLI.subscribe(
      to: server, "news", "--cacert", matrix.authority, "--pin-sha256",
      try matrix.pin("self-signed")
    ).result()
    #expect(result.ending == .exited(4))
    #expect(result.errorText.contains("self-signed"))
  }

  @Test(arguments: [nil, TLS1_2_VERSION])
  func `a client certificate, with its key in a file of its own or the same`(newest: Int32?) throws
  {
    let matrix = try #require(matrix)
    let behaviour = TLSBehaviour(clientAuthority: matrix.authority, newest: newest)
    let certificate = matrix.server("valid", behaviour)
    let trusting = ["--cacert", matrix.authority]
    try expectEvent(
      certificate,
      trusting + ["--tls-cert", matrix.file("client.pem"), "--tls-key", matrix.file("client.key")])
    let both = try ["client.pem", "client.key"].map {
      try String(contentsOfFile: matrix.file($0), encoding: .utf8)
    }.joined()
    let file = try TemporaryFolder.shared.file("both.pem", holding: both)
    try expectEvent(certificate, trusting + ["--tls-cert", file])
  }

  @Test func `trigger shows a client certificate too`() throws {
    let matrix = try #require(matrix)
    let behaviour = TLSBehaviour(clientAuthority: matrix.authority)
    let server = try ScriptedServer(certificate: matrix.server("valid", behaviour)) { connection in
      _ = try connection.question()
      try connection.answer(200, "OK", body: "{}")
    }
    let result = try PusherCLI.run(
      ["trigger", "--app-id", "1"] + server.address + [
        "--cacert", matrix.authority, "--tls-cert", matrix.file("client.pem"), "--tls-key",
        matrix.file("client.key"), "-c", "news", "-e", "e", "{}",
      ], environment: ["PUSHER_APP_SECRET": "s"])
    #expect(result.ending == .exited(0), "\(result.errorText)")
  }

  @Test(arguments: [nil, TLS1_2_VERSION])
  func `records that come one byte at a time`(newest: Int32?) throws {
    let matrix = try #require(matrix)
    let behaviour = TLSBehaviour(newest: newest, writeSize: 1)
    try expectEvent(matrix.server("valid", behaviour), ["--cacert", matrix.authority])
  }

  @Test func `new keys and session tickets between and before events, both ways`() throws {
    let matrix = try #require(matrix)
    let behaviour = TLSBehaviour(writeSize: 7)
    let pongs = Record<[UInt8]>()
    let server = try ScriptedServer(certificate: matrix.server("valid", behaviour)) { connection in
      try connection.join()
      for number in 0..<30 {
        if number % 3 == 0 { try connection.updateKeys() }
        if number % 3 == 1 { try connection.sendTicket() }
        try connection.send(event: "tick", data: "\(number)")
        // The answer is encrypted with the client's new keys.
        try connection.ping([UInt8(number)])
        guard case .pong(let payload) = try connection.event() else { throw PeerLeft() }
        pongs.add(payload)
      }
      try connection.stay()
    }
    let result = try PusherCLI.subscribe(
      to: server, "news", "--cacert", matrix.authority, "-r", "-n", "30"
    ).result()
    #expect(result.ending == .exited(0), "\(result.errorText)")
    #expect(result.outputText == (0..<30).map { "\($0)\n" }.joined())
    #expect(pongs.values.count >= 29)
  }

  @Test func `a stream cut without close_notify is a loss, told and mended`() throws {
    let matrix = try #require(matrix)
    let server = try ScriptedServer(certificate: matrix.server("valid")) { connection in
      try connection.join()
      try connection.send(event: "e", data: "\(connection.number)")
      if connection.number == 1 { return connection.drop() }
      try connection.stay()
    }
    let program = try PusherCLI.subscribe(
      to: server, "news", "--cacert", matrix.authority, "-r", "-n", "2", "--retry-max-delay",
      "200ms")
    let warning = try program.errorLine()
    #expect(warning.contains("connection lost (TLS connection cut off"), "\(warning)")
    let result = try program.result()
    #expect(result.ending == .exited(0))
    #expect(result.outputText == "1\n2\n")
  }

  @Test func `an authorisation endpoint is neither held against the pin nor shown the certificate`()
    throws
  {
    let matrix = try #require(matrix)
    let endpoint = try ScriptedServer(certificate: matrix.server("other-key")) { connection in
      let form = try connection.question().form
      let signature = SubscriptionSignature(key: "test-key", secret: "s")
      let auth = signature.authorize(
        socketID: form["socket_id"] ?? "", channel: form["channel_name"] ?? "", channelData: nil)
      try connection.answer(200, "OK", body: #"{"auth":"\#(auth.auth)"}"#)
    }
    let server = try ScriptedServer(certificate: matrix.server("valid")) { connection in
      try connection.join()
      try connection.send(event: "e", channel: "private-x", data: "1")
      try connection.stay()
    }
    let result = try PusherCLI.subscribe(
      to: server, "private-x", "--cacert", matrix.authority, "--pin-sha256",
      try matrix.pin("valid"), "--auth-endpoint", "https://localhost:\(endpoint.port)/auth", "-n",
      "1"
    ).result()
    #expect(result.ending == .exited(0), "\(result.errorText)")
  }
}
