package protocol OpeningDelegate: AnyObject {
  /// Returns the request for the end of `trail`; throws an error if the request is invalid.
  func request(_ trail: RedirectTrail, over route: Route) throws(ConnectionLoss) -> [UInt8]
  func openingRedirected(status: Int, to place: String, at now: Instant)
  func openingReceived(bytes count: Int, at now: Instant)
  /// The final head came, after any interim answers and followed redirects.
  ///
  /// The owner takes the stream and the bytes after the head with ``Opening/handOver(to:)``, or
  /// ends the opening.
  func opening(_ opening: Opening, answered head: HTTPResponseHead, at now: Instant)
  func openingReceived(_ head: HTTPResponseHead)
  func openingFailed(_ loss: ConnectionLoss, at now: Instant)
}

/// The beginning of every connection, from the dial to an open stream: name, proxy, TLS, request,
/// redirects, head.
///
/// It is used once and belongs to the loop's thread.
package final class Opening {
  private let loop: EventLoop
  private let destination: Destination
  /// True if the request asks for an upgrade instead of a document.
  private let isUpgrade: Bool
  private var trail: RedirectTrail
  private var stream: SocketStream?
  /// Reports a failure before there is a stream.
  private var failure: LoopTimer?
  private var isAsking = false
  /// The problem that a close before the answer means.
  private var silence = NetworkProblem.noAnswer
  private let input: ByteBuffer
  private let output = ByteBuffer()
  private var headParser = HTTPHeadParser(limits: HTTPHeadLimits())
  private var delegate: (any OpeningDelegate)?
  private(set) var times = OpeningTimes()
  var isPaused: Bool { didSet { stream?.wantsRead = !isPaused } }

  init(
    loop: EventLoop, to destination: Destination, isUpgrade: Bool, isPaused: Bool,
    input: ByteBuffer, delegate: any OpeningDelegate
  ) {
    (self.loop, self.destination) = (loop, destination)
    (self.isUpgrade, self.isPaused) = (isUpgrade, isPaused)
    (self.input, self.delegate) = (input, delegate)
    trail = RedirectTrail(url: destination.url)
  }

  /// True if the stream is, or would be, encrypted.
  var isSecure: Bool { trail.url.isSecure }

  var stage: ConnectionStage {
    stream?.stage
      ?? (isUpgrade ? .upgrading(received: input.count) : .asking(received: input.count))
  }

  private var route: Route { destination.routing.route(to: trail.url) }

  func start() {
    times.begin = times.begin ?? loop.now
    let tls: TLSContext?
    do throws(TLSError) {
      tls = try destination.tlsContext(loop, to: trail.url)
    } catch {
      // The caller is not done yet.
      failure = loop.schedule(after: .zero) { [unowned self] in
        fail(.network("\(error)"), at: loop.now)
      }
      return
    }
    let stream = SocketStream.connect(loop: loop, to: route, tls: tls, delegate: self)
    stream.wantsRead = !isPaused
    stream.readsOnWhenBroken = true
    self.stream = stream
  }

  /// Closes the stream without a report.
  func abort() {
    delegate = nil
    if let failure { loop.remove(failure) }
    failure = nil
    stream?.close()
    stream = nil
  }

  func handOver(to next: any SocketStreamDelegate) -> SocketStream? {
    defer { stream = nil }
    delegate = nil
    stream?.delegate = next
    return stream
  }

  private func fail(_ loss: ConnectionLoss, at now: Instant) {
    let delegate = delegate
    abort()
    delegate?.openingFailed(loss, at: now)
  }

  private func broke(_ error: TransportError, at now: Instant) {
    let loss = ConnectionLoss(error)
    let explainsItself = !isUpgrade && silence == .noAnswer
    if !explainsItself, isAsking, input.isEmpty, case .network(let what, nil) = loss {
      return fail(.network(what, silence), at: now)
    }
    fail(loss, at: now)
  }

  private func flush(at now: Instant) {
    guard !output.isEmpty else { return }
    do throws(TransportError) {
      try stream?.write(from: output)
    } catch {
      broke(error, at: now)
    }
  }

  private func inputEnded(at now: Instant) {
    let what =
      switch (input.isEmpty, isUpgrade) {
      case (true, true): "before it answered the upgrade"
      case (true, false): "before it answered"
      case (false, true): "in the middle of its answer to the upgrade"
      case (false, false): "in the middle of its answer"
      }
    fail(
      .network("the server closed the connection \(what)", input.isEmpty ? silence : nil),
      at: now)
  }

  private func readHead(at now: Instant) {
    if let foreign = ForeignProtocol(input.view) { return fail(ConnectionLoss(foreign), at: now) }
    let head: HTTPResponseHead
    do throws(HTTPError) {
      guard let next = try headParser.finalResponse(from: input) else { return }
      head = next
    } catch { return fail(.violation("\(error)"), at: now) }
    delegate?.openingReceived(head)
    if let refusal = route.refusal(head) { return fail(ConnectionLoss(refusal), at: now) }
    if RedirectTrail.isRedirect(head.status), let location = head.headers["Location"] {
      return redirect(to: location, status: head.status, at: now)
    }
    delegate?.opening(self, answered: head, at: now)
  }

  private func redirect(to location: String, status: Int, at now: Instant) {
    do {
      try trail.follow(location: location)
    } catch { return fail(.refused(status: status, reason: "\(error)"), at: now) }
    stream?.close()
    stream = nil
    input.removeAll()
    output.removeAll()
    headParser = HTTPHeadParser(limits: HTTPHeadLimits())
    isAsking = false
    delegate?.openingRedirected(status: status, to: trail.url.place, at: now)
    // The owner may have ended the opening.
    if delegate != nil { start() }
  }
}

extension Opening: SocketStreamDelegate {
  package func streamOpened(_ stream: SocketStream, at now: Instant) {
    guard let delegate else { return }
    (times.connected, times.secured) = (stream.connectedAt, loop.now)
    do throws(ConnectionLoss) {
      output.append(try delegate.request(trail, over: route))
      isAsking = true
      let isAgreed = !trail.url.isSecure || stream.applicationProtocol != nil
      silence = isAgreed ? .noAnswer : .noAgreedProtocol
      flush(at: now)
    } catch { fail(error, at: now) }
  }

  package func streamReadable(_ stream: SocketStream, at now: Instant) {
    do throws(TransportError) {
      switch try stream.read(into: input, atMost: FeedConnectionState.readSize) {
      case .wouldBlock: break
      case .bytes(let count):
        delegate?.openingReceived(bytes: count, at: now)
        readHead(at: now)
      case .end: inputEnded(at: now)
      }
    } catch { broke(error, at: now) }
  }

  package func streamWritable(_ stream: SocketStream, at now: Instant) { flush(at: now) }

  package func streamFailed(_ stream: SocketStream, _ error: TransportError, at now: Instant) {
    broke(error, at: now)
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
