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
  private final class Kept: @unchecked Sendable {
    var server: Server?
  }

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

  func options(_ authMethod: AuthMethod = .noMethod) -> PusherClientOptions {
    PusherClientOptions(
      authMethod: authMethod, host: .host("127.0.0.1"), port: port, useTLS: false, service: service)
  }

  func pusher(_ authMethod: AuthMethod = .noMethod) -> Pusher {
    Pusher(key: Application.forTests().key, options: options(authMethod))
  }

  func signingPusher() -> Pusher {
    pusher(.inline(secret: Application.forTests().secret))
  }

  var api: PusherAPI { api(key: nil) }

  func api(key: EncryptionMasterKey?) -> PusherAPI {
    let application = Application.forTests()
    return PusherAPI(
      appID: application.id, key: application.key, secret: application.secret,
      options: PusherAPI.Options(
        host: .host("127.0.0.1"), port: port, useTLS: false, service: service,
        encryptionMasterKey: key))
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
  @discardableResult
  func wait(until isEnough: ([Value]) -> Bool) async throws -> [Value] {
    var known = values
    while !isEnough(known) { known = try await waitOnce(for: known.count + 1, "values") }
    return known
  }

  /// Waits for `count` values, at most 30 s each: a busy machine is no failure.
  func wait(for count: Int = 1, _ what: String = "values") async throws -> [Value] {
    var known = values
    while known.count < count { known = try await waitOnce(for: known.count + 1, what) }
    return known
  }

  /// Waits for `count` values, at most 30 s in all.
  private func waitOnce(for count: Int, _ what: String) async throws -> [Value] {
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
      throw LocalService.Failure.late("\(what): \(values.count) of \(count)")
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
    mayConnect: Bool = true,
    retry: @escaping @Sendable (Duration) -> Duration? = { _ in .milliseconds(10) },
    changeRequest: @escaping @Sendable (inout AuthRequest) -> Void = { _ in }
  ) {
    self.mayConnect = mayConnect
    self.retry = retry
    self.changeRequest = changeRequest
  }

  convenience init(of pusher: Pusher) {
    self.init()
    pusher.delegate = self
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
  /// Returns a client of the key `key` for a server on this machine.
  static func local(_ port: Int) -> Pusher {
    Pusher(
      key: "key", options: PusherClientOptions(host: .host("127.0.0.1"), port: port, useTLS: false))
  }
}
