/// What a link tells the client.
protocol EventStreamLinkDelegate: AnyObject {
  /// Bytes came in, of whatever kind.
  func linkReceivedBytes(at now: Instant)
  /// The request goes elsewhere, and that place is dialled now.
  func linkRedirected(status: Int, to place: String, at now: Instant)
  /// A head went out or came in, for whoever looks at the protocol; its secrets are left out.
  func linkExchanged(head: String, isRequest: Bool)
  /// A head came that is the answer, not a word on the way to it.
  func linkAnswered(status: Int)
  /// The answer is an event stream.
  func linkOpened(at now: Instant)
  /// Every line that had come was read.
  func linkDrained()
  /// The server answered 204; the link is over.
  func linkFinished(at now: Instant)
  /// An event came; its views last for this call.
  func linkReceived(_ event: EventStreamEvent, at now: Instant)
  /// The link is over; it says nothing more.
  func linkEnded(_ error: EventSourceError, at now: Instant)
}

/// One request for an event stream, its redirects, and the stream that answers it.
///
/// It is used once and belongs to the loop's thread.
final class EventStreamLink {
  private enum Phase {
    case asking
    case open
    case ended
  }

  /// How much is read at a time, and how much is decompressed at a time.
  private static let readSize = 256 << 10

  private let configuration: EventStreamConfiguration
  private var tls: TLSContext?
  private var trail: RedirectTrail
  private var dropsBody = false
  private let loop: EventLoop
  private let parser: EventStreamParser
  private var stream: SocketStream?
  /// What ends the wait for an answer; redirects do not begin it anew.
  private var patience: LoopTimer?
  private let input = ByteBuffer(capacity: readSize + 16_384)
  private let output = ByteBuffer()
  private var headParser = HTTPHeadParser(limits: HTTPHeadLimits())
  private var body: HTTPBodyReader?
  private var decoder: ContentDecoder?
  /// The body before it is decompressed.
  private let encoded = ByteBuffer()
  private var phase = Phase.asking
  /// Why nothing more will come, while what has come is still to be handed out.
  private var ending: EventSourceError?
  private var isDraining = false
  /// The body cannot be read on.
  private var isBroken = false
  /// The owner, kept until the end.
  ///
  /// It is no weak reference because those slow every event.
  private var delegate: (any EventStreamLinkDelegate)?
  /// Set to leave what comes unread, for as long as nobody takes what was read.
  var isPaused = false {
    didSet { stream?.wantsRead = !isPaused }
  }

  /// A link whose stream goes through `parser`, which must be at the beginning of a stream.
  init(
    loop: EventLoop, configuration: EventStreamConfiguration, tls: TLSContext?,
    parser: EventStreamParser, delegate: any EventStreamLinkDelegate
  ) {
    self.loop = loop
    self.configuration = configuration
    self.tls = tls
    self.parser = parser
    self.delegate = delegate
    trail = RedirectTrail(url: configuration.url)
  }

  /// Dials; every answer comes from inside the loop.
  func start() {
    let patience = LoopTimer(deadline: loop.now.advanced(by: configuration.connectTimeout)) {
      [weak self] in self?.losePatience()
    }
    self.patience = patience
    loop.add(patience)
    dial()
  }

  /// The way to where the request goes now.
  private var route: Route { configuration.routing.route(to: trail.url) }

  private func dial() {
    let stream = SocketStream.connect(
      loop: loop, to: route, tls: trail.url.isSecure ? tls : nil, delegate: self)
    stream.wantsRead = !isPaused
    stream.readsOnWhenBroken = true
    self.stream = stream
  }

  private func losePatience() {
    // What is left unread may be the answer.
    if isPaused {
      patience?.deadline = loop.now.advanced(by: configuration.connectTimeout)
      return
    }
    guard case .asking = phase else { return }
    let stage = stream?.stage ?? .asking(received: input.count)
    end(.openingTimeout(configuration.connectTimeout, stage), at: loop.now)
  }

  private func endPatience() {
    if let patience { loop.remove(patience) }
    patience = nil
  }

  /// Drops the connection without a word and without a report.
  func abort() {
    phase = .ended
    delegate = nil
    endPatience()
    stream?.close()
  }

