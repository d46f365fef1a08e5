public import PusherCore
internal import PusherServer

/// A Pusher server for your tests, in your test's process, with faults.
///
/// ```swift
/// let server = try await PusherTestServer()
/// let app = MyApp(options: server.clientOptions(), key: server.key)
/// try await server.subscribers(of: "orders", reach: 1)
/// try await server.trigger("order.created", channels: ["orders"], data: ["id": 7])
/// ```
///
/// It listens on 127.0.0.1 at a port that the system picks, so any number of tests can run at the
/// same time. It answers as Pusher, Laravel Reverb or soketi do, checks every signature, keeps
/// their limits, and has the HTTP API, the authorisation endpoints and webhooks. Nothing leaves the
/// machine.
///
/// **Life.** The server listens until ``stop()`` or the end of its last reference. Both close all
/// clients with code 4200, as a restarting server does, so that they reconnect. It has one thread,
/// which ends with it. Any thread may use it.
public final class PusherTestServer: Sendable {
  /// The server that the answers imitate.
  public enum Dialect: String, Sendable, CaseIterable {
    /// Pusher Channels.
    case pusher
    /// Laravel Reverb.
    case reverb
    /// soketi.
    case soketi
  }

  /// ID of the app.
  public let appID: String
  /// Key of the app.
  public let key: String
  /// Secret of the app.
  public let secret: String
  /// Port on 127.0.0.1; stays the same after ``stop()`` and ``start()``.
  public let port: Int
  let options: ServerOptions
  /// PEM file that clients trust.
  let caFile: String?
  /// Thread of the server and of the calls of ``api``.
  let runtime: PusherRuntime
  let desk: TestServerState

  /// Creates a server with one app and starts listening.
  ///
  /// - Parameters:
  ///   - dialect: Server that the answers imitate.
  ///   - service: Names of the protocol; ``clientOptions(authMethod:)`` has the same.
  ///   - appID: ID of the app.
  ///   - key: Key of the app.
  ///   - secret: Secret of the app.
  ///   - port: Port to listen on; 0 lets the system pick a free port, the usual choice in tests.
  ///   - faults: Faults at the start.
  ///   - allowsClientEvents: Lets clients send events to each other.
  ///   - sendsSubscriptionCounts: Sends subscription counts to subscribers.
  ///   - webhooks: URLs that receive events of channels, members and clients; departures are sent
  ///     at once.
  ///   - encryptionMasterKey: Source of the keys of encrypted channels, for ``api`` and the
  ///     endpoints.
  ///   - activityTimeout: Time after which a silent client must send something; default: the
  ///     dialect's.
  ///   - certificateFile: A PEM file; with it the server speaks TLS only.
  ///   - keyFile: Key of the certificate; default: in the same file.
  ///   - caFile: A PEM file that the clients and ``api`` trust; default: the certificate itself.
  ///   - threadName: Name of the thread in debuggers and `ps -T`.
  /// - Throws: ``PusherTestServerError``.
  public init(
    dialect: Dialect = .pusher, service: PusherService = .pusher, appID: String = "test-app",
    key: String = "test-key", secret: String = "test-secret", port: Int = 0,
    faults: [PusherTestFault] = [], allowsClientEvents: Bool = true,
    sendsSubscriptionCounts: Bool = false, webhooks: [String] = [],
    encryptionMasterKey: EncryptionMasterKey? = nil, activityTimeout: Duration? = nil,
    certificateFile: String? = nil, keyFile: String? = nil, caFile: String? = nil,
    threadName: String = "pusher-test"
  ) async throws(PusherTestServerError) {
    var application = Application(
      id: appID, key: key, secret: secret, allowsClientEvents: allowsClientEvents)
    application.sendsSubscriptionCounts = sendsSubscriptionCounts
    application.masterKey = encryptionMasterKey
    application.webhooks = try Self.urls(webhooks)
    var options = ServerOptions(applications: [application])
    guard let wanted = UInt16(exactly: port) else {
      throw .notListening("\(port) is not a port; ports are 0 to 65535")
    }
    options.listen.port = wanted
    options.dialect = PusherServer.Dialect(rawValue: dialect.rawValue) ?? .pusher
    options.limits = options.dialect.limits
    if let activityTimeout { options.limits.times.activity = activityTimeout }
    options.service = service
    options.authEndpoints = .thisMachine
    options.webhooks.delay = .zero
    options.certificate = certificateFile.map { CertificateFiles($0, key: keyFile) }
    for fault in faults { options.faults.append(try fault.staged()) }
    let runtime = PusherRuntime(name: threadName)
    let desk = TestServerState(runtime.thread)
    let picked = try await Self.listen(options, desk)
    options.listen.port = picked
    self.port = Int(picked)
    self.options = options
    self.caFile = caFile ?? certificateFile
    self.runtime = runtime
    self.desk = desk
    (self.appID, self.key, self.secret) = (appID, key, secret)
  }

