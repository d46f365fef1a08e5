import PusherCore
import PusherServer
import TestSupport
import Testing

final class ServerHarness {
  let harness: LoopHarness
  let server: Server
  private var condition: () -> Bool = { false }

  private final class Log {
    var events: [ServerLogEvent] = []
  }
  private let logged: Log

  init(
    cluster: (any Cluster)? = nil, _ change: (inout ServerOptions) -> Void = { _ in }
  ) throws {
    harness = try LoopHarness()
    var options = ServerOptions(applications: [.forTests()])
    options.listen.port = 0
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

  var events: [ServerLogEvent] { logged.events }

  /// Runs the loop until the condition holds; returns false after five seconds.
  func run(until condition: @escaping () -> Bool) -> Bool {
    self.condition = condition
    defer { self.condition = { false } }
    return harness.run()
  }

  func url(_ target: String, secure: Bool = false) throws -> HTTPURL {
    try HTTPURL(
      parsing: "\(secure ? "wss" : "ws")://127.0.0.1:\(server.port)\(target)")
  }

  func socket(
    _ target: String = "/app/278d425bdf160c739803?protocol=7", tls: TLSContext? = nil
  ) throws -> LoopSocket {
    try LoopSocket(harness.loop, url: url(target, secure: tls != nil), tls: tls)
  }

  func raw(_ text: String = "", tls: TLSContext? = nil) -> RawClient {
    RawClient(harness.loop, port: server.port, text, tls: tls)
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

  func call(
    _ name: String, _ channels: [String], data: String, secret: String = "7ad3773142a6692b25b8",
    age: Int64 = 0
  ) throws -> [UInt8] {
    let request = try TriggerRequest(name: name, channels: channels, data: data)
      .request(appID: "3")
    let signed = request.signed(
      key: "278d425bdf160c739803", secret: secret,
      timestamp: SystemClock.wall().secondsSince1970 - age)
    var headers = signed.headers
    headers.append("Host", "127.0.0.1")
    headers.append("Content-Length", String(signed.body?.count ?? 0))
    let head = HTTPRequestHead(method: signed.method, target: signed.target, headers: headers)
    return try head.encode() + (signed.body ?? [])
  }
}

final class RawClient: SocketStreamDelegate {
  let input = ByteBuffer()
  let output = ByteBuffer()
  private(set) var isOpen = false
  private(set) var hasEnded = false
  private var stream: SocketStream?

  init(_ loop: EventLoop, port: UInt16, _ text: String, tls: TLSContext? = nil) {
    output.append(text)
    stream = .connect(
      loop: loop, to: Route(host: "127.0.0.1", port: port), tls: tls, delegate: self)
  }

  var text: String { input.view.text }

  func send(_ bytes: [UInt8]) {
    output.append(bytes)
    flush()
  }

  func close() {
    stream?.close()
  }

  private func flush() {
    guard let stream, stream.isOpen else { return }
    try? stream.write(from: output)
  }

  func streamOpened(_ stream: SocketStream, at now: Instant) {
    isOpen = true
    flush()
  }
  func streamWritable(_ stream: SocketStream, at now: Instant) { flush() }

  func streamReadable(_ stream: SocketStream, at now: Instant) {
    let result = try? stream.read(into: input, atMost: 65_536)
    guard result == nil || result == .end else { return }
    hasEnded = true
    stream.close()
  }

  func streamFailed(_ stream: SocketStream, _ error: TransportError, at now: Instant) {
    hasEnded = true
  }
}

final class LoopSocket: SocketStreamDelegate {
  private(set) var received: [ReceivedEvent] = []
  private(set) var socketID = ""
  private(set) var failure: TransportError?
  private(set) var hasEnded = false
  /// True if client and server agreed on permessage-deflate.
  private(set) var isCompressed = false
  private var wire: WebSocketConnection?
  private let handshake: ClientHandshake
  private let input = ByteBuffer()
  private let request = ByteBuffer()
  private var stream: SocketStream?

  init(_ loop: EventLoop, url: HTTPURL, tls: TLSContext?) throws {
    handshake = ClientHandshake(
      url: url, deflate: true, key: [UInt8](repeating: 7, count: 16))
    request.append(try handshake.request())
    stream = .connect(
      loop: loop, to: Routing().route(to: url), tls: tls, delegate: self)
  }

  var isEstablished: Bool { !socketID.isEmpty }

  var texts: [String] {
    received.dropFirst().compactMap { if case .text(let text) = $0 { text } else { nil } }
  }

  /// Pauses reading when false.
  var reads: Bool {
    get { stream?.wantsRead ?? false }
    set { stream?.wantsRead = newValue }
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

  func close() {
    stream?.close()
  }

  private func flush() {
    guard let stream, stream.isOpen else { return }
    try? stream.write(from: wire?.output ?? request)
  }

  func streamOpened(_ stream: SocketStream, at now: Instant) { flush() }
  func streamWritable(_ stream: SocketStream, at now: Instant) { flush() }

  func streamReadable(_ stream: SocketStream, at now: Instant) {
    let result = try? stream.read(into: wire?.input ?? input, atMost: 65_536)
    if result == nil || result == .end { hasEnded = true }
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
    if hasEnded { stream.close() }
  }

  private func note(_ event: ReceivedEvent) {
    received.append(event)
    guard socketID.isEmpty, case .text(let text) = event,
      let message = try? JSONParser.parse(text), let data = message["data"]?.text,
      let id = try? JSONParser.parse(data)["socket_id"]?.text
    else { return }
    socketID = id
  }

  func streamFailed(_ stream: SocketStream, _ error: TransportError, at now: Instant) {
    failure = error
    hasEnded = true
  }
}
