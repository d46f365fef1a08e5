public import PusherCore
public import Tracing

/// Runs handlers of events within spans `pusher process`.
///
/// The attributes have the names of OpenTelemetry's conventions for messaging. Spans that a handler
/// starts are children of its span.
public struct EventSpans: Sendable {
  private let tracer: any Tracer

  /// Creates spans of `tracer`; default: the tracer of the program.
  public init(tracer: any Tracer = InstrumentationSystem.tracer) { self.tracer = tracer }

  /// Returns a handler for `bind` that runs `body` within a span.
  public func handler(
    _ body: @escaping @Sendable (PusherEvent) -> Void
  ) -> @Sendable (PusherEvent) -> Void {
    { event in
      tracer.withAnySpan("pusher process", ofKind: .consumer) { span in
        describe(event, in: span)
        body(event)
      }
    }
  }

  /// Runs `body` within a span, for an event of a sequence; an error ends the span with its status.
  public func process<Result>(
    _ event: PusherEvent, _ body: () async throws -> Result
  ) async rethrows -> Result {
    try await tracer.withAnySpan("pusher process", ofKind: .consumer) { span in
      describe(event, in: span)
      return try await body()
    }
  }

  private func describe(_ event: PusherEvent, in span: any Span) {
    span.attributes["messaging.system"] = "pusher"
    span.attributes["messaging.operation.type"] = "process"
    span.attributes["messaging.message.body.size"] = event.data?.utf8.count ?? 0
    span.attributes["pusher.event"] = event.eventName
    if let channel = event.channelName { span.attributes["messaging.destination.name"] = channel }
  }
}
