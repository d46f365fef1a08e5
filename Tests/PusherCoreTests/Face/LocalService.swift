import Foundation
import PusherCore
import PusherServer
import TestSupport

final class LocalService: Sendable {
  let port: Int
  private let service: PusherService
  private let wakeUp: WakeUp
  private let server: Kept

  /// A server that only its own thread touches.
  private final class Kept: @unchecked Sendable { var server: Server? }

  /// - Parameter change: Changes the default app: test credentials, free port.
  init(_ change: @escaping @Sendable (inout ServerOptions) -> Void = { _ in }) throws {
    let started = DispatchSemaphore(value: 0)
    let result = Locked<(Int, PusherService, WakeUp)?>(nil)
    let kept = Kept()
    self.server = kept
    Thread.detachNewThread {
      guard let loop = try? EventLoop() else { return }
      var options = ServerOptions(applications: [.forTests()])
      options.listen.port = 0
      change(&options)
      guard let server = Self.server(options, on: loop) else {
        started.signal()
        return
      }
      kept.server = server
      let service = options.service
      result.withLock { $0 = (Int(server.port), service, loop.wakeUp) }
      started.signal()
      loop.run()
      kept.server = nil
    }
    guard started.wait(timeout: .now() + 10) == .success,
      let (port, service, wakeUp) = result.withLock({ $0 })
    else { throw Failure.noServer }
    self.port = port
    self.service = service
    self.wakeUp = wakeUp
  }

  /// Returns a server at the given port, or at a port that no other test gets.
  ///
  /// A successor needs the same port again, so a free port chosen by the system would not do.
  private static func server(_ options: ServerOptions, on loop: EventLoop) -> Server? {
    func make(_ port: UInt16) -> Server? {
      var options = options
      options.listen.port = port
      return try? Server(options: options, random: SeededGenerator(seed: 5), loop: loop)
    }
    if options.listen.port != 0 {
      // A process that is just starting holds a copy of every socket for a moment, including the
      // predecessor's.
      for _ in 0..<2000 {
        if let server = make(options.listen.port) { return server }
        usleep(2000)
      }
      return nil
    }
    for _ in ports {
      let port = nextPort.withLock { next -> UInt16 in
        next = next == ports.upperBound ? ports.lowerBound : next + 1
        return next
      }
      if let server = make(port) { return server }
    }
    return nil
  }

  private static let ports: ClosedRange<UInt16> = 30_000...32_767
  /// Other processes start at another port.
  private static let nextPort = Locked(ports.lowerBound + UInt16(Int(getpid()) * 211 % ports.count))

  enum Failure: Error {
    case noServer
    case late(String)
  }

  deinit {
    wakeUp.post { [server] loop in
      // The loop and the server keep each other, with all their descriptors, until it has stopped.
      guard let server = server.server else { return loop.stop() }
      server.stop(patience: .zero) { loop.stop() }
    }
  }

  func stop() async {
    await withCheckedContinuation { continuation in
      wakeUp.post { [server] loop in
        guard let server = server.server else { return continuation.resume() }
        server.stop {
          continuation.resume()
          loop.stop()
        }
      }
    }
  }

  func successor() throws -> LocalService {
    let port = UInt16(port)
    return try LocalService { $0.listen.port = port }
  }

  func restart() async throws -> LocalService {
    await stop()
    return try successor()
  }

  /// Returns a client with the delegate, joined to a public and a private channel.
  func joined(
    _ delegate: RecordingDelegate, _ change: (inout PusherClientOptions) -> Void = { _ in }
  ) async throws -> Pusher {
    let pusher = signingPusher(delegate: delegate, change)
    pusher.subscribe("a")
    pusher.subscribe("private-b")
    pusher.connect()
    _ = try await delegate.subscribed.wait(for: 2)
    return pusher
  }

  func options(_ authMethod: AuthMethod = .noMethod) -> PusherClientOptions {
    PusherClientOptions(
      authMethod: authMethod, host: .host("127.0.0.1"), port: port, useTLS: false, service: service)
  }

  /// Returns a client of this server, whose options `change` may change.
  func pusher(
    _ authMethod: AuthMethod = .noMethod, key: String = Application.forTests().key,
    delegate: RecordingDelegate? = nil, _ change: (inout PusherClientOptions) -> Void = { _ in }
  ) -> Pusher {
    var options = options(authMethod)
    change(&options)
    let pusher = Pusher(key: key, options: options)
    pusher.delegate = delegate
    return pusher
  }