  /// Goes on with what was read before a pause.
  func resume() {
    isPaused = false
    drain(at: loop.now)
  }

  private func end(_ error: EventSourceError, at now: Instant) {
    if case .ended = phase { return }
    let delegate = delegate
    abort()
    delegate?.linkEnded(error, at: now)
  }

  /// Nothing more will come; what has come still counts.
  private func inputEnded(_ error: EventSourceError, at now: Instant) {
    guard case .open = phase else { return end(error, at: now) }
    guard ending == nil else { return }
    ending = error
    stream?.close()
    drain(at: now)
  }

  private func flush() {
    guard !output.isEmpty else { return }
    do throws(TransportError) {
      try stream?.write(from: output)
    } catch {
      inputEnded(EventSourceError(error), at: loop.now)
    }
  }
}

// The request and the answer's head.
extension EventStreamLink {
  private func ask(at now: Instant) {
    let request = configuration.request(
      trail, dropsBody: dropsBody, lastEventID: parser.lastEventID)
    do throws(HTTPError) {
      output.append(try request.encode(over: route))
    } catch {
      return end(.invalidRequest("\(error)"), at: now)
    }
    delegate?.linkExchanged(
      head: "\(request.method) \(request.url.path)\(Self.shown(request.headers))",
      isRequest: true)
    flush()
  }

  /// Takes the head when it is whole.
  private func readHead(at now: Instant) {
    if let foreign = ForeignProtocol(input.view) {
      return end(EventSourceError(foreign), at: now)
    }
    do throws(HTTPError) {
      guard let head = try headParser.finalResponse(from: input) else { return }
      delegate?.linkExchanged(
        head: "\(head.status) \(head.reason)\(Self.shown(head.headers))", isRequest: false)
      delegate?.linkAnswered(status: head.status)
      try take(head, at: now)
    } catch {
      end(.violation("\(error)"), at: now)
    }
  }

  private func take(_ head: HTTPResponseHead, at now: Instant) throws(HTTPError) {
    if let refusal = route.refusal(head) { return end(EventSourceError(refusal), at: now) }
    if RedirectTrail.isRedirect(head.status), let location = head.headers["Location"] {
      return redirect(to: location, status: head.status, at: now)
    }
    if head.status == 204 {
      let delegate = delegate
      abort()
      delegate?.linkFinished(at: now)
      return
    }
    guard head.status == 200 else {
      let wait = head.headers["Retry-After"].flatMap {
        RetryAfter.parse($0, now: SystemClock.wall())
      }
      let isLost = RedirectTrail.isRedirect(head.status)
      let reason = isLost ? "a redirect without a Location" : head.reason
      return end(.refused(status: head.status, reason: reason, retryAfter: wait), at: now)
    }
    let type = head.headers["Content-Type"]
    let essence = type.map { ASCII.trimmed($0.prefix { $0 != ";" }) }
    guard let essence, ASCII.equalIgnoringCase(essence, "text/event-stream") else {
      return end(.notAnEventStream(contentType: type), at: now)
    }
    let codings = head.headers.tokens("Content-Encoding").filter { $0 != "identity" }
    if let coding = codings.first {
      decoder = codings.count == 1 ? ContentDecoder(coding: coding) : nil
      guard decoder != nil else {
        let names = codings.joined(separator: ", ")
        return end(.violation("its content coding is neither gzip nor deflate: \(names)"), at: now)
      }
    }
    body = try HTTPBodyReader(head, requestMethod: configuration.method, limit: .max)
    phase = .open
    endPatience()
    delegate?.linkOpened(at: now)
    drain(at: now)
  }

  private func redirect(to location: String, status: Int, at now: Instant) {
    do {
      try trail.follow(location: location)
      if trail.url.isSecure && tls == nil {
        tls = try TLSContext.client(configuration.tls, environment: configuration.trust)
      }
    } catch let error as RedirectError {
      return end(.refused(status: status, reason: "\(error)"), at: now)
    } catch {
      return end(.network("\(error)"), at: now)
    }
    // RFC 9110 sections 15.4.2 to 15.4.4: what browsers make of a POST, and what 303 means for everything.
    if status == 303 || (status == 301 || status == 302) && configuration.method == "POST" {
      dropsBody = true
    }
    stream?.close()
    input.removeAll()
    output.removeAll()
    headParser = HTTPHeadParser(limits: HTTPHeadLimits())
    delegate?.linkRedirected(status: status, to: trail.url.place, at: now)
    if case .asking = phase { dial() }
  }