  deinit {
    desk.finish()
    runtime.thread.endAll {}
  }

  private static func urls(_ texts: [String]) throws(PusherTestServerError) -> [HTTPURL] {
    var urls: [HTTPURL] = []
    for text in texts {
      do throws(HTTPError) {
        urls.append(try HTTPURL(parsing: text))
      } catch {
        // The text may hold a token, so the message does not repeat it.
        throw .invalidWebhook("webhook: \(error)")
      }
    }
    return urls
  }

  private static func listen(
    _ options: ServerOptions, _ desk: TestServerState
  ) async throws(PusherTestServerError) -> UInt16 {
    let result = await withCheckedContinuation {
      (continuation: CheckedContinuation<Result<UInt16, PusherTestServerError>, Never>) in
      desk.thread.post { member in
        let port = Result { () throws(TransportError) in try member.listen(options) }
        continuation.resume(returning: port.mapError { .notListening("\($0)") })
      } begin: {
        ServerMember($0, desk)
      } failed: {
        continuation.resume(returning: .failure(.notListening($0)))
      }
    }
    return try result.get()
  }

  // MARK: Stopping and starting

  /// True while the server listens.
  public var isListening: Bool { desk.isOpen }

  /// Closes all clients with 4200, stops listening, and returns when that is done.
  ///
  /// Clients have 1 s to answer the close frame. Unfinished calls of ``api`` are cancelled.
  public func stop() async { await runtime.close() }

  /// Listens again after ``stop()``, at the same port, without clients and with the initial faults.
  ///
  /// Does nothing if the server already listens.
  ///
  /// - Throws: ``PusherTestServerError/notListening(_:)`` if another program took the port in the
  ///   meantime.
  public func start() async throws(PusherTestServerError) {
    guard !isListening else { return }
    _ = try await Self.listen(options, desk)
  }
}

/// Clients of the server, and its HTTP API.
extension PusherTestServer {
  /// Returns options for a client of this server; change those that your test needs.
  ///
  /// - Parameter authMethod: Signs subscriptions; default: the app's secret.
  public func clientOptions(authMethod: AuthMethod? = nil) -> PusherClientOptions {
    PusherClientOptions(
      authMethod: authMethod ?? .inline(secret: secret), host: .host("127.0.0.1"), port: port,
      useTLS: isSecure, service: options.service, caFile: caFile,
      encryptionMasterKey: options.applications[0].masterKey)
  }

  /// Creates a client of this server, not yet connected.
  ///
  /// - Parameter userID: User on presence channels and for sign-in; `nil` for none.
  public func client(userID: String? = nil) -> Pusher {
    var options = clientOptions()
    if let userID {
      options.userAuthMethod = .inline(secret: secret, userData: ["id": .string(userID)])
    }
    let pusher = Pusher(key: key, options: options)
    if let userID {
      pusher.connection.userDataFetcher = { PusherPresenceChannelMember(userId: userID) }
    }
    return pusher
  }

  /// The app's HTTP API on this server.
  public var api: PusherAPI {
    PusherAPI(
      appID: appID, key: key, secret: secret,
      options: PusherAPI.Options(
        host: .host("127.0.0.1"), port: port, useTLS: isSecure, caFile: caFile,
        service: options.service, encryptionMasterKey: options.applications[0].masterKey,
        runtime: runtime))
  }

  /// URL of an endpoint that authorises every client for every channel, for `AuthMethod.endpoint`.
  public var authEndpoint: String { url + "/pusher/auth" }

  /// URL of an endpoint that signs in the `user_id` of the request, for `UserAuthMethod.endpoint`.
  public var userAuthEndpoint: String { url + "/pusher/user-auth" }

  /// URL of the server, without a slash at its end.
  public var url: String { "\(isSecure ? "https" : "http")://127.0.0.1:\(port)" }
  private var isSecure: Bool { options.certificate != nil }

