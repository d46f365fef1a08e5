/// One request and its response (RFC 9112), with its redirects and one deadline.
package final class HTTPExchange {
  package struct Request: Sendable {
    package var method: String
    package var url: HTTPURL
    /// Fields; `Host`, `Content-Length` and `Connection` are added where missing.
    package var headers: HTTPHeaders
    package var body: [UInt8]
    /// True if the request may be sent again after an effect (RFC 9110 section 9.2.2).
    package var isRepeatable: Bool
    /// If false, the response's head is enough, and a later failure is ignored.
    package var wantsBody = true
    /// True to follow redirects: every one of a GET, but only 307 and 308 of another method.
    package var followsRedirects = false
    var keepsConnection = false

    package init(
      method: String, url: HTTPURL, headers: HTTPHeaders = HTTPHeaders(), body: [UInt8] = []
    ) {
      (self.method, self.url, self.headers, self.body) = (method, url, headers, body)
      isRepeatable = ["GET", "HEAD", "OPTIONS", "PUT", "DELETE"].contains(method)
    }

    /// Returns the bytes to send; throws if a part would break out of its line.
    ///
    /// A forwarding proxy gets the whole URL and its own credentials.
    package func encode(over route: Route? = nil) throws(HTTPError) -> [UInt8] {
      let forwarder = route?.forwarder
      var fields = HTTPHeaders([])
      if headers["Host"] == nil { fields.append("Host", url.authority) }
      for field in headers.fields { fields.append(field.name, field.value) }
      if let userInfo = url.userInfo, headers["Authorization"] == nil {
        let decoded = PercentEncoding.decode(userInfo) ?? userInfo
        fields.append("Authorization", "Basic \(Base64.encode([UInt8](decoded.utf8)))")
      }
      if headers["Content-Length"] == nil && (!body.isEmpty || method == "POST") {
        fields.append("Content-Length", "\(body.count)")
      }
      if headers["Connection"] == nil, !keepsConnection { fields.append("Connection", "close") }
      if let credentials = forwarder?.credentials, headers["Proxy-Authorization"] == nil {
        fields.append("Proxy-Authorization", credentials.basic)
      }
      let target = forwarder == nil ? url.target : "http://\(url.authority)\(url.target)"
      return try HTTPRequestHead(method: method, target: target, headers: fields).encode() + body
    }
  }

  package struct Response: Sendable, Equatable {
    package let head: HTTPResponseHead
    /// The body without content coding and byte order mark; empty if ``problem`` is set.
    package let body: [UInt8]
    /// The reason why the body cannot be decoded.
    package let problem: HTTPError?

    package init(head: HTTPResponseHead, body: [UInt8], problem: HTTPError? = nil) {
      (self.head, self.body, self.problem) = (head, body, problem)
    }

    init(head: HTTPResponseHead, encoded body: [UInt8], limit: Int) {
      do throws(HTTPError) {
        self.init(head: head, body: try head.headers.decoded(body, limit: limit))
      } catch { self.init(head: head, body: [], problem: error) }
    }

    /// The reason that the server gives in the body, as one line; may be empty.
    package var reason: String { problem.map { "\($0)" } ?? RefusalReason.line(of: body) }

    /// The address of a redirect, for messages; `nil` for any other response.
    package var redirect: String? {
      guard RedirectTrail.isRedirect(head.status) else { return nil }
      return head.headers["Location"].map(RedirectTrail.shown)
    }
  }

  package enum Failure: Error, Equatable, CustomStringConvertible {
    case transport(TransportError)
    case http(HTTPError)
    case timeout(Duration)

    package var description: String {
      switch self {
      case .transport(let error): error.description
      case .http(let error): error.description
      case .timeout(let duration): "no answer within \(duration.inSeconds) s"
      }
    }
  }

  package typealias Outcome = Result<Response, Failure>
  package typealias Completion = (Outcome, Instant) -> Void

  private let request: Request
  private let bodyLimit: Int
  private let loop: EventLoop
  private let input = ByteBuffer(capacity: 16_384)
  private let output = ByteBuffer()
  private let body = ByteBuffer(capacity: 4096)
  /// The bytes of the request before any redirect.
  private let encoded: [UInt8]
  /// `nil` after the head of the answer.
  private var opening: Opening?
  private var head: HTTPResponseHead?
  private var reader: HTTPBodyReader?
  private var stream: SocketStream?
  private var hasLeftOrigin = false
  /// Takes the connection if another request may follow on it; called before the completion.
  fileprivate var onKept: ((SocketStream) -> Void)?
  private var timer: LoopTimer?
  private var completion: Completion?
  /// Retains the exchange until it is over, for owners that only want the response.
  private var itself: HTTPExchange?

  /// Starts `request`; the loop calls `completion` once, with a response of any status or an error.
  ///
  /// Throws if the request cannot be encoded.
  ///
  /// - Parameters:
  ///   - destination: The way to the server; its URL and fields do not count.
  ///   - tls: Context for the request's server; `nil` for the loop's.
  ///   - timeout: Time from name resolution to the response's last byte.
  ///   - idle: Open connection to the right server without a request.
  package init(
    loop: EventLoop, request: Request, to destination: Destination, tls: TLSContext? = nil,
    timeout: Duration, bodyLimit: Int = 1 << 20, over idle: SocketStream? = nil,
    completion: @escaping Completion
  ) throws(HTTPError) {
    (self.request, self.bodyLimit) = (request, bodyLimit)
    (self.loop, self.completion) = (loop, completion)
    encoded = try request.encode(over: destination.routing.route(to: request.url))
    itself = self
    timer = loop.schedule(after: timeout) { [unowned self] in
      fail(.timeout(timeout), at: loop.now)
    }
    var destination = destination
    destination.url = request.url
    let opening = Opening(
      loop: loop, to: destination, tls: tls, input: input, output: output, delegate: self)
    self.opening = opening
    if let idle {
      opening.start(over: idle, isRepeatable: request.isRepeatable)
    } else {
      opening.start()
    }
  }

  /// Cancels the exchange unless it is over, without calling the completion.
  package func cancel() {
    completion = nil
    finish(.failure(.timeout(.zero)), at: loop.now)
  }

  private func fail(_ failure: Failure, at now: Instant) {
    guard !request.wantsBody, let head else { return finish(.failure(failure), at: now) }
    finish(.success(Response(head: head, body: [])), at: now)
  }

  private func finish(_ result: Outcome, at now: Instant) {
    loop.cancel(&timer)
    opening?.abort()
    opening = nil
    stream?.close()
    stream = nil
    let completion = completion
    self.completion = nil
    completion?(result, now)
    itself = nil
  }

  // MARK: The body

  private func readBody(at now: Instant) {
    do throws(HTTPError) {
      if try reader?.read(from: input, into: body) == true { complete(at: now) }
    } catch { fail(.http(error), at: now) }
  }

  private func complete(at now: Instant) {
    guard let head else { return }
    if let onKept, let stream, isReusable(head, stream) {
      stream.delegate = nil
      self.stream = nil
      onKept(stream)
    }
    finish(.success(Response(head: head, encoded: body.array, limit: bodyLimit)), at: now)
  }

  /// Returns whether another request may follow on this connection (RFC 9112 section 9.3).
  private func isReusable(_ head: HTTPResponseHead, _ stream: SocketStream) -> Bool {
    let options = head.headers.tokens("Connection")
    return request.keepsConnection && !hasLeftOrigin && stream.isOpen && input.isEmpty
      && output.isEmpty && head.minorVersion >= 1 && !options.contains(where: { $0 == "close" })
      && reader?.endsWithConnection == false
  }

  private func inputEnded(at now: Instant) {
    do throws(HTTPError) {
      try reader?.inputEnded()
      complete(at: now)
    } catch { fail(.http(error), at: now) }
  }
}

