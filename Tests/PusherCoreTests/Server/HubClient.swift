import PusherCore
import PusherServer
import TestSupport
import Testing

/// A client of a hub without a socket; its messages reach the session as masked frames.
final class HubClient {
  let hub: Hub
  let session: ClientSession
  let wire: WebSocketConnection
  var now = Instant(nanoseconds: 0)

  init(
    _ hub: Hub, _ socketID: String, from address: ClientAddress? = nil, context: SessionContext,
    deflate: PerMessageDeflate? = nil, speaksV2: Bool = false
  ) {
    self.hub = hub
    wire = .client(deflate: deflate)
    session = ClientSession(
      WebSocketConnection(
        role: .server, deflate: deflate,
        limits: WebSocketLimits(frame: 102_400, message: 102_400),
        random: SeededGenerator(seed: 1)),
      socketID: socketID, from: address, hub: hub, context: context, speaksV2: speaksV2, at: now)
  }

  convenience init(
    _ hub: Hub, _ socketID: String, from address: ClientAddress? = nil, dialect: Dialect = .pusher
  ) { self.init(hub, socketID, from: address, context: SessionContext(dialect: dialect)) }

  // MARK: What it sends

  func send(_ text: String) {
    wire.send(text: text)
    deliverInput()
  }

  func send(binary bytes: [UInt8]) {
    wire.send(binary: bytes)
    deliverInput()
  }

  func ping(_ payload: [UInt8] = []) {
    wire.ping(payload)
    deliverInput()
  }

  func deliverInput() {
    session.connection.receive(wire.takeOutput())
    session.receive(at: now)
    session.settle(at: now)
  }

