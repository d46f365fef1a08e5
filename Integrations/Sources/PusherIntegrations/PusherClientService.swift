public import PusherCore
public import ServiceLifecycle

/// Runs one client in a service group, until the graceful shutdown.
///
/// The shutdown disconnects the client. The run throws when the client gives up, with the
/// ``ConnectionLoss`` or the ``PusherConfigurationError`` of ``Pusher/run()``.
public struct PusherClientService: Service {
  let pusher: Pusher
  let spans: ConnectionSpans?

  /// Creates the service of a client; `spans` also traces its connections.
  public init(_ pusher: Pusher, spans: ConnectionSpans? = nil) {
    (self.pusher, self.spans) = (pusher, spans)
  }

  /// Connects, and returns after the shutdown, when the connection is closed.
  public func run() async throws {
    try await cancelWhenGracefulShutdown {
      // Begins before the first attempt, so that the trace misses no state.
      let states = pusher.states
      async let _: Void? = spans?.trace(states)
      try await pusher.run()
      // The end of the scope ends the trace.
    }
  }
}