  func signingPusher(
    delegate: RecordingDelegate? = nil, _ change: (inout PusherClientOptions) -> Void = { _ in }
  ) -> Pusher {
    pusher(.inline(secret: Application.forTests().secret), delegate: delegate, change)
  }

  static func sign(_ socketID: String, _ channel: String) -> PusherAuth {
    let application = Application.forTests()
    let data = channel.hasPrefix("presence-") ? #"{"user_id":"7"}"# : nil
    return SubscriptionSignature(key: application.key, secret: application.secret)
      .authorize(socketID: socketID, channel: channel, channelData: data)
  }

  static func signUser(_ socketID: String, _ userData: String) -> PusherUserAuth {
    let application = Application.forTests()
    let signature = SubscriptionSignature(key: application.key, secret: application.secret)
    return PusherUserAuth(
      auth: signature.signIn(socketID: socketID, userData: userData), userData: userData)
  }

  var api: PusherAPI { api() }

  func api(
    key: EncryptionMasterKey? = nil, secret: String = Application.forTests().secret,
    runtime: PusherRuntime? = nil
  ) -> PusherAPI {
    let application = Application.forTests()
    return PusherAPI(
      appID: application.id, key: application.key, secret: secret,
      options: PusherAPI.Options(
        host: .host("127.0.0.1"), port: port, useTLS: false, service: service,
        encryptionMasterKey: key, runtime: runtime))
  }

  func trigger(_ name: String, _ channel: String, _ data: String = "{}") async throws {
    try await api.trigger(name, channels: [channel], data: data)
  }
}

final class Gathered<Value: Sendable>: Sendable {
  private struct Status {
    var values: [Value] = []
    var waiting: [(count: Int, CheckedContinuation<Void, Never>)] = []
  }
  private let status = Locked(Status())

  var values: [Value] { status.withLock { $0.values } }

  func add(_ value: Value) {
    let ready = status.withLock { status in
      status.values.append(value)
      let count = status.values.count
      let ready = status.waiting.filter { $0.count <= count }
      status.waiting.removeAll { $0.count <= count }
      return ready
    }
    for (_, continuation) in ready { continuation.resume() }
  }

  /// Waits until the values suffice, at most 30 s after each value.
  @discardableResult func wait(until isEnough: ([Value]) -> Bool) async throws -> [Value] {
    var known = values
    while !isEnough(known) { known = try await waitOnce(for: known.count + 1) }
    return known
  }

  /// Waits for `count` values, at most 30 s each: a busy machine is no failure.
  func wait(for count: Int = 1) async throws -> [Value] { try await wait { $0.count >= count } }

  /// Waits for `count` values, at most 30 s in all.
  private func waitOnce(for count: Int) async throws -> [Value] {
    let deadline = Task {
      try await Task.sleep(for: .seconds(30))
      let late = status.withLock { status in
        defer { status.waiting = [] }
        return status.waiting
      }
      for (_, continuation) in late { continuation.resume() }
    }
    defer { deadline.cancel() }
    await withCheckedContinuation { continuation in
      let isReady = status.withLock { status in
        if status.values.count >= count { return true }
        status.waiting.append((count, continuation))
        return false
      }
      if isReady { continuation.resume() }
    }
    guard values.count >= count else {
      throw LocalService.Failure.late("\(values.count) of \(count) values")
    }
    return values
  }
}

final class RecordingDelegate: PusherDelegate {
  let states = Gathered<String>()
  let subscribed = Gathered<String>()
  let failed = Gathered<
    (name: String, response: AuthResponse?, data: String?, error: SubscriptionFailure)
  >()
  let signedIn = Gathered<String>()
  let signInFailed = Gathered<
    (response: AuthResponse?, data: String?, error: SubscriptionFailure)
  >()
  let watchlist = Gathered<PusherWatchlistEvent>()
  let counts = Gathered<String>()
  let errors = Gathered<PusherError>()
  let undecrypted = Gathered<String>()
  let logged = Gathered<String>()
  let connected = Gathered<String>()
  let disconnected = Gathered<(error: ConnectionLoss?, willRetry: Bool)>()
  let connectFailures = Gathered<(error: any Error, willRetry: Bool)>()
  let delays = Gathered<Duration>()
  let missed = Gathered<Duration>()
  let dropped = Gathered<Int>()
  let asked = Gathered<String>()
  let mayConnect: Bool
  let retry: @Sendable (Duration) -> Duration?
  let changeRequest: @Sendable (inout AuthRequest) -> Void

