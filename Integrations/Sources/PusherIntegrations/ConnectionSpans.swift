public import PusherCore
public import Tracing

/// Spans for the times in which a client is connecting.
///
/// A span `pusher connect` begins with the first attempt or with a lost connection, and ends with
/// the server's greeting. It includes all attempts and the delays between them. If the client gives
/// up or is disconnected first, the span ends with the status `error`.
public struct ConnectionSpans: Sendable {
  private let tracer: any Tracer

  /// Creates spans of `tracer`; default: the tracer of the program.
  public init(tracer: any Tracer = InstrumentationSystem.tracer) { self.tracer = tracer }

  /// Traces a client's ``Pusher/states``; returns when the client or the task ends.
  public func trace(_ states: AsyncStream<ConnectionState>) async {
    var current: (any Span)?
    for await state in states {
      switch state {
      case .connecting, .reconnecting:
        guard current == nil else { continue }
        let span = tracer.startSpan("pusher connect", context: .topLevel, ofKind: .client)
        span.attributes["messaging.system"] = "pusher"
        span.attributes["pusher.reconnect"] = state == .reconnecting
        current = span
      case .connected:
        current?.end()
        current = nil
      case .disconnecting, .disconnected:
        current?.fail("disconnected before the server's greeting")
        current = nil
      }
    }
    current?.fail("the trace ended before the server's greeting")
  }
}

extension Span {
  fileprivate func fail(_ reason: String) {
    setStatus(SpanStatus(code: .error, message: reason))
    end()
  }
}
