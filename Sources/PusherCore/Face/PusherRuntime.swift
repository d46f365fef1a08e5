/// One thread for several clients, event sources and API calls.
///
/// Without a runtime each ``Pusher`` and each ``EventSource`` has its own thread. With a runtime
/// they share one thread, one loop, and one TLS context for equal TLS settings. Calls of
/// ``PusherAPI`` also share its connections. A blocked handler delays every client of the runtime.
/// See <doc:ThreadsAndLifetime>.
///
/// The thread starts with the first connection or call. It ends after the last client is released
/// and the last call is done. Clients keep their runtime; it needs no other owner.
public final class PusherRuntime: Sendable {
  /// Runtime of API calls without one in their options.
  static let forCalls = PusherRuntime(name: "pusher-api")
  package let thread: LoopThread
  let calls: HTTPCalls

  /// Creates a runtime; the thread starts later.
  ///
  /// Linux shows the first 15 bytes of `name`. `maximumAPIConnections` is at least 1.
  public init(name: String = "pusher-runtime", maximumAPIConnections: Int = 64) {
    thread = LoopThread(name: name)
    calls = HTTPCalls(on: thread, limit: max(maximumAPIConnections, 1))
  }

  /// Number of connected clients and event sources, plus one for API calls and their connections.
  public var memberCount: Int { thread.memberCount }

  /// Waits until the task is cancelled, and closes everything on the runtime.
  ///
  /// So a runtime can be a service of swift-service-lifecycle. Clients may connect again
  /// afterwards.
  public func run() async {
    let (ends, continuation) = AsyncStream.makeStream(of: Never.self)
    for await _ in ends {}
    continuation.finish()
    await close()
  }

  /// Disconnects all clients and sources, cancels all calls, and returns after their end.
  ///
  /// Servers have one second to answer the goodbye.
  public func close() async {
    await withCheckedContinuation { continuation in thread.endAll { continuation.resume() } }
  }
}
