/// One server, asked one thing after another over a connection that stays open where the server allows it.
///
/// It belongs to the loop's thread. Source: RFC 9112 section 9.3.
package final class HTTPConnection {
  private let loop: EventLoop
  private let routing: Routing
  private let tls: TLSContext?
  private let timeout: Duration
  private let bodyLimit: Int
  /// Open, and nothing is under way on it.
  private var idle: SocketStream?
  private var exchange: HTTPExchange?
  private let scratch = ByteBuffer(capacity: 64)
  /// How many connections were made.
  package private(set) var connectionCount = 0

  /// - Parameters:
  ///   - loop: The loop that everything runs on.
  ///   - routing: The routes to servers.
  ///   - tls: The TLS context for `https` URLs; needed for these only.
  ///   - timeout: For one request, from the name's resolution to the answer's last byte.
  ///   - bodyLimit: The most bytes of an answer's body.
  package init(
    loop: EventLoop, routing: Routing = Routing(), tls: TLSContext?, timeout: Duration,
    bodyLimit: Int = 16 << 20
  ) {
    (self.loop, self.routing, self.tls) = (loop, routing, tls)
    (self.timeout, self.bodyLimit) = (timeout, bodyLimit)
  }

  /// Whether the connection waits for another request.
  package var isKept: Bool { idle != nil }

  /// Starts a request, one at a time and all of them to the same server; `completion` is called once, from inside the
  /// loop.
  ///
  /// A request that may be repeated is, on a fresh connection, when a kept one breaks before any answer. Others are
  /// not: the server may have done what they ask. Throws for a request that cannot be encoded.
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - limit: The time for this request, its repetition included; `nil` for that of every request.
  ///   - completion: Gets the answer, or why there is none.
  package func send(
    _ request: HTTPExchange.Request, timeout limit: Duration? = nil,
    completion: @escaping (Result<HTTPExchange.Response, HTTPExchange.Failure>, Instant) -> Void
  ) throws(HTTPError) {
    precondition(exchange == nil, "one request at a time")
    let kept = takeIdle()
    let time = limit ?? timeout
    let deadline = loop.now.advanced(by: time)
    try start(request, over: kept, within: time) { [weak self] result, exchange, now in
      guard let self else { return }
      let wasLost = kept != nil && exchange?.hasAnswer == false && Self.isLoss(result)
      if wasLost, request.isRepeatable,
        (try? start(request, over: nil, within: loop.now.duration(to: deadline)) {
          result, _, now in
          completion(result, now)
        }) != nil
      {
        return
      }
      completion(result, now)
    }
  }

  private static func isLoss(
    _ result: Result<HTTPExchange.Response, HTTPExchange.Failure>
  ) -> Bool {
    switch result {
    case .failure(.transport), .failure(.http(.endedEarly)): true
    default: false
    }
  }

  private func start(
    _ request: HTTPExchange.Request, over kept: SocketStream?, within time: Duration,
    completion:
      @escaping (
        Result<HTTPExchange.Response, HTTPExchange.Failure>, HTTPExchange?, Instant
      ) -> Void
  ) throws(HTTPError) {
    var request = request
    request.keepsConnection = true
    let exchange = try HTTPExchange(
      loop: loop, request: request, routing: routing, tls: tls,
      timeout: time,
      bodyLimit: bodyLimit, over: kept
    ) { [weak self] result, now in
      let exchange = self?.exchange
      self?.exchange = nil
      completion(result, exchange, now)
    }
    if kept == nil { connectionCount += 1 }
    exchange.onKept = { [weak self] stream in self?.keep(stream) }
    self.exchange = exchange
  }

  /// Gives up what is under way, without a completion, and closes the connection.
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

  /// The kept connection, if the server has not ended it meanwhile.
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

  /// No request is open, so any input is an end or an error.
  package func streamReadable(_ stream: SocketStream, at now: Instant) {
    stream.close()
    if idle === stream { idle = nil }
  }

  package func streamFailed(_ stream: SocketStream, _ error: TransportError, at now: Instant) {
    if idle === stream { idle = nil }
  }
}
