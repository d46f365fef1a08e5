import InMemoryTracing
import Logging
import PusherCore
import PusherIntegrations
import PusherTesting
import ServiceLifecycle
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(1))) struct `Clients in a service group` {
  private static func group(_ service: some Service) -> ServiceGroup {
    ServiceGroup(
      configuration: ServiceGroupConfiguration(
        services: [service], logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }))
  }

  @Test func `a client starts with the group, gets an event, and ends at the graceful shutdown`()
    async throws
  {
    let tracer = InMemoryTracer()
    let server = try await PusherTestServer()
    let pusher = server.client()
    let heard = Mutex<[String]>([])
    pusher.subscribe("orders").bind(eventName: "order.created") { event in
      heard.withLock { $0.append(event.data ?? "") }
    }
    let group = Self.group(
      PusherClientService(pusher, spans: ConnectionSpans(tracer: tracer)))
    let running = Task { try await group.run() }
    try await server.subscribers(of: "orders", reach: 1)
    try await server.trigger("order.created", channels: ["orders"], data: "7")
    try await eventually("no event came") { heard.withLock { $0 } == ["7"] }

    await group.triggerGracefulShutdown()
    try await running.ended()
    #expect(pusher.connection.connectionState == .disconnected)
    try await eventually("the server still has a client") { await server.connectionCount == 0 }
    #expect(tracer.finishedSpans.count == 1)
    #expect(tracer.activeSpans.isEmpty)
  }

  @Test func `a client that gives up ends the group with its error`() async throws {
    let server = try await PusherTestServer()
    await server.stop()
    var options = server.clientOptions()
    options.autoReconnect = false
    let group = Self.group(PusherClientService(Pusher(key: server.key, options: options)))
    await #expect(throws: ConnectionLoss.self) { try await group.run() }
  }

  @Test func `the clients of a runtime end at the graceful shutdown`() async throws {
    let server = try await PusherTestServer()
    let runtime = PusherRuntime(name: "clients")
    var options = server.clientOptions()
    options.runtime = runtime
    let pushers = (1...3).map { _ in Pusher(key: server.key, options: options) }
    let group = Self.group(PusherClients(runtime: runtime))
    let running = Task { try await group.run() }
    for pusher in pushers { try await pusher.connected(within: patience) }

    await group.triggerGracefulShutdown()
    try await running.ended()
    #expect(runtime.memberCount == 0)
    #expect(pushers.allSatisfy { $0.connection.connectionState == .disconnected })
  }
}
