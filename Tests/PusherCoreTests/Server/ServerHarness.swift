import PusherCore
import PusherServer
import TestSupport
import Testing

final class ServerHarness {
  let harness: LoopHarness
  let server: Server
  private var condition: () -> Bool = { false }
  /// They stay connected as long as the server lives.
  private var sockets: [LoopSocket] = []

  private final class Log { var events: [ServerLogEvent] = [] }
  private let logged: Log

  init(
    cluster: (any Cluster)? = nil, isSecure: Bool = false,
    _ change: (inout ServerOptions) -> Void = { _ in }
  ) throws {
    harness = try LoopHarness()
    var options = ServerOptions(applications: [.forTests()])
    options.listen.port = 0
    if isSecure {
      let files = TestCertificates.shared
      options.certificate = CertificateFiles(
        files.certificate("localhost"), key: files.key("localhost"))
    }
    change(&options)
    let logged = Log()
    self.logged = logged
    server = try Server(
      options: options, cluster: cluster, random: SeededGenerator(seed: 5), loop: harness.loop
    ) { logged.events.append($0) }
    harness.loop.beforeWait { [unowned self] in
      if condition() { harness.loop.stop() }
    }
  }

  /// What a client of a secure server trusts.
  static func trust() throws -> TLSContext {
    try .client(TLSConfiguration(caFile: TestCertificates.shared.authority))
  }

  var events: [ServerLogEvent] { logged.events }

  /// Runs the loop until the condition holds; returns false after one minute.
  func run(until condition: @escaping () -> Bool) -> Bool {
    self.condition = condition
    defer { self.condition = { false } }
    return harness.run()
  }

  /// Runs the loop often enough for the server to read everything sent earlier.
  func goRound(_ count: Int = 3) {
    let turn = LoopTimer(deadline: LoopInterest.immediately) {}
    harness.loop.add(turn)
    defer { harness.loop.remove(turn) }
    var left = count
    #expect(
      run {
        turn.deadline = LoopInterest.immediately
        left -= 1
        return left < 0
      })
  }

  /// Stops the server; returns true once it has stopped.
  func stop() -> Bool {
    var isStopped = false
    server.stop { isStopped = true }
    return run { isStopped }
  }

  // MARK: Sockets

  func socket(
    _ target: String = "/app/278d425bdf160c739803?protocol=7", tls: TLSContext? = nil
  ) throws -> LoopSocket {
    let url = "\(tls == nil ? "ws" : "wss")://127.0.0.1:\(server.port)\(target)"
    let socket = try LoopSocket(harness.loop, url: HTTPURL(parsing: url), tls: tls)
    sockets.append(socket)
    return socket
  }

  /// A socket after its greeting.
  func established(tls: TLSContext? = nil) throws -> LoopSocket {
    let socket = try socket(tls: tls)
    #expect(run { socket.isEstablished })
    return socket
  }

  /// Sockets after their greetings; all connect at once.
  func established(_ count: Int) throws -> [LoopSocket] {
    let sockets = try (0..<count).map { _ in try socket() }
    #expect(run { sockets.allSatisfy(\.isEstablished) })
    return sockets
  }

  // MARK: Requests

  static let socketLine = "GET /app/278d425bdf160c739803?protocol=7"
  static let handshake = [
    "Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13",
    "Sec-WebSocket-Key: AQIDBAUGBwgJCgsMDQ4PEA==",
  ]

  /// The text of a request; without fields of its own it is for localhost, a body is counted.
  static func request(
    _ line: String, _ fields: [String] = ["Host: localhost"], body: String? = nil
  ) -> String {
    let length = body.map { ["Content-Length: \($0.utf8.count)"] } ?? []
    return (["\(line) HTTP/1.1"] + fields + length).joined(separator: "\r\n") + "\r\n\r\n"
      + (body ?? "")
  }

  /// The text of a handshake of the WebSocket.
  static func upgrade(
    _ line: String = socketLine, _ fields: [String] = ["Host: localhost"]
  ) -> String { request(line, fields + handshake) }

  func raw(_ text: String = "", tls: TLSContext? = nil) -> RawClient {
    RawClient(harness.loop, port: server.port, text, tls: tls)
  }

  /// Returns the answer to a request after which the server ends the connection.
  func answer(to request: String) -> String {
    let client = raw(request)
    #expect(run { client.hasEnded }, "an answer to \(request)")
    return client.text
  }

  func call(
    _ name: String, _ channels: [String], data: String, secret: String = "7ad3773142a6692b25b8",
    age: Int64 = 0
  ) throws -> [UInt8] {
    try Self.signed(
      TriggerRequest(name: name, channels: channels, data: data).request(appID: "3"),
      secret: secret, age: age)
  }

  /// The bytes of a call of the HTTP API, signed `age` seconds ago.
  static func signed(
    _ call: APIRequest, secret: String = "7ad3773142a6692b25b8", age: Int64 = 0,
    _ field: (String, String)? = nil
  ) throws -> [UInt8] {
    let signed = call.signed(
      key: "278d425bdf160c739803", secret: secret,
      timestamp: SystemClock.wall().secondsSince1970 - age)
    var headers = signed.headers
    headers.append("Host", "127.0.0.1")
    if let (name, value) = field { headers.append(name, value) }
    headers.append("Content-Length", String(signed.body?.count ?? 0))
    let head = HTTPRequestHead(method: signed.method, target: signed.target, headers: headers)
    return try head.encode() + (signed.body ?? [])
  }
}

