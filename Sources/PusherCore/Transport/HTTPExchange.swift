/// One request and its answer (RFC 9112), over a connection of their own unless ``HTTPConnection`` lends one, with one
/// deadline for all of it.
///
/// Redirects are not followed: the answer is handed on as it is.
package final class HTTPExchange {
  /// The request.
  package struct Request: Sendable {
    package var method: String
    package var url: HTTPURL
    /// Fields beside `Host`, `Content-Length` and `Connection`, which are added where they are missing.
    package var headers: HTTPHeaders
    package var body: [UInt8]
    /// Whether it may be sent again although the first may have had an effect (RFC 9110 section 9.2.2); so are those
    /// of some methods.
    package var isRepeatable: Bool
    /// Whether the answer's body is wanted; else its head is answer enough, whatever becomes of the rest.
    package var wantsBody = true
    /// Whether another request may follow on the same connection.
    var keepsConnection = false

    package init(
      method: String, url: HTTPURL, headers: HTTPHeaders = HTTPHeaders(), body: [UInt8] = []
    ) {
      (self.method, self.url, self.headers, self.body) = (method, url, headers, body)
      isRepeatable = ["GET", "HEAD", "OPTIONS", "PUT", "DELETE"].contains(method)
    }

    /// The bytes to send; throws for a part that would break out of its line.
    ///
    /// A proxy that forwards the request gets the whole URL and its own credentials.
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

  /// An answer.
  package struct Response: Sendable, Equatable {
    package let head: HTTPResponseHead
    package let body: [UInt8]
  }

  /// Why there is no answer.
  package enum Failure: Error, Equatable, CustomStringConvertible {
    /// The server could not be reached, or was lost.
    case transport(TransportError)
    /// The request cannot be sent, or the answer cannot be understood.
    case http(HTTPError)
    /// There was no complete answer within this time.
    case timeout(Duration)

    package var description: String {
      switch self {
      case .transport(let error): error.description
      case .http(let error): error.description
      case .timeout(let duration): "no answer within \(duration.inSeconds) s"
      }
    }
  }

  private let request: Request
  private let route: Route
  private let bodyLimit: Int
  private let loop: EventLoop
  private let input = ByteBuffer(capacity: 16_384)
  private let output = ByteBuffer()
  private let body = ByteBuffer(capacity: 4096)
  private var headParser = HTTPHeadParser()
  private var head: HTTPResponseHead?
  private var reader: HTTPBodyReader?
  private var stream: SocketStream?
  /// Whether a byte of the answer has come.
  private(set) var hasAnswer = false
  /// Gets the connection when another request may follow on it, just before the completion is called.
  var onKept: ((SocketStream) -> Void)?
  private var timer: LoopTimer?
  private var starter: LoopTimer?
  private var completion: ((Result<Response, Failure>, Instant) -> Void)?
  /// The exchange keeps itself until it is over, for owners that only want the answer.
  private var itself: HTTPExchange?

  /// Starts `request`; `completion` is called once, on the loop's thread and from inside the loop.
  ///
  /// - Parameters:
  ///   - loop: The loop that everything runs on.
  ///   - request: The request; one that cannot be encoded throws.
  ///   - routing: The routes to servers.
  ///   - tls: The TLS context for `https` URLs; needed for these only.
  ///   - timeout: For everything from the name's resolution to the answer's last byte.
  ///   - bodyLimit: The most bytes of the answer's body.
  ///   - idle: An open connection to the right server on which nothing is under way.
  ///   - completion: Gets the answer, whatever its status, or why there is none.
  package init(
    loop: EventLoop, request: Request, routing: Routing = Routing(), tls: TLSContext?,
    timeout: Duration, bodyLimit: Int = 1 << 20, over idle: SocketStream? = nil,
    completion: @escaping (Result<Response, Failure>, Instant) -> Void
  ) throws(HTTPError) {
    precondition(!request.url.isSecure || tls != nil, "a secure URL needs a TLS context")
    (self.request, self.bodyLimit) = (request, bodyLimit)
    (self.loop, self.completion) = (loop, completion)
    route = routing.route(to: request.url)
    output.append(try request.encode(over: route))
    let timer = LoopTimer(deadline: loop.now.advanced(by: timeout)) { [weak self, loop] in
      self?.fail(.timeout(timeout), at: loop.now)
    }
    self.timer = timer
    loop.add(timer)
    itself = self
    if let idle {
      idle.delegate = self
      stream = idle
      // Later: answers and failures are reported from inside the loop.
      let start = LoopTimer(deadline: LoopInterest.immediately) { [weak self] in self?.begin() }
      starter = start
      loop.add(start)
    } else {
      stream = SocketStream.connect(
        loop: loop, to: route, tls: request.url.isSecure ? tls : nil, delegate: self)
    }
  }

  private func begin() {
    if let starter { loop.remove(starter) }
    starter = nil
    if let stream, stream.isOpen { streamWritable(stream, at: loop.now) }
  }

  /// Gives up, unless the exchange is over; the completion is not called.
  package func cancel() {
    completion = nil
    finish(.failure(.timeout(.zero)), at: loop.now)
  }

  /// Ends without the whole answer, of which the head may be all that is wanted.
  private func fail(_ failure: Failure, at now: Instant) {
    guard !request.wantsBody, let head else { return finish(.failure(failure), at: now) }
    finish(.success(Response(head: head, body: [])), at: now)
  }

  private func finish(_ result: Result<Response, Failure>, at now: Instant) {
    if let timer { loop.remove(timer) }
    timer = nil
    if let starter { loop.remove(starter) }
    starter = nil
    stream?.close()
    stream = nil
    let completion = completion
    self.completion = nil
    completion?(result, now)
    itself = nil
  }

  /// Reads received bytes; true when the answer is complete.
  private func parse() throws(HTTPError) -> Bool {
    if head == nil {
      if let foreign = ForeignProtocol(input.view) { throw .foreign(foreign) }
      guard let next = try headParser.finalResponse(from: input) else { return false }
      head = next
      reader = try HTTPBodyReader(next, requestMethod: request.method, limit: bodyLimit)
    }
    return try reader?.read(from: input, into: body) ?? false
  }

  private func complete(at now: Instant) {
    guard let head else { return }
    if let onKept, let stream, isReusable(head, stream) {
      stream.delegate = nil
      self.stream = nil
      onKept(stream)
    }
    finish(.success(Response(head: head, body: body.array)), at: now)
  }

  /// Whether the server goes on to serve this connection (RFC 9112 section 9.3).
  private func isReusable(_ head: HTTPResponseHead, _ stream: SocketStream) -> Bool {
    let options = head.headers.tokens("Connection")
    return request.keepsConnection && stream.isOpen && input.isEmpty && output.isEmpty
      && head.minorVersion >= 1 && !options.contains(where: { $0 == "close" })
      && reader?.endsWithConnection == false
  }

  private func inputEnded(at now: Instant) {
    do throws(HTTPError) {
      guard reader != nil else { throw .endedEarly }
      try reader?.inputEnded()
      complete(at: now)
    } catch {
      fail(.http(error), at: now)
    }
  }
}

extension HTTPExchange: SocketStreamDelegate {
  package func streamOpened(_ stream: SocketStream, at now: Instant) {
    streamWritable(stream, at: now)
  }

  package func streamWritable(_ stream: SocketStream, at now: Instant) {
    do throws(TransportError) {
      try stream.write(from: output)
    } catch {
      fail(.transport(error), at: now)
    }
  }

  package func streamReadable(_ stream: SocketStream, at now: Instant) {
    let result: SocketStream.ReadResult
    do throws(TransportError) {
      result = try stream.read(into: input, atMost: 16_384)
    } catch {
      // A server that refuses a request unread may break off after its answer, which counts all the same.
      if let head, head.status >= 400, reader?.endsWithConnection == true {
        complete(at: now)
      } else {
        fail(.transport(error), at: now)
      }
      return
    }
    if case .bytes = result { hasAnswer = true }
    do throws(HTTPError) {
      let isComplete = try parse()
      if let refusal = head.flatMap(route.refusal) {
        finish(.failure(.transport(refusal)), at: now)
      } else if isComplete {
        complete(at: now)
      } else if result == .end {
        inputEnded(at: now)
      }
    } catch {
      fail(.http(error), at: now)
    }
  }

  package func streamFailed(_ stream: SocketStream, _ error: TransportError, at now: Instant) {
    fail(.transport(error), at: now)
  }
}
