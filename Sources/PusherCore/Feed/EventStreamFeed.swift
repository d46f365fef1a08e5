/// The feed of an event stream: an event-source session over HTTP.
package final class EventStreamFeed: Feed {
  package let loop: EventLoop
  package var session: EventSourceSession
  package var connection: EventStreamFeedConnection?
  package var state = FeedState()
  fileprivate let destination: Destination
  fileprivate let settings: EventStreamSettings
  /// Keeps the context in the loop's cache between two connections.
  private let tls: TLSContext?
  fileprivate let sink: any EventSink
  fileprivate let parser: EventStreamParser
  /// The last `retry:` that the session knows, in milliseconds.
  private var knownReconnectionTime: Int?
  /// The status of the last answer, of any type; `nil` before the first.
  package fileprivate(set) var lastStatus: Int?
  package var delegate: (any FeedDelegate)?
  package var fieldSource: (any FieldSource)?
  /// The body of the last stream, if it ended without an event.
  package fileprivate(set) var eventlessBody: BodySample?
  /// The cookies to store and send; `nil` for none.
  package var cookies: CookieJar?
  /// The field of answers that names the session; `nil` to look for none.
  package var sessionField: SessionField?
  /// Called with the head of every answer.
  package var onHead: ((HTTPResponseHead) -> Void)?

  /// Creates a feed that starts after the event `lastEventID`, else after the event in the
  /// destination's fields.
  ///
  /// - Throws: ``TLSError`` if the trust roots cannot be read.
  package init(
    loop: EventLoop, destination: Destination, settings: EventStreamSettings,
    options: EventSourceOptions, lastEventID: String = "", sink: any EventSink
  ) throws(TLSError) {
    (self.loop, self.destination) = (loop, destination)
    (self.settings, self.sink) = (settings, sink)
    // If every request sent the field, the same events would come again.
    let first = lastEventID.isEmpty ? destination.headers["Last-Event-ID"] : lastEventID
    parser = EventStreamParser(limits: settings.limits, lastEventID: first ?? "")
    tls = try destination.tlsContext(loop, to: destination.url)
    session = EventSourceSession(options: options, random: SecureRandom.generator)
  }

  /// ID of the event after which the next request asks for the stream; may be empty.
  package var resumeID: String { parser.resumeID }

  /// The reason that no request can name the last event's ID; `nil` if one can.
  package var objectionToLastID: String? { EventID.objection(to: parser.lastEventID.utf8) }

  /// The format of the present body.
  package var bodyFormat: BodyFormat { parser.format }

  /// Calls `body` with the ID in place; the view is valid during the call.
  package func withLastEventID(_ body: (ByteView) -> Void) { body(parser.lastEventIDView) }

  /// Called with each comment; the view is valid during the call.
  package var commentHandler: ((ByteView) -> Void)? {
    get { parser.commentHandler }
    set { parser.commentHandler = newValue }
  }

  /// The wait before a new attempt: the stream's last `retry:`, else the option's.
  package var reconnectionTime: Duration {
    parser.reconnectionTime.map { .milliseconds($0) } ?? session.reconnectionTime
  }

  // MARK: Feed

  package var owner: (any FeedDelegate)? { delegate }

  package func forgetOwner() { delegate = nil }

  package func makeConnection() -> EventStreamFeedConnection {
    parser.reset()
    eventlessBody = nil
    return EventStreamFeedConnection(of: self)
  }

  package func forgetQuestions() {}

  package func perform(_ output: EventSourceOutput) {
    switch output {
    case .dial: dial()
    case .abort: dropConnection()
    case .report(let event): report(event)
    }
  }
}

extension EventStreamFeed {
  package func connectionDelivered(at now: Instant) { session.noteDelivery(at: now) }

  /// Takes the fields that have come so far.
  fileprivate func connectionReadFields() {
    guard let time = parser.reconnectionTime, time != knownReconnectionTime else { return }
    knownReconnectionTime = time
    perform { session, _ in session.setReconnectionTime(milliseconds: time) }
  }
}