extension HTTPExchange: OpeningDelegate {
  package func request(_ trail: RedirectTrail, over route: Route) -> [UInt8]? {
    hasLeftOrigin = trail.hasLeftOrigin
    if trail.count == 0 { return encoded }
    var next = request
    (next.url, next.headers) = (trail.url, trail.headers(request.headers))
    do throws(HTTPError) {
      return try next.encode(over: route)
    } catch {
      fail(.http(error), at: loop.now)
      return nil
    }
  }

  /// RFC 9110 section 15.4: clients turn a POST into a GET for the other statuses, and a GET does
  /// not do what the POST was for.
  package func follows(_ status: Int) -> Bool {
    request.followsRedirects && (request.method == "GET" || [307, 308].contains(status))
  }

  package func opening(cannotFollow head: HTTPResponseHead, _: RedirectError, at now: Instant) {
    finish(.success(Response(head: head, body: [])), at: now)
  }

  package func opening(_ opening: Opening, answered head: HTTPResponseHead, at now: Instant) {
    self.head = head
    stream = opening.handOver(to: self)
    self.opening = nil
    do throws(HTTPError) {
      reader = try HTTPBodyReader(head, requestMethod: request.method, limit: bodyLimit)
    } catch { return fail(.http(error), at: now) }
    readBody(at: now)
  }

