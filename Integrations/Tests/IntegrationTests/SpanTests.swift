import InMemoryTracing
import PusherCore
import PusherIntegrations
import PusherTesting
import Testing
import Tracing

@Suite(.timeLimit(.minutes(1))) struct `Spans of a client` {
  private struct Signing: AsyncAuthorizer {
    let api: PusherAPI

    func authorization(socketID: String, channelName: String) async throws -> PusherAuth? {
      if channelName == "private-vault" { return nil }
      if channelName == "private-broken" { throw Broken() }
      return try api.authorizeChannel(channelName, socketID: socketID)
    }
  }

  private struct Broken: Error {}

  @Test func `an authorisation is a span with the channel, and with an error if there is none`()
    async throws
  {
    let tracer = InMemoryTracer()
    let server = try await PusherTestServer()
    let authorizer = TracedAuthorizer(Signing(api: server.api), tracer: tracer)
    let pusher = Pusher(
      key: server.key,
      options: server.clientOptions(authMethod: .authorizer(authorizer: authorizer)))
    let orders = pusher.subscribe("private-orders")
    pusher.subscribe("private-vault")
    pusher.subscribe("private-broken")
    pusher.connect()
    try await orders.subscribed(within: patience)
    try await eventually("three spans") { tracer.finishedSpans.count >= 3 }

    let spans = tracer.finishedSpans
    #expect(spans.allSatisfy { $0.operationName == "pusher authorize" && $0.kind == .client })
    func span(of channel: String) throws -> FinishedInMemorySpan {
      try #require(
        spans.first { $0.attributes["messaging.destination.name"]?.text == channel })
    }
    #expect(try span(of: "private-orders").status?.code != .error)
    #expect(try span(of: "private-vault").status?.code == .error)
    #expect(try span(of: "private-vault").errors.isEmpty)
    #expect(try span(of: "private-broken").errors.first?.error is Broken)
    #expect(tracer.activeSpans.isEmpty)
  }

  @Test func `an event's handler runs in a span, whose children are the handler's spans`()
    async throws
  {
    let tracer = InMemoryTracer()
    let server = try await PusherTestServer()
    let pusher = server.client()
    let handler = EventSpans(tracer: tracer).handler { _ in
      tracer.withAnySpan("query") { _ in }
    }
    pusher.subscribe("orders").bind(eventName: "order.created", eventCallback: handler)
    pusher.connect()
    try await server.subscribers(of: "orders", reach: 1)
    try await server.trigger("order.created", channels: ["orders"], data: #"{"id":7}"#)
    try await eventually("two spans") { tracer.finishedSpans.count == 2 }

    let (child, span) = (tracer.finishedSpans[0], tracer.finishedSpans[1])
    #expect(span.operationName == "pusher process")
    #expect(span.kind == .consumer)
    #expect(span.attributes["pusher.event"]?.text == "order.created")
    #expect(span.attributes["messaging.destination.name"]?.text == "orders")
    #expect(child.parentSpanID == span.spanID)
    withExtendedLifetime(pusher) {}
  }

  @Test func `a failed event of a sequence ends its span with the error`() async throws {
    let tracer = InMemoryTracer()
    let event = PusherEvent(eventName: "order.created", channelName: "orders", data: "7")
    let spans = EventSpans(tracer: tracer)
    #expect(await spans.process(event) { 1 } == 1)
    await #expect(throws: Broken.self) { try await spans.process(event) { throw Broken() } }
    #expect(tracer.finishedSpans.map(\.errors.count) == [0, 1])
  }

  @Test func `a connection and a reconnection are a span each`() async throws {
    let tracer = InMemoryTracer()
    let server = try await PusherTestServer()
    let pusher = Pusher(key: server.key, options: server.clientOptions().retryingQuickly())
    let tracing = Task { [states = pusher.states] in
      await ConnectionSpans(tracer: tracer).trace(states)
    }
    try await pusher.connected(within: patience)
    try await eventually("one span") { tracer.finishedSpans.count == 1 }
    await server.dropConnections()
    try await eventually("two spans") { tracer.finishedSpans.count == 2 }
    #expect(tracer.finishedSpans.map(\.operationName) == ["pusher connect", "pusher connect"])
    #expect(tracer.finishedSpans.map { $0.attributes["pusher.reconnect"]?.bool } == [false, true])
    #expect(tracer.finishedSpans.allSatisfy { $0.status == nil })
    tracing.cancel()
    await tracing.value
    #expect(tracer.activeSpans.isEmpty)
  }

  @Test func `a client that gives up ends its span with an error`() async throws {
    let tracer = InMemoryTracer()
    let server = try await PusherTestServer()
    await server.stop()
    var options = server.clientOptions()
    options.autoReconnect = false
    let pusher = Pusher(key: server.key, options: options)
    let tracing = Task { [states = pusher.states] in
      await ConnectionSpans(tracer: tracer).trace(states)
    }
    pusher.connect()
    try await eventually("one span") { tracer.finishedSpans.count == 1 }
    #expect(tracer.finishedSpans.first?.status?.code == .error)
    tracing.cancel()
    withExtendedLifetime(pusher) {}
  }
}

extension SpanAttributeConvertible {
  fileprivate var text: String? {
    if case .string(let text) = toSpanAttribute() { text } else { nil }
  }

  fileprivate var bool: Bool? {
    if case .bool(let bool) = toSpanAttribute() { bool } else { nil }
  }
}