/// A client that sends bytes and keeps what it receives.
class RawClient: SocketStreamDelegate {
  let input = ByteBuffer()
  let output = ByteBuffer()
  private(set) var isOpen = false
  fileprivate(set) var hasEnded = false
  private var stream: SocketStream?

  init(_ loop: EventLoop, to route: Route, _ text: String, tls: TLSContext? = nil) {
    output.append(text)
    stream = .connect(loop: loop, to: route, tls: tls, delegate: self)
  }

  convenience init(_ loop: EventLoop, port: UInt16, _ text: String, tls: TLSContext? = nil) {
    self.init(loop, to: Route(host: "127.0.0.1", port: port), text, tls: tls)
  }

  var text: String { input.view.text }

  /// Pauses reading when false.
  var reads: Bool {
    get { stream?.wantsRead ?? false }
    set { stream?.wantsRead = newValue }
  }

  func send(_ bytes: [UInt8]) {
    output.append(bytes)
    flush()
  }

  func close() { stream?.close() }

  /// Takes what has come in.
  fileprivate func take() {}

  fileprivate var outgoing: ByteBuffer { output }

  fileprivate func flush() {
    guard let stream, stream.isOpen else { return }
    try? stream.write(from: outgoing)
  }

  func streamOpened(_ stream: SocketStream, at now: Instant) {
    isOpen = true
    flush()
  }

  func streamWritable(_ stream: SocketStream, at now: Instant) { flush() }

  func streamReadable(_ stream: SocketStream, at now: Instant) {
    let result = try? stream.read(into: input, atMost: 65_536)
    if result == nil || result == .end { hasEnded = true }
    take()
    if hasEnded { stream.close() }
  }

  func streamFailed(_ stream: SocketStream, _ error: TransportError, at now: Instant) {
    hasEnded = true
  }
}

/// A client of the WebSocket.
final class LoopSocket: RawClient {
  private(set) var received: [ReceivedEvent] = []
  private(set) var socketID = ""
  /// True if client and server agreed on permessage-deflate.
  private(set) var isCompressed = false
  private var wire: WebSocketConnection?
  private let handshake: ClientHandshake

  init(_ loop: EventLoop, url: HTTPURL, tls: TLSContext?) throws {
    handshake = ClientHandshake(url: url, deflate: true, key: [UInt8](repeating: 7, count: 16))
    let request = try handshake.request()
    super.init(
      loop, to: Routing().route(to: url), String(decoding: request, as: UTF8.self), tls: tls)
  }

  var isEstablished: Bool { !socketID.isEmpty }

  /// The code of the server's close frame; `nil` without one.
  var closeCode: UInt16? { if case .closed(let code, _)? = received.last { code } else { nil } }

  var texts: [String] {
    received.dropFirst().compactMap { if case .text(let text) = $0 { text } else { nil } }
  }

  func send(_ text: String) {
    wire?.send(text: text)
    flush()
  }

  func subscribe(_ channel: String, channelData: String? = nil, secret: String? = nil) {
    let application = Application.forTests()
    let auth = SubscriptionSignature(key: application.key, secret: secret ?? application.secret)
      .authorize(socketID: socketID, channel: channel, channelData: channelData)
    send(ClientCommand(service: .pusher).subscribe(channel: channel, auth: Authorization(auth)))
  }

  override fileprivate var outgoing: ByteBuffer { wire?.output ?? output }

  override fileprivate func take() {
    if wire == nil, let head = try? HTTPHeadParser.response(from: input) {
      guard let negotiated = try? handshake.accept(head) else {
        hasEnded = true
        return
      }
      isCompressed = negotiated.deflate != nil
      wire = WebSocketConnection(
        role: .client, deflate: negotiated.deflate, random: SeededGenerator(seed: 9), input: input)
    }
    while let event = wire?.next() { note(ReceivedEvent(event)) }
    flush()
  }

  private func note(_ event: ReceivedEvent) {
    received.append(event)
    guard socketID.isEmpty, case .text(let text) = event,
      let message = try? JSONParser.parse(text), let data = message["data"]?.text,
      let id = try? JSONParser.parse(data)["socket_id"]?.text
    else { return }
    socketID = id
  }
}
