package import PusherCore

/// A server on one port that reports the state of a program.
///
/// `/metrics` answers in Prometheus' text format, version 0.0.4. `/healthz` answers 200 and `ok`,
/// or 503 and the reason. The ``AccessPolicy`` refuses foreign pages and host names. Only the
/// loop's thread may use it.
package final class MonitoringEndpoint {
  /// Maximum number of connections; one more closes the longest idle one.
  package static let connectionLimit = 64
  package static let patience = Duration.seconds(10)
  package static let keepAlive = Duration.seconds(20)
  package static let contentType = "text/plain; version=0.0.4; charset=utf-8"

  private let acceptor: ConnectionAcceptor
  private let access: AccessPolicy
  private let metrics: () -> String
  private let ailment: () -> String?

  /// - Parameters:
  ///   - metrics: Returns the text of all metrics, each line with its end.
  ///   - ailment: Returns the problem of the program; `nil` if it is healthy.
  package init(
    loop: EventLoop, at address: ListenAddress, access: AccessPolicy,
    metrics: @escaping () -> String, ailment: @escaping () -> String?
  ) throws(TransportError) {
    (self.access, self.metrics, self.ailment) = (access, metrics, ailment)
    var limits = ServerLimits()
    limits.sizes.apiBody = 0
    limits.times.request = Self.patience
    limits.times.keepAlive = Self.keepAlive
    limits.callers = Self.connectionLimit
    acceptor = try ConnectionAcceptor(loop: loop, at: address, limits: limits)
    acceptor.owner = self
  }

  /// Accepts no more connections, and closes open ones after their current request.
  package func close(at now: Instant) { acceptor.close(at: now) }
  package var port: UInt16 { acceptor.address.port }

  private func answer(_ head: HTTPRequestHead) -> HTTPAnswer {
    if let refusal = access.refusal(head) { return refusal.answer }
    let path = RequestTarget.path(of: head.target)
    guard path == "/metrics" || path == "/healthz" else {
      return .refusal(404, "unknown path: use /metrics or /healthz")
    }
    guard head.method == "GET" || head.method == "HEAD" else {
      return .refusal(head.method, allow: "GET, HEAD")
    }
    guard path == "/metrics" else {
      return ailment().map { .refusal(503, $0) } ?? .text("ok")
    }
    var text = metrics()
    // The writer of the answer adds a line end.
    if text.utf8.last == 0x0A { text.removeLast() }
    var answer = HTTPAnswer.text(text)
    answer.contentType = Self.contentType
    return answer
  }
}

extension MonitoringEndpoint: ConnectionAcceptorOwner {
  func answer(
    _ request: HTTPRequestReader.Request, on connection: ServerConnection, at now: Instant
  ) -> ConnectionAnswer { .answer(answer(request.head), isLast: false) }
}
