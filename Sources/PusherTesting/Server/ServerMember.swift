internal import PusherCore
internal import PusherServer

/// State that a test server shares with its thread.
final class TestServerState: Sendable {
  /// Work for the thread; the server is `nil` if it was stopped in the meantime.
  typealias Order = @Sendable (Server?) -> Void

  private struct Status {
    /// Set while the server listens.
    var orders: ThreadOrders<Order>?
    var observers: [Int: AsyncStream<PusherTestEvent>.Continuation] = [:]
    var observerCount = 0
  }

  private let status = Locked(Status())

  /// Calls `order` on the server's thread, or here if there is no server.
  func post(_ order: @escaping Order) {
    let (isOpen, wakeUp) = status.withLock { status in
      (status.orders != nil, status.orders?.post(order))
    }
    if isOpen { wakeUp?.signal() } else { order(nil) }
  }

  var isOpen: Bool { status.withLock { $0.orders != nil } }

  func open(_ wakeUp: WakeUp) {
    status.withLock { status in
      status.orders = ThreadOrders()
      status.orders?.wakeUp = wakeUp
    }
  }

  /// Stops taking orders and returns the waiting ones.
  func close() -> [Order] {
    status.withLock { status in
      defer { status.orders = nil }
      return status.orders?.take() ?? []
    }
  }

  func takeOrders() -> [Order] { status.withLock { $0.orders?.take() ?? [] } }

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
  private let thread: LoopThread
  private let desk: TestServerState
  private var server: Server?

  /// Maximum time for clients to answer the close frame.
  private static let patience = Duration.seconds(1)

  /// Listens; `ready` gets the port, or the reason of the failure.
  init(
    _ options: ServerOptions, on thread: LoopThread, _ loop: EventLoop, _ desk: TestServerState,
    ready: (Result<UInt16, PusherTestServerError>) -> Void
  ) {
    self.loop = loop
    self.thread = thread
    self.desk = desk
    do throws(TransportError) {
      let server = try Server(
        options: options, random: SecureRandom.generator, loop: loop,
        log: { desk.tell(PusherTestEvent($0)) })
      self.server = server
      desk.open(loop.wakeUp)
      ready(.success(server.port))
    } catch { ready(.failure(.notListening("\(error)"))) }
  }

  func beginRound() {
    guard let server else { return thread.leave(self, loop) }
    let orders = desk.takeOrders()
    for order in orders { order(server) }
    // The server sends the resulting output at the start of a round.
    if !orders.isEmpty { loop.wakeUp.signal() }
  }

  func end() { server?.stop(patience: Self.patience) { self.leave() } }

  private func leave() {
    server = nil
    for order in desk.close() { order(nil) }
    thread.leave(self, loop)
  }
}