  init(
    of pusher: Pusher? = nil, mayConnect: Bool = true,
    retry: @escaping @Sendable (Duration) -> Duration? = { _ in .milliseconds(10) },
    changeRequest: @escaping @Sendable (inout AuthRequest) -> Void = { _ in }
  ) {
    self.mayConnect = mayConnect
    self.retry = retry
    self.changeRequest = changeRequest
    pusher?.delegate = self
  }

  func changedConnectionState(from old: ConnectionState, to new: ConnectionState) {
    states.add("\(old.stringValue()) > \(new.stringValue())")
  }

  func subscribedToChannel(name: String) { subscribed.add(name) }

  func failedToSubscribeToChannel(
    name: String, response: AuthResponse?, data: String?, error: SubscriptionFailure
  ) {
    failed.add((name, response, data, error))
  }

  func signedIn(userId: String, userData: JSONValue) {
    signedIn.add("\(userId) \(userData.jsonText)")
  }

  func failedToSignIn(response: AuthResponse?, data: String?, error: SubscriptionFailure) {
    signInFailed.add((response, data, error))
  }

  func watchlistChanged(_ event: PusherWatchlistEvent) { watchlist.add(event) }

  func subscriptionCountChanged(channelName: String, count: Int) {
    counts.add("\(channelName) \(count)")
  }

  func willAuthenticateUser(request: inout AuthRequest) {
    asked.add("user")
    changeRequest(&request)
  }

  func failedToDecryptEvent(eventName: String, channelName: String, data: String?) {
    undecrypted.add("\(channelName) \(eventName) \(data ?? "none")")
  }

  func receivedError(error: PusherError) { errors.add(error) }
  func debugLog(message: String) { logged.add(message) }
  func connectionWillConnect(_ connection: PusherConnection) -> Bool { mayConnect }
  func connectionDidConnect(_ connection: PusherConnection) {
    connected.add(connection.socketId ?? "")
  }

  func connectionDidDisconnect(
    _ connection: PusherConnection, error: ConnectionLoss?, willAttemptReconnect: Bool
  ) {
    disconnected.add((error, willAttemptReconnect))
  }

  func connectionDidFail(
    _ connection: PusherConnection, error: any Error, willAttemptReconnect: Bool
  ) {
    connectFailures.add((error, willAttemptReconnect))
  }

  func connectionWillReconnect(
    _ connection: PusherConnection, afterDelay delay: Duration
  ) -> Duration? {
    delays.add(delay)
    return retry(delay)
  }

  func willAuthorizeChannel(_ channel: PusherChannel, request: inout AuthRequest) {
    asked.add(channel.name)
    changeRequest(&request)
  }

  func connectionMayHaveMissedEvents(_ connection: PusherConnection, during time: Duration) {
    missed.add(time)
  }

  func connectionDroppedEvents(_ connection: PusherConnection, count: Int) { dropped.add(count) }
}

extension Pusher {
  /// Returns a client for a server on this machine, whose options `change` may change.
  static func local(
    _ port: Int, key: String = "key", _ change: (inout PusherClientOptions) -> Void = { _ in }
  ) -> Pusher {
    var options = PusherClientOptions(host: .host("127.0.0.1"), port: port, useTLS: false)
    change(&options)
    return Pusher(key: key, options: options)
  }

  /// Connects, and waits until every channel is subscribed.
  func joined() async throws {
    try await connected(within: .seconds(30))
    for channel in connection.channels.channels.values {
      try await channel.subscribed(within: .seconds(30))
    }
  }
}

extension PusherAPI {
  /// Calls a server on this machine, of another app.
  static func local(
    _ port: Int, timeout: Duration = .seconds(600), runtime: PusherRuntime? = nil
  ) -> PusherAPI {
    PusherAPI(
      appID: "1", key: "k", secret: "s",
      options: Options(
        host: .host("127.0.0.1"), port: port, useTLS: false, timeout: timeout, runtime: runtime))
  }
}

extension ConnectionLoss {
  var closeCode: Int? { if case .closed(let code, _) = self { code } else { nil } }
}

/// A client with its own local server that has joined the channels `a` and `b`.
struct JoinedClient {
  let service: LocalService
  let delegate = RecordingDelegate()
  let pusher: Pusher
  let channel: PusherChannel

  init() async throws {
    service = try LocalService()
    pusher = service.pusher()
    pusher.delegate = delegate
    channel = pusher.subscribe("a")
    pusher.subscribe("b")
    pusher.connect()
    _ = try await delegate.subscribed.wait(for: 2)
  }
}
