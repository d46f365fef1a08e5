public import PusherCore
public import Tracing

/// Asks another authorizer for each channel's authorisation, within a span `pusher authorize`.
///
/// The span of a rejected channel or of an error has the status `error`. It never has a signature.
public struct TracedAuthorizer: AsyncAuthorizer {
  private let authorizer: any AsyncAuthorizer
  private let tracer: any Tracer

  /// Creates spans of `tracer`; default: the tracer of the program.
  public init(
    _ authorizer: any AsyncAuthorizer, tracer: any Tracer = InstrumentationSystem.tracer
  ) { (self.authorizer, self.tracer) = (authorizer, tracer) }

  /// Returns the answer of the other authorizer.
  public func authorization(socketID: String, channelName: String) async throws -> PusherAuth? {
    try await tracer.withAnySpan("pusher authorize", ofKind: .client) { span in
      span.attributes["messaging.system"] = "pusher"
      span.attributes["messaging.destination.name"] = channelName
      let auth = try await authorizer.authorization(socketID: socketID, channelName: channelName)
      if auth == nil { span.setStatus(SpanStatus(code: .error, message: "rejected")) }
      return auth
    }
  }
}
