/// The feed of an event stream: an event-source session over HTTP.
package final class EventStreamFeed: Feed {
  package let loop: EventLoop
  package var session: EventSourceSession
  package var connection: EventStreamFeedConnection?
  package var state = FeedState()
  private let destination: Destination
  private let settings: EventStreamSettings
  /// Keeps the context in the loop's cache between two connections.
  private let tls: TLSContext?
  private let sink: any EventSink
  private let parser: EventStreamParser
  /// The last `retry:` that the session knows, in milliseconds.
  private var knownReconnectionTime: Int?
  /// The status of the last answer, of any type; `nil` before the first.
  package private(set) var lastStatus: Int?
  package var delegate: (any FeedDelegate)?
  package var fieldSource: (any FieldSource)?
  /// The body of the last stream, if it ended without an event.
  package private(set) var eventlessBody: BodySample?
  /// The cookies to store and send; `nil` for none.
  package var cookies: CookieJar?
  /// The field of answers that names the session; `nil` to look for none.
  package var sessionField: SessionField?

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
    return EventStreamFeedConnection(
      loop: loop, destination: destination.adding(state.refreshedHeaders), settings: settings,
      parser: parser, sink: sink, cookies: cookies, sessionField: sessionField,
      delegate: self)
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

extension EventStreamFeed: EventStreamFeedConnectionDelegate {
  package func connectionExchanged(head: String, isRequest: Bool) {
    delegate?.feed(exchanged: head, isSent: isRequest)
  }

  package func connectionAnswered(status: Int) { lastStatus = status }

  package func connectionOpened(_ resumption: Resumption?, at now: Instant) {
    perform { $0.opened(at: $1, resumption) }
  }

  package func connectionFinished(at now: Instant) {
    connection = nil
    perform { session, _ in session.finished() }
  }

  package func connectionReceivedEvent() { session.noteEvent() }
  package func connectionHeldNoEvent(_ body: BodySample) { eventlessBody = body }
  package func connectionDelivered(at now: Instant) { session.noteDelivery(at: now) }

  package func connectionReadFields() {
    guard let time = parser.reconnectionTime, time != knownReconnectionTime else { return }
    knownReconnectionTime = time
    perform { session, _ in session.setReconnectionTime(milliseconds: time) }
  }
}
