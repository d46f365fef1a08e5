package protocol ChannelsFeedDelegate: FeedDelegate {
  /// The sink declined an event for the user; `name` is `nil` if it is the message's own.
  func feed(received event: Envelope, named name: String?, at now: Instant)

  /// Reports a change of a channel, the user or the protocol, but not of the connection.
  func feed(reports event: SessionEvent, at now: Instant)
}

/// Authorises subscriptions of a socket, and identifies its user.
package protocol Signer: AnyObject {
  typealias Completion = (Authorization.Result) -> Void

  /// Calls `completion` on the loop's thread, at once or later, exactly once unless cancelled.
  func sign(_ request: AuthorizationRequest, completion: @escaping Completion)

  /// Cancels all open requests; their completions are not called.
  func cancelAll()
}

extension AuthorizationFailure {
  /// A server that chooses the signed text could have us sign a call of the HTTP API.
  static let foreignSocketID = AuthorizationFailure.unusable(
    "cannot sign: the server's socket id is not two numbers with a dot")
}

/// The feed of a Pusher service: a session over WebSocket connections, with a signer.
package final class ChannelsFeed: Feed {
  package let loop: EventLoop
  package var session: Session
  package var connection: WebSocketFeedConnection?
  package var state = FeedState()
  private var destination: Destination
  private var settings: WebSocketSettings
  /// Keeps the context in the loop's cache between two connections.
  private var tls: TLSContext?
  private var signer: any Signer
  private var sink: any EventSink
  /// The owner, kept until the feed is closed; a weak reference would slow every event.
  package var delegate: (any ChannelsFeedDelegate)?
  package var fieldSource: (any FieldSource)?

  /// - Throws: ``TLSError`` if the trust roots cannot be read.
  package init(
    loop: EventLoop, destination: Destination, settings: WebSocketSettings = WebSocketSettings(),
    options: SessionOptions, signer: any Signer, sink: any EventSink
  ) throws(TLSError) {
    (self.loop, self.destination, self.settings) = (loop, destination, settings)
    (self.signer, self.sink) = (signer, sink)
    tls = try destination.tlsContext(loop, to: destination.url)
    session = Session(options: options, random: SecureRandom.generator)
  }

  /// Moves to another server, app or signer; `reason` says why.
  ///
  /// Channels and user stay wanted.
  ///
  /// - Throws: ``TLSError`` if the trust roots cannot be read; then nothing has changed.
  package func move(
    to destination: Destination, settings: WebSocketSettings, options: SessionOptions,
    signer: any Signer, sink: any EventSink, reason: String
  ) throws(TLSError) {
    let tls = try destination.tlsContext(loop, to: destination.url)
    self.signer.cancelAll()
    forgetRefreshedHeaders()
    (self.tls, self.destination, self.settings) = (tls, destination, settings)
    (self.signer, self.sink) = (signer, sink)
    perform { $0.move(to: options, reason: reason, at: $1) }
  }

  package func subscribe(_ channel: String) { perform { $0.subscribe(channel, at: $1) } }

  package func unsubscribe(_ channel: String) { perform { $0.unsubscribe(channel, at: $1) } }

  /// Signs the user in, on this connection and every later one.
  package func signIn() { perform { $0.signIn(at: $1) } }

  /// Sends a client event; returns false while its channel is not subscribed.
  package func trigger(_ event: ClientEvent) -> Bool {
    var isSent = false
    perform { session, now in isSent = session.trigger(event, at: now) }
    return isSent
  }

  /// Maximum size of waiting output before further events should wait, in bytes.
  private static let outputThreshold = 64 << 10

  /// True if the output has room for further events.
  package var hasOutputRoom: Bool { (connection?.output.count ?? 0) <= Self.outputThreshold }

  /// True if the system has taken everything that was sent.
  package var hasSentAll: Bool { connection?.output.isEmpty ?? true }

  package func retry(in delay: Duration) { perform { $0.retry(in: delay, at: $1) } }

  // MARK: Feed

  package var owner: (any FeedDelegate)? { delegate }

  package func forgetOwner() { delegate = nil }

  package func makeConnection() -> WebSocketFeedConnection {
    WebSocketFeedConnection(
      loop: loop, destination: destination.adding(state.refreshedHeaders), settings: settings,
      sink: sink, delegate: self)
  }

  package func forgetQuestions() { signer.cancelAll() }

  package func perform(_ output: SessionOutput) {
    switch output {
    case .dial: dial()
    case .close: closeConnection()
    case .abort: dropConnection()
    case .report(.connection(let event)): report(event)
    case .report(let event): delegate?.feed(reports: event, at: loop.now)
    case .send(let text):
      delegate?.feed(exchanged: text, isSent: true)
      connection?.send(text)
    case .answerPing(let text):
      if connection?.answerPing(text) == true { delegate?.feed(exchanged: text, isSent: true) }
    case .authorize(let request): authorize(request)
    case .deliver(let message): deliver(message)
    }
  }

  private func authorize(_ request: AuthorizationRequest) {
    // Only a valid socket id goes to the signer.
    guard SocketID.isValid(request.socketID) else {
      return perform { $0.authorized(request, .failure(.foreignSocketID), at: $1) }
    }
    signer.sign(request) { [unowned self] result in
      perform { $0.authorized(request, result, at: $1) }
    }
  }

  private func deliver(_ message: [UInt8]) {
    Envelope.with(message, isDecrypted: true) {
      delegate?.feed(received: $0, named: nil, at: loop.now)
    }
  }
}

extension ChannelsFeed: WebSocketFeedConnectionDelegate {
  package func connectionUpgraded(at now: Instant) { report(.upgraded) }
  package func connectionDelivered(at now: Instant) { session.noteDelivery(at: now) }

  package func connectionReceived(text: ByteView, at now: Instant) {
    delegate?.feed(exchanged: text.text, isSent: false)
    switch session.receive(text, at: now) {
    case .event(let envelope, let name): delegate?.feed(received: envelope, named: name, at: now)
    case .handled: drain()
    }
  }

  package func connectionReceived(binary: ByteView, at now: Instant) {
    perform { session, now in session.receivedBinary(binary, at: now) }
  }
}
