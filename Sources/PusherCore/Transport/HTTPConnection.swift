/// Sends requests to one server, one at a time, over a persistent connection if possible.
///
/// Belongs to the loop's thread. Source: RFC 9112 section 9.3.
package final class HTTPConnection {
  private let loop: EventLoop
  private let routing: Routing
  private let tls: TLSContext?
  private let timeout: Duration
  private let bodyLimit: Int
  private var idle: SocketStream?
  private var exchange: HTTPExchange?
  private let scratch = ByteBuffer(capacity: 64)
  package private(set) var connectionCount = 0

  package init(
    loop: EventLoop, routing: Routing = Routing(), tls: TLSContext?, timeout: Duration,
    bodyLimit: Int = 16 << 20
  ) {
    (self.loop, self.routing, self.tls) = (loop, routing, tls)
    (self.timeout, self.bodyLimit) = (timeout, bodyLimit)
  }

  package var isKept: Bool { idle != nil }

  /// Starts a request, one at a time; the loop calls `completion` once.
  ///
  /// A repeatable request is sent again if a kept connection breaks before any response. Other
  /// requests are not: the server may have acted on them. Throws if the request cannot be encoded.
  package func send(
    _ request: HTTPExchange.Request, timeout limit: Duration? = nil,
    completion: @escaping HTTPExchange.Completion
  ) throws(HTTPError) {
    precondition(exchange == nil, "one request at a time")
    let kept = takeIdle()
    let time = limit ?? timeout
    let deadline = loop.now.advanced(by: time)
    try start(request, over: kept, within: time) { [weak self] result, exchange, now in
      guard let self else { return }
      let wasLost = kept != nil && exchange?.hasAnswer == false && Self.isLoss(result)
      if wasLost, request.isRepeatable,
        (try? start(request, over: nil, within: loop.now.duration(to: deadline)) { result, _, now in
          completion(result, now)
        }) != nil
      {
        return
      }
      completion(result, now)
    }
  }

  private static func isLoss(_ result: HTTPExchange.Outcome) -> Bool {
    switch result {
    case .failure(.transport), .failure(.http(.endedEarly)): true
    default: false
    }
  }

  private func start(
    _ request: HTTPExchange.Request, over kept: SocketStream?, within time: Duration,
    completion: @escaping (HTTPExchange.Outcome, HTTPExchange?, Instant) -> Void
  ) throws(HTTPError) {
    var request = request
    request.keepsConnection = true
    let exchange = try HTTPExchange(
      loop: loop, request: request, routing: routing, tls: tls, timeout: time, bodyLimit: bodyLimit,
      over: kept
    ) { [weak self] result, now in
      let exchange = self?.exchange
      self?.exchange = nil
      completion(result, exchange, now)
    }
    if kept == nil { connectionCount += 1 }
    exchange.onKept = { [weak self] stream in self?.keep(stream) }
    self.exchange = exchange
  }

  /// Cancels the open request without calling its completion, and closes the connection.
  package func close() {
    exchange?.cancel()
    exchange = nil
    idle?.close()
    idle = nil
  }

  private func keep(_ stream: SocketStream) {
    stream.delegate = self
    idle = stream
  }

  private func takeIdle() -> SocketStream? {
    guard let stream = idle else { return nil }
    idle = nil
    if stream.isOpen, (try? stream.read(into: scratch, atMost: 64)) == .wouldBlock { return stream }
    scratch.removeAll()
    stream.close()
    return nil
  }
}

extension HTTPConnection: SocketStreamDelegate {
  package func streamOpened(_ stream: SocketStream, at now: Instant) {}
  package func streamWritable(_ stream: SocketStream, at now: Instant) {}

  /// Without an open request, any input is an end or an error.
  package func streamReadable(_ stream: SocketStream, at now: Instant) {
    stream.close()
    if idle === stream { idle = nil }
  }

  package func streamFailed(_ stream: SocketStream, _ error: TransportError, at now: Instant) {
    if idle === stream { idle = nil }
  }
}
