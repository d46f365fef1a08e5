/// Sends requests to one server, one at a time, over a persistent connection if possible.
///
/// Follows redirects for requests that want it, within their time. A redirect to another server has
/// a connection of its own.
///
/// Belongs to the loop's thread. Source: RFC 9112 section 9.3.
package final class HTTPConnection {
  private let loop: EventLoop
  private let routing: Routing
  private let tls: TLSContext?
  /// Makes a context for a redirect from `http` to `https`.
  private let redirectTLS: (() throws(TLSError) -> TLSContext)?
  private let timeout: Duration
  private let bodyLimit: Int
  private var idle: SocketStream?
  private var exchange: HTTPExchange?
  private let scratch = ByteBuffer(capacity: 64)
  package private(set) var connectionCount = 0

  package init(
    loop: EventLoop, routing: Routing = Routing(), tls: TLSContext?, timeout: Duration,
    bodyLimit: Int = 16 << 20, redirectTLS: (() throws(TLSError) -> TLSContext)? = nil
  ) {
    (self.loop, self.routing, self.tls) = (loop, routing, tls)
    self.redirectTLS = redirectTLS
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
    let time = limit ?? timeout
    let deadline = loop.now.advanced(by: time)
    let completion: HTTPExchange.Completion = { result, now in
      // The last exchange knows only what was left of the time.
      if case .failure(.timeout) = result { return completion(.failure(.timeout(time)), now) }
      completion(result, now)
    }
    guard request.followsRedirects else {
      return try send(request, until: deadline, completion: completion)
    }
    let trail = RedirectTrail(url: request.url)
    try send(request, until: deadline) { [weak self] result, now in
      self?.follow(result, of: request, trail, until: deadline, at: now, completion)
    }
  }

  private func send(
    _ request: HTTPExchange.Request, until deadline: Instant,
    completion: @escaping HTTPExchange.Completion
  ) throws(HTTPError) {
    let kept = takeIdle()
    let time = loop.now.duration(to: deadline)
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

  // MARK: Redirects

  /// Sends the request again to the address of a redirect; hands on any other result, and a
  /// redirect that cannot be followed.
  private func follow(
    _ result: HTTPExchange.Outcome, of request: HTTPExchange.Request, _ trail: RedirectTrail,
    until deadline: Instant, at now: Instant, _ completion: @escaping HTTPExchange.Completion
  ) {
    var trail = trail
    guard case .success(let response) = result, Self.follows(response.head.status, request.method),
      let location = response.head.headers["Location"],
      (try? trail.follow(location: location)) != nil
    else { return completion(result, now) }
    var next = request
    (next.url, next.headers) = (trail.url, trail.headers(request.headers))
    let answered: HTTPExchange.Completion = { [weak self, trail] result, now in
      self?.follow(result, of: request, trail, until: deadline, at: now, completion)
    }
    do {
      if trail.hasLeftOrigin {
        try startElsewhere(next, until: deadline, completion: answered)
      } else {
        try send(next, until: deadline, completion: answered)
      }
    } catch { completion(result, now) }
  }

  /// RFC 9110 section 15.4: clients turn a POST into a GET for the other statuses, and a GET does
  /// not do what the POST was for.
  private static func follows(_ status: Int, _ method: String) -> Bool {
    method == "GET" ? RedirectTrail.isRedirect(status) : [307, 308].contains(status)
  }

  private func startElsewhere(
    _ request: HTTPExchange.Request, until deadline: Instant,
    completion: @escaping HTTPExchange.Completion
  ) throws {
    var context = tls
    if request.url.isSecure, context == nil {
      guard let redirectTLS else { throw HTTPError.invalidURL("TLS is not prepared") }
      context = try redirectTLS()
    }
    exchange = try HTTPExchange(
      loop: loop, request: request, routing: routing, tls: context,
      timeout: loop.now.duration(to: deadline), bodyLimit: bodyLimit
    ) { [weak self] result, now in
      self?.exchange = nil
      completion(result, now)
    }
    connectionCount += 1
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
