/// What a client of an event stream tells its owner, on the loop's thread.
package protocol EventStreamClientDelegate: AnyObject {
  /// An event came; its views last for this call.
  func client(_ client: EventStreamClient, received event: EventStreamEvent, at now: Instant)

  /// Something happened to the stream.
  func client(_ client: EventStreamClient, reports event: EventSourceReport, at now: Instant)

  /// A head went out or came in; its secrets are left out.
  func client(_ client: EventStreamClient, exchanged head: String, isRequest: Bool)

  /// The session has ended and the socket, if there was one, is closed.
  func clientClosed(_ client: EventStreamClient)
}

/// A client of an event stream on an event loop: wires the session to a link and the clock.
///
/// It belongs to the loop's thread.
package final class EventStreamClient {
  private let loop: EventLoop
  private let configuration: EventStreamConfiguration
  private let tls: TLSContext?
  private let parser: EventStreamParser
  private var session: EventSourceSession
  private var link: EventStreamLink?
  private var isDraining = false
  /// What the session was told of the wait before a new attempt, in milliseconds.
  private var knownReconnectionTime: Int?
  /// Whether the session knows that the present stream has brought an event.
  private var hasNotedEvent = false
  /// The status of the last answer that came, whatever its type; `nil` before the first.
  package private(set) var lastStatus: Int?
  /// Whether the session has ended and no socket is left.
  package private(set) var isClosed = false
  /// When the server was heard last, whatever it said; `nil` before that.
  package private(set) var heardAt: Instant?
  /// The owner, kept until the client is closed.
  package var delegate: (any EventStreamClientDelegate)?

  /// A client that has not dialled yet; it begins behind the event `lastEventID`, else behind the one that
  /// the configuration's fields name.
  ///
  /// - Throws: ``TLSError`` when the trust roots cannot be read.
  package init(
    loop: EventLoop, configuration: EventStreamConfiguration, options: EventSourceOptions,
    lastEventID: String = ""
  ) throws(TLSError) {
    self.loop = loop
    self.configuration = configuration
    // Among the fields it says where to begin; sent with every request it would bring the same events again.
    let first = lastEventID.isEmpty ? configuration.headers["Last-Event-ID"] : lastEventID
    parser = EventStreamParser(limits: configuration.limits, lastEventID: first ?? "")
    tls =
      configuration.url.isSecure
      ? try TLSContext.client(configuration.tls, environment: configuration.trust) : nil
    session = EventSourceSession(options: options, random: SecureRandom.generator)
  }

  /// Asks for the stream.
  package func connect() {
    loop.add(self)
    perform { $0.connect(at: $1) }
  }

  /// Ends from any state.
  package func disconnect() {
    perform { session, _ in session.disconnect() }
  }

  /// The ID of the last event that came; empty when there is none.
  package var lastEventID: String { parser.lastEventID }

  /// The same in place, for the time of the call.
  package func withLastEventID(_ body: (ByteView) -> Void) {
    body(parser.lastEventIDView)
  }

  /// The wait before a new attempt: the one that the stream has named last, or the option's.
  package var reconnectionTime: Duration {
    parser.reconnectionTime.map { .milliseconds($0) } ?? session.reconnectionTime
  }

  /// Set while nobody takes what is received: the socket is then left unread.
  package var isPaused = false {
    didSet {
      guard isPaused != oldValue else { return }
      session.setReadingPaused(isPaused, at: loop.now)
      if isPaused {
        link?.isPaused = true
      } else {
        link?.resume()
      }
    }
  }

  /// One input for the session, then everything that follows from it.
  private func perform(_ input: (inout EventSourceSession, Instant) -> Void) {
    input(&session, loop.now)
    // Performing an output may be an input again; the outermost call drains for all.
    guard !isDraining else { return }
    isDraining = true
    defer { isDraining = false }
    while let output = session.nextOutput() { perform(output) }
  }

  private func perform(_ output: EventSourceOutput) {
    switch output {
    case .dial:
      link?.abort()
      parser.reset()
      hasNotedEvent = false
      let link = EventStreamLink(
        loop: loop, configuration: configuration, tls: tls, parser: parser, delegate: self)
      link.isPaused = isPaused
      self.link = link
      link.start()
    case .abort:
      link?.abort()
      link = nil
    case .report(let event):
      delegate?.client(self, reports: event, at: loop.now)
      if case .ended = event { close() }
    }
  }

  private func close() {
    guard !isClosed else { return }
    link?.abort()
    link = nil
    isClosed = true
    loop.remove(self)
    let delegate = delegate
    self.delegate = nil
    delegate?.clientClosed(self)
  }
}

extension EventStreamClient: LoopSource {
  package var interest: LoopInterest { LoopInterest(deadline: session.deadline) }

  package func ready(_ events: PollEvents, at now: Instant) {}

  package func expired(at now: Instant) {
    perform { $0.tick(at: $1) }
  }
}

extension EventStreamClient: EventStreamLinkDelegate {
  func linkReceivedBytes(at now: Instant) {
    heardAt = now
    session.noteActivity(at: now)
  }

  func linkRedirected(status: Int, to place: String, at now: Instant) {
    perform { session, _ in session.redirected(status: status, to: place) }
  }

  func linkExchanged(head: String, isRequest: Bool) {
    delegate?.client(self, exchanged: head, isRequest: isRequest)
  }

  func linkAnswered(status: Int) {
    lastStatus = status
  }

  func linkDrained() {
    guard let time = parser.reconnectionTime, time != knownReconnectionTime else { return }
    knownReconnectionTime = time
    perform { session, _ in session.setReconnectionTime(milliseconds: time) }
  }

  func linkOpened(at now: Instant) {
    perform { $0.opened(at: $1) }
  }

  func linkFinished(at now: Instant) {
    link = nil
    perform { session, _ in session.finished() }
  }

  func linkReceived(_ event: EventStreamEvent, at now: Instant) {
    if !hasNotedEvent {
      hasNotedEvent = true
      session.noteEvent()
    }
    delegate?.client(self, received: event, at: now)
  }

  func linkEnded(_ error: EventSourceError, at now: Instant) {
    link = nil
    // An error may have come before the link had handed out all there was.
    linkDrained()
    perform { $0.lost(error, at: $1) }
  }
}
