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
    case .deliver(let message, let isDecrypted):
      Envelope.with(message, isDecrypted: isDecrypted) {
        delegate?.feed(received: $0, named: nil, at: loop.now)
      }
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

package protocol WebSocketFeedConnectionDelegate: FeedConnectionDelegate {
  func connectionUpgraded(at now: Instant)
  /// The sink declined a complete text message; the view is valid during this call.
  func connectionReceived(text: ByteView, at now: Instant)
  func connectionReceived(binary: ByteView, at now: Instant)
}

/// One WebSocket connection to a server: opening, messages, end.
package final class WebSocketFeedConnection: FeedConnection {
  /// A server that pings without reading must not cost memory: above this size, pongs wait.
  private static let answerThreshold = 64 << 10

  package let loop: EventLoop
  package var state = FeedConnectionState()
  package let input = ByteBuffer(capacity: FeedConnectionState.readSize + 16_384)
  private let destination: Destination
  private let settings: WebSocketSettings
  private let sink: (any EventSink)?
  private var handshake: ClientHandshake?
  private var socket: WebSocketConnection?
  /// Stands for the output before the socket is open.
  private let nothing = ByteBuffer(capacity: 1)
  /// The owner, kept until the end; a weak reference would slow every call on the hot path.
  private var delegate: (any WebSocketFeedConnectionDelegate)?
  private var hasReceivedMessage = false
  /// The answer to the latest ping, held back because the output was full.
  private var owedAnswer: String?

  /// - Parameter sink: Handles each text message first; `nil` for none.
  package init(
    loop: EventLoop, destination: Destination, settings: WebSocketSettings,
    sink: (any EventSink)?, delegate: any WebSocketFeedConnectionDelegate
  ) {
    (self.loop, self.destination, self.settings) = (loop, destination, settings)
    (self.sink, self.delegate) = (sink, delegate)
  }

  package func start() { start(to: destination) }

  package var output: ByteBuffer { socket?.output ?? nothing }
  package var owner: (any FeedConnectionDelegate)? { delegate }
  package var openStage: ConnectionStage? {
    state.refusal == nil ? .greeting : .upgrading(received: input.count)
  }

  package func forgetOwner() { delegate = nil }

  package func send(_ text: String) { send { $0.send(text: text) } }

  /// Sends one message with `body`; does nothing before the upgrade or after the end.
  package func send(_ body: (WebSocketConnection) -> Void) {
    guard isOpen, let socket else { return }
    body(socket)
    flush()
  }

  /// Answers a ping now or after the output has room; returns whether the answer was sent.
  func answerPing(_ text: String) -> Bool {
    guard isOpen, let socket else { return false }
    guard socket.output.count <= Self.answerThreshold else {
      // Only the latest of several pings needs an answer (RFC 6455 section 5.5.3).
      owedAnswer = text
      return false
    }
    owedAnswer = nil
    send(text)
    return true
  }

  /// Sends a close frame and waits for the server's; the owner limits the wait.
  package func close() {
    guard isOpen, let socket else { return abort() }
    socket.close(.normal, reason: "")
    isPaused = false
    flush()
  }

  // MARK: The upgrade

  package var isUpgrade: Bool { true }

  package func request(_ trail: RedirectTrail, over route: Route) -> [UInt8]? {
    let handshake = ClientHandshake(
      url: trail.url, headers: trail.headers(destination.headers),
      subprotocols: settings.subprotocols, deflate: settings.compressionOffer != nil,
      offers: settings.compressionOffer ?? "", key: SecureRandom.bytes(16))
    self.handshake = handshake
    do throws(HTTPError) {
      return try handshake.request()
    } catch {
      end(.dropped("cannot request the upgrade: \(error)"), at: loop.now)
      return nil
    }
  }

  package func opening(_ opening: Opening, answered head: HTTPResponseHead, at now: Instant) {
    guard let handshake else { return }
    do throws(HandshakeError) {
      let negotiated = try handshake.accept(head)
      open(opening, at: now)
      socket = WebSocketConnection(
        role: .client, deflate: negotiated.deflate, limits: settings.limits,
        random: SecureRandom.generator, input: input)
      delegate?.connectionUpgraded(at: now)
      drain(at: now)
    } catch {
      let loss = ConnectionLoss(upgradeFailure: error, at: SystemClock.wall())
      refuse(loss, head, opening, to: "GET", at: now)
    }
  }

  /// Returns the refusal of a server that first agreed to the upgrade, as when its app fails.
  private func secondAnswer() -> ConnectionLoss? {
    guard !hasReceivedMessage, input.view.begins(with: "HTTP/1.") else { return nil }
    var parser = HTTPHeadParser()
    guard let head = try? parser.response(from: input), head.status >= 300 else { return nil }
    return .refused(
      status: head.status, reason: "\(head.reason), after it had agreed to the upgrade")
  }

  // MARK: Messages

  package func streamEnded(at now: Instant) {
    socket?.inputEnded()
    drain(at: now)
  }

  package func outputHasRoom(at now: Instant) {
    if let owedAnswer { _ = answerPing(owedAnswer) }
    // A WebSocket ping may have waited for room too.
    drain(at: now)
  }

  package func drain(at now: Instant) {
    if state.refusal != nil { return readRefusal(at: now) }
    guard isOpen, let socket, let delegate, !state.isDraining else { return }
    state.isDraining = true
    defer { state.isDraining = false }
    var hasDelivered = false
    while !isPaused || state.breakdown != nil, let event = socket.next() {
      hasDelivered = true
      defer { hasReceivedMessage = true }
      switch event {
      case .text(let text):
        switch sink?.take(message: text) ?? .declined {
        case .taken: continue
        case .takenAndFull: delegate.connectionSinkIsFull()
        case .declined: delegate.connectionReceived(text: text, at: now)
        }
      case .binary(let bytes): delegate.connectionReceived(binary: bytes, at: now)
      case .ping, .pong: break
      case .closed(let code, let reason):
        flush()
        // All messages before the close frame have come.
        if !state.isBehind, let lastRead = state.lastRead {
          delegate.connectionDelivered(at: lastRead)
        }
        end(.closed(code: code.map { Int($0.rawValue) }, reason: reason), at: now)
      case .failed(let error):
        flush()
        end(secondAnswer() ?? ConnectionLoss(error), at: now)
      }
      // A handler may have ended the connection.
      guard isOpen else { return }
    }
    if hasDelivered, !state.isBehind, let lastRead = state.lastRead {
      delegate.connectionDelivered(at: lastRead)
    }
    flush()
    if let breakdown = state.breakdown { end(breakdown, at: now) }
  }
}

/// Options of a WebSocket request, besides its ``Destination``.
package struct WebSocketSettings: Sendable, Equatable {
  /// Subprotocols to offer, the preferred one first; most servers need none.
  package var subprotocols: [String]
  /// The offer of permessage-deflate, as in `Sec-WebSocket-Extensions`; `nil` for none.
  package var compressionOffer: String?
  package var limits: WebSocketLimits

  package init(
    subprotocols: [String] = [], compressionOffer: String? = PerMessageDeflate.offer,
    limits: WebSocketLimits = WebSocketLimits()
  ) {
    (self.subprotocols, self.compressionOffer) = (subprotocols, compressionOffer)
    self.limits = limits
  }
}