  // MARK: Events

  /// Sends one event to one or more channels, through ``api``.
  ///
  /// Only current subscribers get it: see ``subscribers(of:reach:)``.
  public func trigger(_ eventName: String, channels: [String], data: String)
    async throws(PusherAPIError)
  { try await api.trigger(eventName, channels: channels, data: data) }

  /// Sends one event with `Encodable` data, which becomes JSON.
  @_disfavoredOverload public func trigger(
    _ eventName: String, channels: [String], data: some Encodable
  ) async throws(PusherAPIError) {
    try await api.trigger(eventName, channels: channels, data: data)
  }
}

/// Faults, and the state of the server.
extension PusherTestServer {
  // MARK: Faults

  /// Stages faults in addition to earlier ones; the first due fault wins.
  ///
  /// - Throws: ``PusherTestServerError/invalidFault(_:)``, and ``PusherTestServerError/stopped``.
  public func stage(_ faults: PusherTestFault...) async throws(PusherTestServerError) {
    var staged: [StagedFault] = []
    for fault in faults { staged.append(try fault.staged()) }
    let all = staged
    guard await ask({ $0.stage(all) }) != nil else { throw .stopped }
  }

  /// Removes all faults; earlier effects on connections stay.
  public func clearFaults() async { await ask { $0.context.faults.removeAll() } }

  /// Ends the connections of all clients once, without a close frame, as a broken network does.
  public func dropConnections() async { await ask { $0.dropClients() } }

  /// Closes the connections of all clients once, with a code.
  ///
  /// - Throws: ``PusherTestServerError/invalidFault(_:)`` for a code that close frames cannot have.
  public func closeConnections(
    code: Int = 4200, reason: String = "closed by the test"
  ) async throws(PusherTestServerError) {
    let wire = try CloseCode(ofTest: code)
    await ask { $0.closeClients(wire, reason: reason) }
  }

  // MARK: State

  /// Number of connected clients.
  public var connectionCount: Int { get async { await ask { $0.connectionCount } ?? 0 } }

  /// Occupied channels, sorted.
  public var channels: [String] { get async { await ask { $0.hubs[0].occupiedChannels } ?? [] } }

  /// Number of clients that are subscribed to a channel.
  public func subscriptionCount(of channel: String) async -> Int {
    await ask { $0.hubs[0].facts(of: channel).subscriptions } ?? 0
  }

  /// User IDs of a presence channel's members, in the order in which they joined.
  public func members(of channel: String) async -> [String] {
    await ask { $0.hubs[0].facts(of: channel).members.members.map(\.userID) } ?? []
  }

  /// Events of the server from now on, until the server's last reference is gone.
  ///
  /// Each call returns its own sequence, which keeps all unread events.
  public var events: AsyncStream<PusherTestEvent> { desk.observe() }

  /// Returns when a channel has at least this number of subscribers.
  ///
  /// An earlier event of a test may miss the program under test.
  ///
  /// - Throws: `CancellationError` if the task is cancelled first; the wait has no other limit.
  public func subscribers(of channel: String, reach count: Int) async throws {
    var isThere = await subscriptionCount(of: channel) >= count
    guard !isThere else { return }
    // Checked again, because a subscriber may have come before the sequence existed.
    let changes = events
    isThere = await subscriptionCount(of: channel) >= count
    guard !isThere else { return }
    for await change in changes {
      if case .subscribed(_, channel, _) = change {
        if await subscriptionCount(of: channel) >= count { return }
      }
    }
    throw CancellationError()
  }

  /// Returns `nil` if the server is stopped.
  @discardableResult private func ask<Answer: Sendable>(
    _ question: @escaping @Sendable (Server) -> Answer
  ) async -> Answer? {
    await withCheckedContinuation { continuation in
      desk.thread.post {
        continuation.resume(returning: $0.answer(question))
      } failed: { _ in
        continuation.resume(returning: nil)
      }
    }
  }
}

