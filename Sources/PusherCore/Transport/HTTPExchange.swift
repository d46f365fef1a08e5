/// One request and its response (RFC 9112) with one deadline.
///
/// ``HTTPConnection`` follows redirects; an exchange does not.
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
  private(set) var hasAnswer = false
  /// Takes the connection if another request may follow on it; called before the completion.
  var onKept: ((SocketStream) -> Void)?
  private var timers: [LoopTimer] = []
  private var completion: Completion?
  /// Retains the exchange until it is over, for owners that only want the response.
  private var itself: HTTPExchange?

  /// Starts `request`; the loop calls `completion` once, with a response of any status or an error.
  ///
  /// Throws if the request cannot be encoded.
  ///
  /// - Parameters:
  ///   - tls: Required for `https` URLs.
  ///   - timeout: Time from name resolution to the response's last byte.
  ///   - idle: Open connection to the right server without a request.
  package init(
    loop: EventLoop, request: Request, routing: Routing = Routing(), tls: TLSContext?,
    timeout: Duration, bodyLimit: Int = 1 << 20, over idle: SocketStream? = nil,
    completion: @escaping Completion
  ) throws(HTTPError) {
    precondition(!request.url.isSecure || tls != nil, "a secure URL needs a TLS context")
    (self.request, self.bodyLimit) = (request, bodyLimit)
    (self.loop, self.completion) = (loop, completion)
    route = routing.route(to: request.url)
    output.append(try request.encode(over: route))
    add(timer: loop.now.advanced(by: timeout)) { [weak self, loop] in
      self?.fail(.timeout(timeout), at: loop.now)
    }
    itself = self
    if let idle {
      idle.delegate = self
      stream = idle
      do throws(TransportError) {
        try idle.write(from: output)
      } catch {
        // Deferred: the loop reports failures.
        add(timer: LoopInterest.immediately) { [weak self, loop] in
          self?.fail(.transport(error), at: loop.now)
        }
      }
    } else {
      stream = SocketStream.connect(
        loop: loop, to: route, tls: request.url.isSecure ? tls : nil, delegate: self)
    }
  }

  private func add(timer deadline: Instant, _ action: @escaping () -> Void) {
    let timer = LoopTimer(deadline: deadline, action: action)
    timers.append(timer)
    loop.add(timer)
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
    for timer in timers { loop.remove(timer) }
    timers = []
    stream?.close()
    stream = nil
    let completion = completion
    self.completion = nil
    completion?(result, now)
    itself = nil
  }

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
    finish(.success(Response(head: head, encoded: body.array, limit: bodyLimit)), at: now)
  }

  /// Returns whether another request may follow on this connection (RFC 9112 section 9.3).
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
    } catch { fail(.http(error), at: now) }
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
      // A server that rejects a request unread may reset the connection after its response.
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
    } catch { fail(.http(error), at: now) }
  }

  package func streamFailed(_ stream: SocketStream, _ error: TransportError, at now: Instant) {
    fail(.transport(error), at: now)
  }
}
