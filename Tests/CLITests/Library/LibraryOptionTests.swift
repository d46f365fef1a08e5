import Foundation
import PusherCore
import TestSupport
import Testing

/// Options that program and library share, against a server that records requests.
@Suite("Options of the library, against a scripted server", .ownThread, .timeLimit(.minutes(10)))
struct LibraryOptionTests {
  private func client(
    _ server: ScriptedServer, _ change: (inout PusherClientOptions) -> Void
  ) -> Pusher {
    var options = PusherClientOptions(
      autoReconnect: false, host: .host(server.isSecure ? "localhost" : "127.0.0.1"),
      port: Int(server.port), useTLS: server.isSecure)
    change(&options)
    return Pusher(key: "test-key", options: options)
  }

  private func greeting(
    _ certificate: ServerCertificate? = nil
  ) throws -> (ScriptedServer, Record<HTTPRequestHead>) {
    let heads = Record<HTTPRequestHead>()
    let server = try ScriptedServer(certificate: certificate) { connection in
      let request = try connection.request()
      heads.add(request)
      try connection.welcome(request)
      try connection.stay()
    }
    return (server, heads)
  }

  @Test func `a custom host, port and path are where the client connects`() async throws {
    let (server, heads) = try greeting()
    try await client(server) { $0.path = "a/b/" }.connected()
    #expect(heads.values.count == 1)
    #expect(heads.values.first?.target.hasPrefix("/a/b/app/test-key?") == true)
  }

  @Test func `fields, sub-protocols and compression of the upgrade are as asked`() async throws {
    let (server, heads) = try greeting()
    try await client(server) {
      $0.headers = ["Origin": "https://example.com", "X-Test": "1"]
      $0.offersCompression = false
    }.connected()
    // The server accepts no sub-protocol, which RFC 6455 allows.
    try await client(server) { $0.subprotocols = ["pusher-channels-protocol-7", "other"] }
      .connected()
    let seen = heads.values.map(\.headers)
    #expect(seen.map { $0["Origin"] } == ["https://example.com", nil])
    #expect(seen.map { $0["X-Test"] } == ["1", nil])
    #expect(seen.map { $0["Sec-WebSocket-Extensions"] == nil } == [true, false])
    #expect(
      seen.map { $0["Sec-WebSocket-Protocol"] } == [nil, "pusher-channels-protocol-7, other"])
  }

  @Test(arguments: ["Upgrade", "sec-websocket-key", "two words", "a\r\nb"])
  func `a field that is the handshake's own, or none, is refused before anything is sent`(
    name: String
  ) async throws {
    let (server, heads) = try greeting()
    let pusher = client(server) { $0.headers = [name: "x"] }
    await #expect(throws: PusherConfigurationError.invalidHeader(name)) {
      try await pusher.connected()
    }
    #expect(heads.values.isEmpty)
  }

  @Test func `a certificate counts by its authority, its key alone, or not at all`() async throws {
    let matrix = try #require(CertificateMatrix.shared)
    let (server, _) = try greeting(matrix.server("valid"))
    let pin = try #require(PublicKeyPin(try matrix.pin("valid")))
    let other = try #require(PublicKeyPin(digest: [UInt8](repeating: 7, count: 32)))
    let trusted: [TLSConfiguration] = [
      TLSConfiguration(caFile: matrix.authority), TLSConfiguration(insecure: true),
      TLSConfiguration(insecure: true, pins: [other, pin]),
      TLSConfiguration(caFile: matrix.authority, pins: [pin]),
    ]
    for tls in trusted { try await client(server) { $0.tls = tls }.connected() }
    for tls in [TLSConfiguration(), TLSConfiguration(caFile: matrix.authority, pins: [other])] {
      let pusher = client(server) { $0.tls = tls }
      let error = await #expect(throws: ConnectionLoss.self) { try await pusher.connected() }
      guard case .untrusted = error else {
        Issue.record("\(String(describing: error))")
        continue
      }
    }
  }

  @Test func `reconnectAttempts counts attempts in a row, until a greeting`() async throws {
    let isSeen = Gate()
    let server = try ScriptedServer { connection in
      if connection.number > 1 {
        try connection.wait(for: isSeen)
        // The client may have given up an earlier attempt. Let more than one attempt pass.
        isSeen.open()
      }
      try connection.welcome()
      if connection.number > 1 { try connection.stay() }
    }
    let pusher = client(server) { $0.autoReconnect = true }
    pusher.connection.reconnectDelay = .milliseconds(10)
    pusher.connect()
    for await state in pusher.states where state == .reconnecting { break }
    #expect(pusher.connection.reconnectAttempts == 1)
    isSeen.open()
    try await pusher.connected()
    #expect(pusher.connection.reconnectAttempts == 0)
  }

  @Test func `EventSource goes through a proxy, and takes the same TLS settings`() async throws {
    let matrix = try #require(CertificateMatrix.shared)
    let server = try ScriptedServer(certificate: matrix.trusted) { connection in
      try connection.beginStream()
      try connection.send(stream: "data: 1\n\n")
      try connection.remain()
    }
    let ways = Record<String>()
    let proxy = try ScriptedServer { connection in
      let request = try connection.request()
      ways.add("\(request.method) \(request.target)")
      try connection.answer(502)
    }
    var settings = EventSourceSettings()
    settings.reconnect = ReconnectPolicy(mode: .never)
    settings.tls = TLSConfiguration(insecure: true)
    let direct = EventSource(url: server.url, settings: settings)
    let iterator = direct.messages().makeAsyncIterator()
    direct.connect()
    #expect(await iterator.next()?.data == "1")
    settings.network = PusherNetwork(proxy: "http://127.0.0.1:\(proxy.port)")
    let gate = Gate()
    let throughProxy = EventSource(url: server.url, settings: settings)
    throughProxy.onComplete { _, _, _ in gate.open() }
    throughProxy.connect()
    try gate.wait()
    #expect(ways.values == ["CONNECT localhost:\(server.port)"])
  }

  @Test func `every call of the HTTP API carries the fields that are asked for`() async throws {
    let heads = Record<String?>()
    let server = try ScriptedServer { connection in
      heads.add(try connection.question().head.headers["X-Test"])
      try connection.answer(200, body: "{}")
    }
    let api = PusherAPI(
      appID: "1", key: "k", secret: "s",
      options: .init(
        host: .host("127.0.0.1"), port: Int(server.port), useTLS: false, headers: ["X-Test": "1"]))
    struct Order: Encodable { var id: Int }
    try await api.trigger("e", channels: ["a"], data: Order(id: 7))
    #expect(heads.values == ["1"])
  }
}
