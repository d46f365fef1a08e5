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

  func server(_ matrix: CertificateMatrix) throws -> ScriptedServer {
    func secure(
      _ behaviour: TLSBehaviour? = nil, _ script: @escaping ScriptedServer.Script = Self.asking
    ) throws -> ScriptedServer {
      try ScriptedServer(certificate: matrix.server(certificate, behaviour), script)
    }
    return switch self {
    case .plain:
      try ScriptedServer { connection in
        try connection.receive(into: connection.input)
        try connection.answer(400, "Bad Request")
      }
    case .silent: try ScriptedServer { try $0.stall() }
    case .cutInHandshake: try ScriptedServer { try $0.receive(into: $0.input) }
    case .cutBeforeAnswer: try secure(nil, Self.dropping)
    case .cutInStream:
      try secure { connection in
        try connection.join()
        connection.drop()
      }
    case .onlyHTTP2: try secure(.init(withoutHTTP2: SSL_TLSEXT_ERR_ALERT_FATAL), Self.dropping)
    case .onlyHTTP2Silent: try secure(.init(withoutHTTP2: SSL_TLSEXT_ERR_NOACK), Self.dropping)
    case .oldVersion: try secure(TLSBehaviour(newest: TLS1_1_VERSION))
    case .clientCertificateMissing, .clientCertificateUnknown:
      try secure(TLSBehaviour(clientAuthority: matrix.authority))
    default: try secure()
    }
  }

  private static let asking: ScriptedServer.Script = { _ = try $0.request() }
  private static let dropping: ScriptedServer.Script = { connection in
    _ = try connection.request()
    connection.drop()
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
    let retrying = try PusherCLI.run(arguments + ["--reconnect", "always", "--max-retries", "0"])
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
    result.expect(4, prints: "")
    #expect(
      lines.map {
        $0.replacing(#/sha256/[A-Za-z0-9+/]{43}=/#, with: "sha256/HASH")
          .replacing(":\(server.port)", with: ":PORT")
      } == ["pusher-cli: error: \(row.message)"])
    if let connections { #expect(server.connectionCount == connections) }
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

@Suite("TLS: what is accepted", .needs(.certificates), .runsPrograms) struct TLSAcceptanceTests {
  private let matrix: CertificateMatrix
  private let trusting: [String]

  init() throws {
    matrix = try #require(CertificateMatrix.shared)
    trusting = ["--cacert", matrix.authority]
  }

  /// Serves one event and expects its line.
  private func expectEvent(
    _ certificate: ServerCertificate, _ options: [String],
    environment: [String: String] = [:], sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let server = try ScriptedServer(certificate: certificate) { connection in
      try connection.join()
      try connection.send(event: "e", data: #"{"n":1}"#)
      try connection.stay()
    }
    let address = ["--host", "localhost", "--port", "\(server.port)", "--key", "k"]
    try PusherCLI.run(
      ["subscribe", "news", "-n", "1"] + address + options, environment: environment
    ).expect(
      0, prints: #"{"event":"e","channel":"news","data":{"n":1}}"# + "\n",
      sourceLocation: sourceLocation)
  }

  @Test func `a chain with its intermediate certificate is accepted`() throws {
    try expectEvent(matrix.server("chain"), trusting)
  }

  @Test func `a pinned key is accepted in each form, among others and without a chain`() throws {
    let (pin, other) = (try matrix.pin("valid"), try matrix.pin("other-key"))
    for pins in [[pin], ["sha256/" + pin], ["sha256//" + pin], [other, pin]] {
      try expectEvent(matrix.server("valid"), trusting + pins.flatMap { ["--pin-sha256", $0] })
    }
    let own = try matrix.pin("self-signed")
    try expectEvent(matrix.server("self-signed"), ["--insecure", "--pin-sha256", own])
  }

  @Test func `a right pin does not make up for a certificate that is not trusted`() throws {
    let server = try ScriptedServer(certificate: matrix.server("self-signed")) {
      _ = try $0.request()
    }
    let pin = try matrix.pin("self-signed")
    try PusherCLI.subscribe(
      to: server, "news", "--cacert", matrix.authority, "--pin-sha256", pin
    ).result().expect(4, telling: "self-signed")
  }

  @Test(arguments: [nil, TLS1_2_VERSION])
  func `a client certificate, its key in a file of its own or in the same`(newest: Int32?) throws {
    let behaviour = TLSBehaviour(clientAuthority: matrix.authority, newest: newest)
    let certificate = matrix.server("valid", behaviour)
    let (own, key) = (matrix.file("client.pem"), matrix.file("client.key"))
    try expectEvent(certificate, trusting + ["--tls-cert", own, "--tls-key", key])
    let both = try [own, key].map { try SystemFile.text($0) }.joined()
    let file = try TemporaryFolder.shared.file("both.pem", holding: both)
    try expectEvent(certificate, trusting + ["--tls-cert", file])
  }

  @Test func `new keys and session tickets between and before events, both ways`() throws {
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
    try PusherCLI.subscribe(
      to: server, "news", "--cacert", matrix.authority, "-o", "raw", "-n", "30"
    ).result().expect(0, prints: (0..<30).map { "\($0)\n" }.joined())
    #expect(pongs.values.count >= 29)
  }

  @Test func `an endpoint is neither held against the pin nor shown the certificate`() throws {
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
