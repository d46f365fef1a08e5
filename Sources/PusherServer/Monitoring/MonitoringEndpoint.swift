package import PusherCore

/// A server on one port that tells how a program is: counters at `/metrics`, and at `/healthz` whether it is well.
///
/// `/metrics` is answered with Prometheus' text format, version 0.0.4; `/healthz` with 200 and `ok`, or with 503 and the
/// reason. Pages and names of others are refused by the ``AccessPolicy``. It lives on its loop's thread; requests are
/// limited in size and time.
package final class MonitoringEndpoint {
  /// Connections at a time; one more closes the longest idle one.
  package static let connectionLimit = 64
  /// How long a request may take.
  package static let patience = Duration.seconds(10)
  /// How long a connection may be idle.
  package static let keepAlive = Duration.seconds(20)
  /// The media type of the text format.
  package static let contentType = "text/plain; version=0.0.4; charset=utf-8"

  /// The question that a scrape asks.
  package struct Source {
    /// The text of all metrics, each line with its end.
    package let metrics: () -> String
    /// Why the program is not well; `nil` while it is.
    package let ailment: () -> String?

    package init(metrics: @escaping () -> String, ailment: @escaping () -> String?) {
      (self.metrics, self.ailment) = (metrics, ailment)
    }
  }

  private let reception: Reception
  private let access: AccessPolicy
  private let source: Source

  /// Listens from now on.
  ///
  /// - Parameters:
  ///   - host: An address without brackets, or a name of this machine.
  ///   - port: 0 lets the system pick a free one.
  ///   - handed: A socket that counts in place of both.
  ///   - access: Which pages and host names may ask.
  /// - Throws: ``TransportError`` when the address cannot be had.
  package init(
    loop: EventLoop, host: String, port: UInt16, reusesPort: Bool = false,
    handed: HandedSocket? = nil, access: AccessPolicy, source: Source
  ) throws(TransportError) {
    (self.access, self.source) = (access, source)
    var limits = ServerLimits()
    limits.apiBody = 0
    limits.requestTimeout = Self.patience
    limits.keepAliveTimeout = Self.keepAlive
    limits.callers = Self.connectionLimit
    reception = try Reception(
      loop: loop, host: host, port: port, reusesPort: reusesPort, handed: handed,
      limits: limits)
    reception.owner = self
  }

  /// Accepts nothing more, and ends its connections once their requests are answered.
  package func close(at now: Instant) { reception.close(at: now) }

  /// Where it listens, with the port that the system picked.
  package var port: UInt16 { reception.address.port }

  private func answer(_ head: HTTPRequestHead) -> HTTPAnswer {
    if let refusal = access.refusal(head) { return refusal.answer }
    let path = RequestTarget.path(of: head.target)
    guard path == "/metrics" || path == "/healthz" else {
      return .refusal(404, "ask for /metrics or /healthz")
    }
    guard head.method == "GET" || head.method == "HEAD" else {
      return .refusal(head.method, allow: "GET, HEAD")
    }
    guard path == "/metrics" else {
      return source.ailment().map { .refusal(503, $0) } ?? .text("ok")
    }
    var text = source.metrics()
    // The answer ends with a line end of its own.
    if text.utf8.last == 0x0A { text.removeLast() }
    var answer = HTTPAnswer.text(text)
    answer.contentType = Self.contentType
    return answer
  }
}

extension MonitoringEndpoint: ReceptionOwner {
  func answer(
    _ request: HTTPRequestReader.Request, on connection: ServerConnection, at now: Instant
  ) -> ConnectionAnswer {
    .answer(answer(request.head), isLast: false)
  }

  func refused(_ answer: HTTPAnswer) {}
  func dropped(_ reason: String) {}
  func forgot(_ connection: ServerConnection) {}
  func scanned(at now: Instant) {}
}
