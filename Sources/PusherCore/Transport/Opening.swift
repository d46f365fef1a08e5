/// A server, and the way to it.
package struct Destination: Sendable, Equatable {
  /// The whole URL; its scheme decides about TLS.
  package var url: HTTPURL
  /// Fields of the request; credentials and Host do not follow a redirect to another server.
  package var headers: HTTPHeaders
  package var routing: Routing
  package var tls: TLSConfiguration
  package var trust: TLSEnvironment

  package init(
    url: HTTPURL, headers: HTTPHeaders = HTTPHeaders(), routing: Routing = Routing(),
    tls: TLSConfiguration = TLSConfiguration(), trust: TLSEnvironment = TLSEnvironment()
  ) {
    (self.url, self.headers, self.routing) = (url, headers, routing)
    (self.tls, self.trust) = (tls, trust)
  }

  /// Returns a copy with further fields, which replace fields of the same name.
  func adding(_ fields: HTTPHeaders) -> Destination {
    var destination = self
    for field in fields.fields { destination.headers.remove(field.name) }
    for field in fields.fields { destination.headers.append(field.name, field.value) }
    return destination
  }

  /// Returns the TLS context that the loop shares; `nil` for a URL that is not secure.
  ///
  /// The client's certificate and the pinned keys are for this server only. A redirect from `http`
  /// to `https` at the same host stays at this server, which had no TLS before.
  ///
  /// - Throws: ``TLSError`` if the trust roots cannot be read.
  package func tlsContext(_ loop: EventLoop, to url: HTTPURL) throws(TLSError) -> TLSContext? {
    guard url.isSecure else { return nil }
    return try loop.tlsContexts.client(
      isOwn(url) ? tls : tls.forAnotherServer, environment: trust)
  }

  fileprivate func isOwn(_ url: HTTPURL) -> Bool {
    url.isSameOrigin(as: self.url)
      || !self.url.isSecure && url.host.lowercased() == self.url.host.lowercased()
  }
}

package protocol OpeningDelegate: AnyObject {
  /// Returns the request for the end of `trail`; `nil` if the owner has ended the opening instead.
  func request(_ trail: RedirectTrail, over route: Route) -> [UInt8]?
  func openingReceived(bytes count: Int, at now: Instant)
  /// A final head came, which may be a redirect's.
  func openingReceived(_ head: HTTPResponseHead)
  /// Returns whether a redirect with this status leads on; if not, it is the answer.
  func follows(_ status: Int) -> Bool
  func openingRedirected(status: Int, to place: String, at now: Instant)
  /// The stream is closed: the answer is a redirect to an address that must not be followed.
  func opening(cannotFollow head: HTTPResponseHead, _ error: RedirectError, at now: Instant)
  /// The final head came, after any interim answers and followed redirects.
  ///
  /// The owner takes the stream and the bytes after the head with ``Opening/handOver(to:)``, or
  /// ends the opening.
  func opening(_ opening: Opening, answered head: HTTPResponseHead, at now: Instant)
  /// The stream is closed; `.http(.endedEarly)` means an end before the whole head.
  func opening(_ opening: Opening, failed failure: HTTPExchange.Failure, at now: Instant)
}