  /// The fields as a trace shows them: without the values that may be secrets.
  private static func shown(_ headers: HTTPHeaders) -> String {
    let harmless = [
      "accept", "accept-encoding", "cache-control", "connection", "content-encoding",
      "content-length", "content-type", "date", "last-event-id", "retry-after", "server",
      "transfer-encoding", "user-agent", "vary", "via",
    ]
    return headers.fields.map { field in
      " | \(field.name): \(harmless.contains(field.name.lowercased()) ? field.value : "…")"
    }.joined()
  }
}

// The stream.
extension EventStreamLink {
  /// Hands out every event that is complete, until there is no more or nobody wants more.
  private func drain(at now: Instant) {
    guard case .open = phase, let delegate, !isDraining else { return }
    isDraining = true
    defer { isDraining = false }
    do throws(EventStreamError) {
      while !isPaused {
        if let event = try parser.next() {
          delegate.linkReceived(event, at: now)
          // A handler may have ended the link.
          guard case .open = phase else { return }
        } else if !fill() {
          if body?.isComplete == true { ending = ending ?? .ended }
          if let ending { return end(parser.isInsideEvent ? ending.insideEvent : ending, at: now) }
          return delegate.linkDrained()
        }
      }
    } catch {
      end(.limit("\(error)"), at: now)
    }
  }

  /// Moves what has come towards the parser; whether anything reached it.
  ///
  /// What stands before a mistake of the body still counts.
  private func fill() -> Bool {
    guard !isBroken else { return false }
    let before = parser.input.count
    do {
      try moveBody()
    } catch is ContentDecoder.InvalidData {
      broke("the body is not what its content coding says")
    } catch {
      broke("\(error)")
    }
    return parser.input.count > before
  }

  private func moveBody() throws {
    guard let decoder else {
      _ = try body?.read(from: input, into: parser.input)
      return
    }
    if encoded.isEmpty { _ = try body?.read(from: input, into: encoded) }
    _ = try decoder.decode(from: encoded, into: parser.input, atMost: Self.readSize)
  }

  private func broke(_ what: String) {
    isBroken = true
    ending = .violation(what)
  }
}

extension EventStreamLink: SocketStreamDelegate {
  func streamOpened(_ stream: SocketStream, at now: Instant) {
    ask(at: now)
  }

  func streamReadable(_ stream: SocketStream, at now: Instant) {
    do throws(TransportError) {
      switch try stream.read(into: input, atMost: Self.readSize) {
      case .wouldBlock: break
      case .bytes:
        delegate?.linkReceivedBytes(at: now)
        if case .asking = phase { readHead(at: now) } else { drain(at: now) }
      case .end: connectionEnded(at: now)
      }
    } catch {
      inputEnded(EventSourceError(error), at: now)
    }
  }

  func streamWritable(_ stream: SocketStream, at now: Instant) {
    flush()
  }

  func streamFailed(_ stream: SocketStream, _ error: TransportError, at now: Instant) {
    inputEnded(EventSourceError(error), at: now)
  }

  private func connectionEnded(at now: Instant) {
    guard case .open = phase else {
      let place = input.isEmpty ? "before it answered" : "in the middle of its answer"
      let words = "the server closed the connection \(place)"
      return end(.network(words, input.isEmpty ? .noAnswer : nil), at: now)
    }
    if body?.isComplete == true { return inputEnded(.ended, at: now) }
    guard body?.endsWithConnection == true else {
      return inputEnded(.network("the connection ended in the middle of the stream"), at: now)
    }
    // TLS closes with an alert of its own, without which the stream has thrown an error instead.
    inputEnded(trail.url.isSecure ? .ended : .closed, at: now)
  }
}
