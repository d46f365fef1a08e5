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
    let desk = TestServerState()
    let picked = try await Self.listen(options, runtime, desk)
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
    _ options: ServerOptions, _ runtime: PusherRuntime, _ desk: TestServerState
  ) async throws(PusherTestServerError) -> UInt16 {
    let thread = runtime.thread
    let result = await withCheckedContinuation {
      (continuation: CheckedContinuation<Result<UInt16, PusherTestServerError>, Never>) in
      thread.join { loop in
        ServerMember(options, on: thread, loop, desk) { continuation.resume(returning: $0) }
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
    _ = try await Self.listen(options, runtime, desk)
  }
}