/// An event on a ``PusherTestServer``.
public enum PusherTestEvent: Sendable, Equatable {
  /// A client connected.
  case connected(socketID: String)
  /// A client disconnected; `code` is from the close frame, if there was one.
  case disconnected(socketID: String, code: Int?)
  /// A subscription was confirmed; `userID` is set on presence channels.
  case subscribed(socketID: String, channel: String, userID: String?)
  /// A subscription was refused, with the reason sent to the client.
  case subscriptionRefused(socketID: String, channel: String, reason: String)
  /// A client unsubscribed from a channel.
  case unsubscribed(socketID: String, channel: String)
  /// A client signed in as a user.
  case signedIn(socketID: String, userID: String)
  /// An event of the HTTP API was sent to this number of clients.
  case event(name: String, channel: String, data: String, recipients: Int)
  /// A client event was relayed to this number of other clients.
  case clientEvent(socketID: String, name: String, channel: String, recipients: Int)
  /// An HTTP request was answered with this status.
  case request(method: String, path: String, status: Int)
  /// Any other event, in words.
  case other(String)

  init(_ event: ServerLogEvent) {
    switch event {
    case .connected(let socketID): self = .connected(socketID: socketID)
    case .disconnected(let socketID, let code, _):
      self = .disconnected(socketID: socketID, code: code)
    case .subscribed(let socketID, let channel, let userID):
      self = .subscribed(socketID: socketID, channel: channel, userID: userID)
    case .subscriptionRefused(let socketID, let channel, let reason):
      self = .subscriptionRefused(socketID: socketID, channel: channel, reason: reason)
    case .unsubscribed(let socketID, let channel):
      self = .unsubscribed(socketID: socketID, channel: channel)
    case .signedIn(let socketID, let userID): self = .signedIn(socketID: socketID, userID: userID)
    case .event(let name, let channel, let data, let recipients, _):
      self = .event(
        name: name, channel: channel, data: data.dataText, recipients: recipients ?? 0)
    case .clientEvent(let socketID, let name, let channel, _, let recipients, _):
      self = .clientEvent(
        socketID: socketID, name: name, channel: channel, recipients: recipients ?? 0)
    case .request(let method, let path, let status, _):
      self = .request(method: method, path: path, status: status)
    default: self = .other(event.description)
    }
  }
}

/// State that a test server shares with its thread.
final class TestServerState: Sendable {
  let thread: OnDemandThread<ServerMember>
  private let status = Locked(
    (
      isOpen: false, observers: [Int: AsyncStream<PusherTestEvent>.Continuation](),
      observerCount: 0
    ))

  init(_ thread: LoopThread) { self.thread = OnDemandThread(thread) }

  /// True while the server listens.
  var isOpen: Bool {
    get { status.withLock { $0.isOpen } }
    set { status.withLock { $0.isOpen = newValue } }
  }

  // MARK: Observers

  /// Returns a sequence of the events from now on.
  func observe() -> AsyncStream<PusherTestEvent> {
    let (events, continuation) = AsyncStream.makeStream(of: PusherTestEvent.self)
    let number = status.withLock { status in
      status.observerCount += 1
      status.observers[status.observerCount] = continuation
      return status.observerCount
    }
    continuation.onTermination = { [weak self] _ in
      _ = self?.status.withLock { $0.observers.removeValue(forKey: number) }
    }
    return events
  }

  func tell(_ event: PusherTestEvent) {
    for observer in status.withLock({ Array($0.observers.values) }) { observer.yield(event) }
  }

  func finish() {
    let observers = status.withLock { status in
      defer { status.observers = [:] }
      return Array(status.observers.values)
    }
    for observer in observers { observer.finish() }
  }
}

final class ServerMember: LoopMember {
  private let loop: EventLoop
  private let desk: TestServerState
  private var server: Server?
  private var isEnding = false

  /// Maximum time for clients to answer the close frame.
  private static let patience = Duration.seconds(1)

  init(_ loop: EventLoop, _ desk: TestServerState) { (self.loop, self.desk) = (loop, desk) }

  func listen(_ options: ServerOptions) throws(TransportError) -> UInt16 {
    let server = try Server(
      options: options, random: SecureRandom.generator, loop: loop,
      log: { [desk] in desk.tell(PusherTestEvent($0)) })
    self.server = server
    desk.isOpen = true
    if isEnding { end() }
    return server.port
  }

  /// Returns `nil` if the server is stopped.
  func answer<Answer>(_ question: (Server) -> Answer) -> Answer? {
    // The server sends the resulting output at the start of a round.
    loop.wakeUp.signal()
    return server.map(question)
  }

  func beginRound() { desk.thread.serve(self, on: loop) { server == nil } }

  func end() {
    isEnding = true
    server?.stop(patience: Self.patience) { [self] in
      server = nil
      desk.isOpen = false
      loop.wakeUp.signal()
    }
  }
}
