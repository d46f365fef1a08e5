public import PusherCore
internal import PusherServer

/// A Pusher for your tests: a server in your test's process, with faults.
///
/// ```swift
/// let server = try await PusherTestServer()
/// let app = MyApp(options: server.clientOptions(), key: server.key)
/// try await server.subscribers(of: "orders", reach: 1)
/// try await server.trigger("order.created", channels: ["orders"], data: ["id": 7])
/// ```
///
/// It listens on 127.0.0.1 at a port that the system picks, so any number of tests can have one at the same time. It
/// answers as Pusher, Laravel Reverb or soketi do, checks every signature, keeps their limits, and has the HTTP API, the
/// authorisation endpoints and webhooks. Nothing leaves the machine.
///
/// **Life.** It listens until ``stop()`` or its last reference is gone; both say goodbye to the clients with close code
/// 4200, as a server does that restarts, so that they try again. It has one thread, which ends with it.
/// Everything can be called from any thread.
public final class PusherTestServer: Sendable {
  /// Whose answers the server gives.
  public enum Dialect: String, Sendable, CaseIterable {
    /// Pusher Channels.
    case pusher
    /// Laravel Reverb.
    case reverb
    /// soketi.
    case soketi
  }

  /// The app's id.
  public let appID: String
  /// The app's key.
  public let key: String
  /// The app's secret.
  public let secret: String
  /// The port on 127.0.0.1; it stays the same when the server is stopped and started again.
  public let port: Int
  let options: ServerOptions
  /// What clients trust.
  let caFile: String?
  /// The thread of the server, and of the calls of ``api``.
  let runtime: PusherRuntime
  let desk: ServerDesk

  /// A server with one app, which listens from now on.
  ///
  /// - Parameters:
  ///   - dialect: Whose answers it gives.
  ///   - service: Whose names the protocol has; ``clientOptions(authMethod:)`` has the same.
  ///   - appID: The app's id.
  ///   - key: The app's key.
  ///   - secret: The app's secret.
  ///   - port: The port to listen on; 0 lets the system pick a free one, which is what tests want.
  ///   - faults: What goes wrong from the beginning.
  ///   - allowsClientEvents: Whether clients may send events to each other.
  ///   - sendsSubscriptionCounts: Whether subscribers are told how many there are.
  ///   - webhooks: URLs that are told of channels, members and client events; departures are told at once.
  ///   - encryptionMasterKey: Makes the keys of encrypted channels, for ``api`` and the endpoints.
  ///   - activityTimeout: The silence after which a client must send something; `nil` for the dialect's.
  ///   - certificateFile: A PEM file; with it the server speaks TLS only.
  ///   - keyFile: The certificate's key; `nil` where it is in the same file.
  ///   - caFile: A PEM file that the clients and ``api`` trust; `nil` for the certificate itself.
  ///   - threadName: The name of its thread, as debuggers and `ps -T` show it.
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
    options.port = wanted
    options.dialect = PusherServer.Dialect(rawValue: dialect.rawValue) ?? .pusher
    options.limits = options.dialect.limits
    if let activityTimeout { options.limits.activityTimeout = activityTimeout }
    options.service = service
    options.authEndpoints = .thisMachine
    options.webhooks.delay = .zero
    options.certificateFile = certificateFile
    options.keyFile = keyFile
    for fault in faults { options.faults.append(try fault.staged()) }
    let runtime = PusherRuntime(name: threadName)
    let desk = ServerDesk()
    let picked = try await Self.listen(options, runtime, desk)
    options.port = picked
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
        throw .invalidWebhook("'\(text)' is no URL for webhooks: \(error)")
      }
    }
    return urls
  }

  /// Listens on the runtime's thread, and answers the port.
  private static func listen(
    _ options: ServerOptions, _ runtime: PusherRuntime, _ desk: ServerDesk
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

  /// Whether it listens.
  public var isListening: Bool { desk.isOpen }

  /// Closes all clients with 4200, listens no more, and returns when that is done.
  ///
  /// A client that does not answer the goodbye is given a second. Calls of ``api`` that are under way are cancelled.
  public func stop() async {
    await runtime.close()
  }

  /// Listens again after ``stop()``, at the same port, with nobody there and the faults of the beginning.
  ///
  /// Nothing happens when it listens already.
  ///
  /// - Throws: ``PusherTestServerError/notListening(_:)`` when another program has taken the port meanwhile.
  public func start() async throws(PusherTestServerError) {
    guard !isListening else { return }
    _ = try await Self.listen(options, runtime, desk)
  }
}