/// One request for an event stream, with its redirects and the stream.
package final class EventStreamFeedConnection: FeedConnection {
  package let loop: EventLoop
  package var state = FeedConnectionState()
  package let input = ByteBuffer(capacity: FeedConnectionState.readSize + 16_384)
  /// Nothing is sent on an open stream.
  package let output = ByteBuffer()
  private let destination: Destination
  private let settings: EventStreamSettings
  private let parser: EventStreamParser
  private let sink: any EventSink
  private var askedURL: HTTPURL?
  /// ID of the event after which the last request asks for the stream.
  private var askedID: String?
  private var dropsBody = false
  private var body: HTTPBodyReader?
  private var decoder: ContentDecoder?
  /// The body before decompression.
  private let encoded = ByteBuffer()
  /// True if the rest of the body is unreadable.
  private var isBroken = false
  private var hasReceivedEvent = false
  /// Only needed until the first event.
  private var sample = BodySample(contentType: nil, format: .eventStream)
  /// The owner, kept until the end; a weak reference would slow every event.
  private var feed: EventStreamFeed?

  /// Its parser must be at the beginning of a stream.
  fileprivate init(of feed: EventStreamFeed) {
    (loop, settings, parser, sink) = (feed.loop, feed.settings, feed.parser, feed.sink)
    destination = feed.destination.adding(feed.state.refreshedHeaders)
    dropsBody = feed.session.isPrimed
    self.feed = feed
  }

  package func start() { start(to: destination) }

  package var owner: (any FeedConnectionDelegate)? { feed }
  package var openStage: ConnectionStage? { nil }

  package func forgetOwner() { feed = nil }

  package func close() { abort() }
  package func outputHasRoom(at now: Instant) {}

  // MARK: Request and head

  package var isUpgrade: Bool { false }

  package func request(_ trail: RedirectTrail, over route: Route) -> [UInt8]? {
    askedURL = trail.url
    var request = settings.request(
      trail, headers: destination.headers, dropsBody: dropsBody, lastEventID: parser.resumeID)
    if let cookie = feed?.cookies?.field(for: trail.url, at: SystemClock.wall()) {
      let typed = request.headers.all("Cookie")
      request.headers.replace("Cookie", with: (typed + [cookie]).joined(separator: "; "))
    }
    if let sessionField = feed?.sessionField, let value = sessionField.field(for: trail.url) {
      request.headers.replace(sessionField.name, with: value)
    }
    askedID = Resumption.asked(by: request.headers, request.url)
    let bytes: [UInt8]
    do throws(HTTPError) {
      bytes = try request.encode(over: route)
    } catch {
      end(.invalidRequest("\(error)"), at: loop.now)
      return nil
    }
    feed?.delegate?.feed(
      exchanged: "\(request.method) \(request.url.path)\(Self.shown(request.headers))", isSent: true
    )
    return bytes
  }

  package func openingReceived(_ head: HTTPResponseHead) {
    feed?.delegate?.feed(
      exchanged: "\(head.status) \(head.reason)\(Self.shown(head.headers))", isSent: false)
    if let askedURL {
      feed?.cookies?.store(head.headers, from: askedURL, at: SystemClock.wall())
      feed?.sessionField?.store(head.headers, from: askedURL)
    }
    feed?.lastStatus = head.status
    feed?.onHead?(head)
  }

  package func openingRedirected(status: Int, to place: String, at now: Instant) {
    // Browsers turn a POST into a GET, and for 303 any method (RFC 9110 section 15.4).
    if status == 303 || (status == 301 || status == 302) && settings.method == "POST" {
      dropsBody = true
    }
    feed?.connectionRedirected(status: status, to: place, at: now)
  }

  package func opening(_ opening: Opening, answered head: HTTPResponseHead, at now: Instant) {
    if head.status == 204 {
      let feed = feed
      abort()
      feed?.connection = nil
      feed?.perform { session, _ in session.finished() }
      return
    }
    do throws(ConnectionLoss) {
      try accept(head)
    } catch {
      return refuse(error, head, opening, to: settings.method, at: now)
    }
    open(opening, at: now)
    let resumption = Resumption(of: head.headers, asked: askedID)
    feed?.perform { $0.opened(at: $1, resumption) }
    drain(at: now)
  }

  /// Prepares to read the body; throws an error for an answer that the settings do not accept.
  private func accept(_ head: HTTPResponseHead) throws(ConnectionLoss) {
    guard head.status == 200 else { throw ConnectionLoss(refusal: head, at: SystemClock.wall()) }
    let type = head.headers["Content-Type"]
    guard let format = settings.accepts.format(of: type) else {
      throw .notAnEventStream(contentType: type)
    }
    parser.begin(format)
    sample = BodySample(contentType: type, format: format)
    do throws(HTTPError) {
      decoder = try head.headers.contentDecoder()
      body = try HTTPBodyReader(head, requestMethod: settings.method, limit: .max)
    } catch { throw .violation("\(error)") }
  }

  /// Returns the fields for a trace, without values that may be secret.
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

  // MARK: The stream

  package func streamEnded(at now: Instant) {
    if body?.isComplete == true { return broke(.ended, at: now) }
    guard body?.endsWithConnection == true else {
      return broke(.network("the connection ended in the middle of the stream"), at: now)
    }
    // TLS ends with an alert; without the alert the stream has already thrown an error.
    broke(state.isSecure ? .ended : .endedUnmarked, at: now)
  }

  package func drain(at now: Instant) {
    if state.refusal != nil { return readRefusal(at: now) }
    guard isOpen, let feed, !state.isDraining else { return }
    state.isDraining = true
    defer { state.isDraining = false }
    do throws(EventStreamError) {
      while !isPaused {
        if let event = try parser.next() {
          if !hasReceivedEvent {
            hasReceivedEvent = true
            feed.session.noteEvent()
          }
          if feed.session.takesAsPriming(event) { continue }
          if sink.take(event: event) == .takenAndFull { feed.connectionSinkIsFull() }
          // A handler may have ended the connection.
          guard isOpen else { return }
        } else if !fill() {
          if body?.isComplete == true { state.breakdown = state.breakdown ?? .ended }
          if completesEvent() { continue }
          // The fields come before the end, because the end asks for the reconnection time.
          feed.connectionReadFields()
          tellDelivered(to: feed, at: now)
          if let loss = state.breakdown { bodyEnded(loss, at: now) }
          return
        }
      }
    } catch {
      feed.connectionReadFields()
      end(.limit("\(error)"), at: now)
    }
  }

  /// Returns whether the end of the body completes its last event.
  private func completesEvent() -> Bool {
    switch state.breakdown {
    case .ended: parser.endBody(isMarked: true)
    case .endedUnmarked: parser.endBody(isMarked: false)
    default: false
    }
  }

  private func bodyEnded(_ loss: ConnectionLoss, at now: Instant) {
    let isEnd = loss == .ended || loss == .endedUnmarked
    let isEmpty = isEnd && !hasReceivedEvent
    // A page that is no event stream does not end inside an event.
    if parser.isInsideEvent, !(isEmpty && sample.isForeign) {
      return end(loss.insideEvent, at: now)
    }
    if isEmpty { feed?.eventlessBody = sample }
    end(loss, at: now)
  }

  /// Reports that all received events were handed out, if the stream is alive or ended properly.
  private func tellDelivered(to feed: EventStreamFeed, at now: Instant) {
    guard !state.isBehind, !parser.isInsideEvent else { return }
    switch state.breakdown {
    case nil: feed.connectionDelivered(at: state.lastRead ?? now)
    case .ended, .endedUnmarked: feed.connectionDelivered(at: now)
    default: break
    }
  }

  /// Moves received bytes to the parser, and returns whether any arrived before an error.
  private func fill() -> Bool {
    guard !isBroken else { return false }
    let before = parser.input.count
    do {
      try moveBody()
    } catch is ContentDecoder.InvalidData {
      bodyBroke("\(HTTPError.invalidCoding)")
    } catch { bodyBroke("\(error)") }
    let received = parser.input.view
    if !hasReceivedEvent { sample.note(received[before..<received.count]) }
    return received.count > before
  }

  private func moveBody() throws {
    guard let decoder else {
      _ = try body?.read(from: input, into: parser.input)
      return
    }
    if encoded.isEmpty { _ = try body?.read(from: input, into: encoded) }
    _ = try decoder.decode(from: encoded, into: parser.input, atMost: FeedConnectionState.readSize)
  }

  private func bodyBroke(_ what: String) {
    isBroken = true
    state.breakdown = .violation(what)
  }
}