  func subscribe(_ channel: String) {
    send(#"{"event":"pusher:subscribe","data":{"auth":"","channel":"\#(channel)"}}"#)
  }

  func unsubscribe(_ channel: String) {
    send(#"{"event":"pusher:unsubscribe","data":{"channel":"\#(channel)"}}"#)
  }

  func subscribeV2(_ channel: String, rewind: String = "null") {
    send(
      #"{"event":"sockudo:subscribe","data":{"channel":"\#(channel)","rewind":\#(rewind)}}"#)
  }

  func unsubscribeV2(_ channel: String) {
    send(#"{"event":"sockudo:unsubscribe","data":{"channel":"\#(channel)"}}"#)
  }

  func authorize(
    _ channel: String, channelData: String? = nil, service: PusherService = .pusher
  ) {
    let application = hub.application
    let auth = SubscriptionSignature(key: application.key, secret: application.secret)
      .authorize(socketID: session.socketID, channel: channel, channelData: channelData)
    send(ClientCommand(service: service).subscribe(channel: channel, auth: Authorization(auth)))
  }

  /// Subscribes with a signature; on a presence channel as this user.
  func join(_ channel: String, as user: String = "7", service: PusherService = .pusher) {
    let isPresence = channel.hasPrefix("presence-")
    authorize(
      channel, channelData: isPresence ? #"{"user_id":"\#(user)"}"# : nil, service: service)
  }

  func signIn(_ userData: String, secret: String? = nil) {
    let application = hub.application
    let auth = SubscriptionSignature(key: application.key, secret: secret ?? application.secret)
      .signIn(socketID: session.socketID, userData: userData)
    send(
      ClientCommand(service: .pusher).signIn(
        Authorization(PusherUserAuth(auth: auth, userData: userData))))
  }

  // MARK: What it receives

  func received() -> [ReceivedEvent] { wire.events(after: session.connection.takeOutput()) }

  func texts() -> [String] {
    received().compactMap { if case .text(let text) = $0 { text } else { nil } }
  }

  /// Expects these messages, and no others since the last look.
  func expect(_ texts: String..., sourceLocation: SourceLocation = #_sourceLocation) {
    expect(texts, sourceLocation: sourceLocation)
  }

  func expect(_ texts: [String], sourceLocation: SourceLocation = #_sourceLocation) {
    #expect(self.texts() == texts, sourceLocation: sourceLocation)
  }

  func answers(to text: String) -> [String] {
    _ = texts()
    send(text)
    return texts()
  }

  /// The names of the received events; another kind of message in its own words.
  func names() -> [String] {
    received().map { event in
      guard case .text(let text) = event else { return "\(event)" }
      return (try? JSONParser.parse(text))?["event"]?.text ?? "no JSON"
    }
  }

  /// The parts of the last message, which must be an error.
  func error() throws -> (code: JSONValue?, message: String, channel: String?) {
    let error = try JSONParser.parse(try #require(texts().last))
    #expect(error["event"] == "pusher:error")
    let data = error["data"]
    return (data?["code"], data?["message"]?.text ?? "", error["channel"]?.text)
  }

  /// The code of the server's close frame; `nil` without one.
  func closeCode() -> UInt16? {
    _ = received()
    return wire.closeReceived?.code?.rawValue
  }

  // MARK: Time and end

  func wait(_ duration: Duration) {
    now = now.advanced(by: duration)
    session.tick(at: now)
    session.settle(at: now)
  }

  func settle() { session.settle(at: now) }

  func lose(reason: String = "gone") {
    session.lost(reason: reason, at: now)
    session.settle(at: now)
  }
}

extension Hub {
  /// A hub on the only node of its app.
  convenience init(
    application: Application, limits: ServerLimits = ServerLimits(),
    service: PusherService = .pusher, dialect: Dialect = .pusher
  ) { self.init(AppSetup(application, limits: limits, service: service, dialect: dialect)) }

  /// A hub with the app of the protocol's vectors.
  static func forTests(
    allowsClientEvents: Bool = true, _ change: (inout ServerLimits) -> Void = { _ in }
  ) -> Hub {
    var limits = ServerLimits()
    change(&limits)
    return Hub(application: .forTests(allowsClientEvents: allowsClientEvents), limits: limits)
  }

  /// A client after its greeting.
  func client(_ socketID: String = "1.1", from address: ClientAddress? = nil) -> HubClient {
    let client = HubClient(self, socketID, from: address)
    _ = client.received()
    return client
  }

  /// A client of protocol V2 after its greeting; the first one begins the streams.
  func v2Client(
    _ socketID: String = "1.1", context: SessionContext = SessionContext()
  ) -> HubClient {
    beginStreams(life: "life")
    let client = HubClient(self, socketID, context: context, speaksV2: true)
    _ = client.received()
    return client
  }

  /// Two clients on a channel, on a presence channel the users 0 and 1.
  func pair(on channel: String, dialect: Dialect = .pusher) -> [HubClient] {
    let clients = ["1.1", "1.2"].map { HubClient(self, $0, dialect: dialect) }
    for (user, client) in clients.enumerated() { client.join(channel, as: "\(user)") }
    for client in clients { _ = client.received() }
    return clients
  }

  @discardableResult
  func publish(
    name: String, channel: String, data: JSONValue, except excluded: String? = nil
  ) -> Int? {
    publish(name: name, channel: channel, data: data, except: excluded, at: .start)
  }

  func userIDs(_ channel: String) -> [String] { facts(of: channel).members.members.map(\.userID) }

  func cachedData(_ channel: String, at now: Instant = .start) -> String? {
    facts(of: channel, at: now).cached?.event.data.dataText
  }

  func subscriptionCount(_ channel: String) -> Int { facts(of: channel).subscriptions }
}

extension Dialect {
  /// A hub with this dialect's limits.
  func hub(_ change: (inout Application) -> Void = { _ in }) -> Hub {
    var application = Application.forTests()
    change(&application)
    return Hub(application: application, limits: limits, dialect: self)
  }

  /// A client after its greeting.
  func client(_ socketID: String = "1.1", of hub: Hub? = nil) -> HubClient {
    let client = HubClient(hub ?? self.hub(), socketID, dialect: self)
    _ = client.received()
    return client
  }

  func applications() -> Applications {
    Applications([.forTests()], limits: limits, dialect: self, random: SeededGenerator(seed: 1))
  }
}

// MARK: The HTTP API

extension Applications {
  /// Apps on one node; of two with the same id or key the first counts.
  convenience init(
    _ applications: [Application], limits: ServerLimits = ServerLimits(),
    service: PusherService = .pusher, dialect: Dialect = .pusher,
    random: any RandomNumberGenerator = SeededGenerator(seed: 1)
  ) {
    self.init(
      limits: limits, dialect: dialect, text: MessageText(service: service, dialect: dialect),
      random: random)
    renew(applications.map { AppSetup($0, limits: limits, service: service, dialect: dialect) })
  }

  /// The server's time, in seconds since 1970.
  static let seconds: Int64 = 1_353_088_179

  /// Returns the answer to a request without peers, which is available at once.
  func answer(_ request: HTTPRequestReader.Request, at now: Instant = .start) -> HTTPAnswer {
    var progress = APIRouter(self).begin(request, seconds: Self.seconds, at: now)
    // A long list takes several turns.
    while case .pauses(let next) = progress { progress = next(now) }
    if case .answer(let answer) = progress { return answer }
    Issue.record("the call waits")
    return .refusal(500, "no answer")
  }

  func get(_ path: String) -> HTTPAnswer { answer(.signed("GET", path)) }

  func post(_ path: String, _ body: String) -> HTTPAnswer {
    answer(.signed("POST", path, body: body))
  }
}

extension HTTPRequestReader.Request {
  /// A call of the HTTP API; the parameters stand in the path's query, unencoded.
  static func signed(
    _ method: String, _ path: String, body: String? = nil,
    key: String = Application.forTests().key, secret: String = Application.forTests().secret,
    timestamp: Int64 = Applications.seconds
  ) -> Self {
    let parts = path.split(separator: "?", maxSplits: 1)
    let parameters = parts.dropFirst().flatMap { $0.split(separator: "&") }.map { pair in
      let sides = pair.split(separator: "=", maxSplits: 1).map(String.init)
      return APIRequest.Parameter(sides[0], sides[1])
    }
    let signed = APIRequest(
      method: method, path: String(parts[0]), parameters: parameters,
      body: body.map { Array($0.utf8) }
    ).signed(key: key, secret: secret, timestamp: timestamp)
    let head = HTTPRequestHead(method: method, target: signed.target, headers: signed.headers)
    return Self(head: head, body: signed.body ?? [])
  }

  /// The same head with another body.
  func sending(_ body: String) -> Self { Self(head: head, body: Array(body.utf8)) }
}

extension Instant {
  fileprivate static let start = Instant(nanoseconds: 0)
}

extension Application {
  static func forTests(allowsClientEvents: Bool = true) -> Application {
    Application(
      id: "3", key: "278d425bdf160c739803", secret: "7ad3773142a6692b25b8",
      allowsClientEvents: allowsClientEvents)
  }
}
