public import PusherCore
public import ServiceLifecycle

/// Ends all clients of a runtime at the graceful shutdown of a service group.
///
/// Your program connects the clients. Each client retries on its own; the service never fails.
public struct PusherClients: Service {
  let runtime: PusherRuntime

  /// Creates the service of a runtime's clients, event sources and API calls.
  public init(runtime: PusherRuntime) { self.runtime = runtime }

  /// Waits for the shutdown, and returns after every client is disconnected.
  public func run() async throws {
    await cancelWhenGracefulShutdown { await runtime.run() }
  }
}
