import Metrics
import MetricsTestKit
import PusherCore
import PusherIntegrations
import PusherTesting
import Testing

@Suite(.timeLimit(.minutes(1))) struct `Counts of a client in swift-metrics` {
  @Test func `all counters begin at zero, with the dimensions of the client`() throws {
    let factory = TestMetrics()
    let metrics = SwiftMetrics(dimensions: [("client", "shop")], factory: factory)
    for what in PusherCount.allCases {
      let counter = try factory.expectCounter("pusher_\(what.rawValue)", [("client", "shop")])
      #expect(counter.totalValue == 0)
      metrics.count(what, by: 3)
      #expect(counter.totalValue == 3)
    }
  }

  @Test func `connections, events, losses, gaps and failures move their counters`() async throws {
    let factory = TestMetrics()
    let server = try await PusherTestServer()
    var options = server.clientOptions(authMethod: .noMethod).retryingQuickly()
    options.metrics = SwiftMetrics(factory: factory)
    let pusher = Pusher(key: server.key, options: options)
    pusher.subscribe("orders").bind(eventName: "order.created") { _ in }
    pusher.subscribe("private-orders")
    pusher.connect()
    func total(_ what: PusherCount) -> Int64 {
      factory.counterTotal(label: "pusher_\(what.rawValue)")
    }

    try await server.subscribers(of: "orders", reach: 1)
    for id in 1...3 {
      try await server.trigger("order.created", channels: ["orders"], data: ["id": id])
    }
    try await eventually("events are not counted") { total(.events) == 3 }
    #expect(total(.connections) == 1)
    #expect(total(.losses) == 0)
    try await eventually("the failure is not counted") { total(.failedSubscriptions) == 1 }

    await server.dropConnections()
    try await eventually("the gap is not counted") { total(.gaps) == 1 }
    #expect(total(.losses) == 1)
    #expect(total(.connections) == 2)
    withExtendedLifetime(pusher) {}
  }
}