  package func opening(_ opening: Opening, failed failure: Failure, at now: Instant) {
    fail(failure, at: now)
  }

  package func openingReceived(bytes count: Int, at now: Instant) {}
  package func openingReceived(_ head: HTTPResponseHead) {}
  package func openingRedirected(status: Int, to place: String, at now: Instant) {}
}

extension HTTPExchange: SocketStreamDelegate {
  package func streamWritable(_ stream: SocketStream, at now: Instant) {
    do throws(TransportError) {
      try stream.write(from: output)
    } catch { fail(.transport(error), at: now) }
  }

  package func streamReadable(_ stream: SocketStream, at now: Instant) {
    do throws(TransportError) {
      switch try stream.read(into: input, atMost: 16_384) {
      case .wouldBlock: break
      case .bytes: readBody(at: now)
      case .end: inputEnded(at: now)
      }
    } catch {
      // A server that rejects a request unread may reset the connection after its response.
      if let head, head.status >= 400, reader?.endsWithConnection == true {
        complete(at: now)
      } else {
        fail(.transport(error), at: now)
      }
    }
  }

  package func streamFailed(_ stream: SocketStream, _ error: TransportError, at now: Instant) {
    fail(.transport(error), at: now)
  }
}

/// Sends requests to one server, one at a time, over a persistent connection if possible.
///
/// Follows redirects for requests that want it, within their time. Each redirect takes a connection
/// of its own, which is kept if it leads to the same server. Belongs to the loop's thread. Source:
/// RFC 9112 section 9.3.
package final class HTTPConnection {
  private let loop: EventLoop
  private let destination: Destination
  private let tls: TLSContext?
  private let timeout: Duration
  private let bodyLimit: Int
  private var idle: SocketStream?
  private var exchange: HTTPExchange?
  private let scratch = ByteBuffer(capacity: 64)

  /// - Parameters:
  ///   - destination: The server and the way to it; its fields do not count.
  ///   - tls: Context for the server; `nil` for the loop's at each new connection.
  package init(
    loop: EventLoop, to destination: Destination, tls: TLSContext? = nil, timeout: Duration,
    bodyLimit: Int = 16 << 20
  ) {
    (self.loop, self.destination, self.tls) = (loop, destination, tls)
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
    var request = request
    request.keepsConnection = true
    let exchange = try HTTPExchange(
      loop: loop, request: request, to: destination, tls: tls, timeout: limit ?? timeout,
      bodyLimit: bodyLimit, over: takeIdle()
    ) { [weak self] result, now in
      self?.exchange = nil
      completion(result, now)
    }
    exchange.onKept = { [weak self] stream in
      stream.delegate = self
      self?.idle = stream
    }
    self.exchange = exchange
  }

  /// Cancels the open request without calling its completion, and closes the connection.
  package func close() {
    exchange?.cancel()
    exchange = nil
    idle?.close()
    idle = nil
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
  /// Without an open request, any input is an end or an error.
  package func streamReadable(_ stream: SocketStream, at now: Instant) {
    stream.close()
    if idle === stream { idle = nil }
  }

  package func streamFailed(_ stream: SocketStream, _ error: TransportError, at now: Instant) {
    if idle === stream { idle = nil }
  }
}