/// The beginning of every connection, from the dial to an open stream: name, proxy, TLS, request,
/// redirects, head.
///
/// It is used once and belongs to the loop's thread.
package final class Opening {
  private let loop: EventLoop
  private let destination: Destination
  /// The context for the destination's server; `nil` for the loop's.
  private let tls: TLSContext?
  private(set) var trail: RedirectTrail
  /// The way to the end of ``trail``.
  private var route: Route
  private var stream: SocketStream?
  /// Reports a failure before there is a stream.
  private var failure: LoopTimer?
  /// True after the request was sent.
  private(set) var isAsking = false
  /// Dials if the kept stream breaks before an answer.
  private var dialsAgain = false
  /// The problem that a close before the answer means.
  private(set) var silence = NetworkProblem.noAnswer
  private let input: ByteBuffer
  private let output: ByteBuffer
  private var headParser = HTTPHeadParser()
  private var delegate: (any OpeningDelegate)?
  private(set) var times = OpeningTimes()
  var isPaused = false { didSet { stream?.wantsRead = !isPaused } }

  /// - Parameters:
  ///   - input: Gets the answer's bytes; each read takes as many as it has room for.
  ///   - output: Holds bytes of the request that the stream did not take.
  init(
    loop: EventLoop, to destination: Destination, tls: TLSContext? = nil, input: ByteBuffer,
    output: ByteBuffer = ByteBuffer(), delegate: any OpeningDelegate
  ) {
    (self.loop, self.destination, self.tls) = (loop, destination, tls)
    (self.input, self.output, self.delegate) = (input, output, delegate)
    trail = RedirectTrail(url: destination.url)
    route = destination.routing.route(to: destination.url)
  }

  /// Stage of the dial; `nil` after it.
  var stage: ConnectionStage? { stream?.stage }

  func start() {
    times.begin = times.begin ?? loop.now
    let context: TLSContext?
    do throws(TLSError) {
      context =
        if let tls, trail.url.isSecure, destination.isOwn(trail.url) { tls } else {
          try destination.tlsContext(loop, to: trail.url)
        }
    } catch { return failLater(.transport(.tls(error))) }
    let stream = SocketStream.connect(loop: loop, to: route, tls: context, delegate: self)
    stream.wantsRead = !isPaused
    stream.readsOnWhenBroken = true
    self.stream = stream
  }

  /// Sends the request over an open stream to the server, without waiting for the loop.
  ///
  /// - Parameter isRepeatable: True to dial if the stream breaks before any answer.
  func start(over kept: SocketStream, isRepeatable: Bool) {
    kept.delegate = self
    (stream, dialsAgain) = (kept, isRepeatable)
    guard let bytes = delegate?.request(trail, over: route) else { return }
    output.append(bytes)
    isAsking = true
    do throws(TransportError) {
      try kept.write(from: output)
    } catch { failLater(.transport(error)) }
  }

  /// Reports a failure from inside the loop, because the caller is not done yet.
  private func failLater(_ cause: HTTPExchange.Failure) {
    failure = loop.schedule(after: .zero) { [unowned self] in broke(cause, at: loop.now) }
  }

  private func close() {
    loop.cancel(&failure)
    stream?.close()
    stream = nil
  }

  /// Closes the stream without a report.
  func abort() {
    delegate = nil
    close()
  }

  func handOver(to next: any SocketStreamDelegate) -> SocketStream? {
    defer { stream = nil }
    delegate = nil
    stream?.delegate = next
    return stream
  }

  /// Ends with a lost stream, or dials if the request may be sent again.
  private func broke(_ failure: HTTPExchange.Failure, at now: Instant) {
    if dialsAgain { restart() } else { fail(failure, at: now) }
  }

  private func fail(_ failure: HTTPExchange.Failure, at now: Instant) {
    let delegate = delegate
    abort()
    delegate?.opening(self, failed: failure, at: now)
  }

  private func restart() {
    close()
    input.removeAll()
    output.removeAll()
    headParser = HTTPHeadParser()
    (isAsking, dialsAgain) = (false, false)
    start()
  }

  private func flush(at now: Instant) {
    guard !output.isEmpty else { return }
    do throws(TransportError) {
      try stream?.write(from: output)
    } catch { broke(.transport(error), at: now) }
  }

  private func readHead(at now: Instant) {
    let head: HTTPResponseHead
    do throws(HTTPError) {
      if let foreign = ForeignProtocol(input.view) { throw .foreign(foreign) }
      guard let next = try headParser.finalResponse(from: input) else { return }
      head = next
    } catch { return fail(.http(error), at: now) }
    delegate?.openingReceived(head)
    if let refusal = route.refusal(head) { return fail(.transport(refusal), at: now) }
    if RedirectTrail.isRedirect(head.status), let location = head.headers["Location"],
      delegate?.follows(head.status) == true
    {
      return redirect(to: location, head, at: now)
    }
    delegate?.opening(self, answered: head, at: now)
  }

  private func redirect(to location: String, _ head: HTTPResponseHead, at now: Instant) {
    do throws(RedirectError) {
      try trail.follow(location: location)
    } catch {
      let delegate = delegate
      abort()
      delegate?.opening(cannotFollow: head, error, at: now)
      return
    }
    route = destination.routing.route(to: trail.url)
    close()
    delegate?.openingRedirected(status: head.status, to: trail.url.place, at: now)
    // The owner may have ended the opening.
    if delegate != nil { restart() }
  }
}

extension Opening: SocketStreamDelegate {
  package func streamOpened(_ stream: SocketStream, at now: Instant) {
    (times.connected, times.secured) = (stream.connectedAt, loop.now)
    guard let bytes = delegate?.request(trail, over: route) else { return }
    output.append(bytes)
    isAsking = true
    let isAgreed = !trail.url.isSecure || stream.applicationProtocol != nil
    silence = isAgreed ? .noAnswer : .noAgreedProtocol
    flush(at: now)
  }

  package func streamReadable(_ stream: SocketStream, at now: Instant) {
    do throws(TransportError) {
      switch try stream.read(into: input, atMost: max(input.writable, 4096)) {
      case .wouldBlock: break
      case .bytes(let count):
        dialsAgain = false
        delegate?.openingReceived(bytes: count, at: now)
        readHead(at: now)
      case .end: broke(.http(.endedEarly), at: now)
      }
    } catch { broke(.transport(error), at: now) }
  }

  package func streamWritable(_ stream: SocketStream, at now: Instant) { flush(at: now) }

  package func streamFailed(_ stream: SocketStream, _ error: TransportError, at now: Instant) {
    broke(.transport(error), at: now)
  }
}

/// Times of the steps of an opening; a step that was not reached has none.
///
/// After a redirect, the times are those of the last server, except for ``begin``.
package struct OpeningTimes: Sendable, Equatable {
  /// Start of the name look-up.
  package internal(set) var begin: Instant?
  /// The TCP connection, through the proxy if there is one.
  package internal(set) var connected: Instant?
  /// The end of the TLS handshake; without TLS, the same as ``connected``.
  package internal(set) var secured: Instant?
  /// The head of the final answer.
  package internal(set) var answered: Instant?

  package init() {}
}