/// Options of a request for an event stream, besides its ``Destination``.
///
/// The destination's user information becomes Basic authorisation. Its fields replace the standard
/// fields.
package struct EventStreamSettings: Sendable, Equatable {
  package var method: String
  package var body: [UInt8]
  package var acceptsCompression: Bool
  package var accepts: AcceptedAnswers
  package var limits: EventStreamLimits

  package init(
    method: String = "GET", body: [UInt8] = [], acceptsCompression: Bool = false,
    accepts: AcceptedAnswers = .eventStream, limits: EventStreamLimits = EventStreamLimits()
  ) {
    (self.method, self.body, self.acceptsCompression) = (method, body, acceptsCompression)
    (self.accepts, self.limits) = (accepts, limits)
  }

  /// Returns the request for the stream after `lastEventID`, which a field can hold (HTML section
  /// 9.2.3).
  ///
  /// - Parameter dropsBody: True if a redirect changed the method to GET (RFC 9110 section 15.4).
  func request(
    _ trail: RedirectTrail, headers: HTTPHeaders, dropsBody: Bool, lastEventID: String
  ) -> HTTPExchange.Request {
    var fields = HTTPHeaders()
    var given = trail.headers(headers)
    given.remove("Last-Event-ID")
    func add(_ name: String, _ value: String) {
      if given[name] == nil { fields.append(name, value) }
    }
    add("Accept", accepts.accept)
    // As browsers do in the cache mode "no-store" (Fetch section 4.5).
    add("Cache-Control", "no-cache")
    if acceptsCompression { add("Accept-Encoding", "gzip, deflate") }
    if !lastEventID.isEmpty { add("Last-Event-ID", lastEventID) }
    for field in given.fields {
      let isOfBody = field.name.lowercased().begins(with: "content-")
      if !(dropsBody && isOfBody) { fields.append(field.name, field.value) }
    }
    return HTTPExchange.Request(
      method: dropsBody ? "GET" : method, url: trail.url, headers: fields,
      body: dropsBody ? [] : body)
  }
}
