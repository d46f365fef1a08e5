/// One thread for many clients, event sources and API calls.
///
/// ```swift
/// let runtime = PusherRuntime()
/// let clients = keys.map { Pusher(key: $0, options: PusherClientOptions(runtime: runtime)) }
/// ```
///
/// Without a runtime each ``Pusher`` and each ``EventSource`` has a thread of its own. With one, all that name it share
/// one thread, one loop, and one TLS context for each set of TLS settings; the calls of each ``PusherAPI`` that names it
/// share its connections too.
///
/// **Threads.** The thread starts with the first connection or call, and ends when the last client is released and the
/// last call is done. All handlers and delegates of all its clients are called on it, one at a time: a handler that
/// blocks holds up every client of the runtime.
///
/// **Life.** Clients keep their runtime; it needs no other owner.
public final class PusherRuntime: Sendable {
  /// What calls of the API use that name no runtime.
  static let forCalls = PusherRuntime(name: "pusher-api")

  package let thread: LoopThread
  /// The calls of the HTTP API.
  let calls: HTTPCalls

  /// A runtime that has no thread yet.
  ///
  /// - Parameters:
  ///   - name: The thread's name, as debuggers and `ps -T` show it; Linux shows the first 15 bytes.
  ///   - maximumAPIConnections: How many calls of the API have a connection at a time, at least 1.
  public init(name: String = "pusher-runtime", maximumAPIConnections: Int = 64) {
    thread = LoopThread(name: name)
    var limits = HTTPCalls.Limits()
    limits.connections = max(maximumAPIConnections, 1)
    calls = HTTPCalls(on: thread, limits: limits)
  }

  /// How many clients and event sources have connected and live, plus one while there are API calls or connections kept
  /// for them.
  public var memberCount: Int { thread.memberCount }

  /// Returns when the task is cancelled and everything on the runtime has been closed, with a goodbye to each server.
  ///
  /// It makes the runtime a service of swift-service-lifecycle, or of anything that runs tasks: a service's `run()`
  /// calls this one. Clients are not connected by it; they are disconnected by it, and calls of the API that are under
  /// way are cancelled. A client may be connected again afterwards.
  public func run() async {
    let (ends, continuation) = AsyncStream.makeStream(of: Never.self)
    for await _ in ends {}
    continuation.finish()
    await close()
  }

  /// Disconnects all clients and event sources, cancels all calls, and returns when the thread is done with them.
  ///
  /// A server that does not answer the goodbye is given a second. It returns at once when there is nothing to end.
  public func close() async {
    await withCheckedContinuation { continuation in
      thread.endAll { continuation.resume() }
    }
  }
}
