/// What a client tells its owner, on the loop's thread.
package protocol ChannelsClientDelegate: AnyObject {
  /// The tap has answered ``TapVerdict/takenAndFull``: time to pause the client, or to end it.
  func clientTapIsFull(_ client: ChannelsClient)

  /// An event for the user, under `name` when that differs from the message's own.
  func client(
    _ client: ChannelsClient, received event: Envelope, named name: String?, at now: Instant)

  /// Something happened to the connection or a channel.
  func client(_ client: ChannelsClient, reports event: SessionEvent, at now: Instant)

  /// The session has ended and the socket, if there was one, is closed.
  func clientClosed(_ client: ChannelsClient)

  /// A text message came that the tap declined; the view lasts for this call.
  func client(_ client: ChannelsClient, receives message: ByteView)

  /// A message goes out; it may hold a signature.
  func client(_ client: ChannelsClient, sends message: String)
}

/// A Pusher client on an event loop: wires the session to a link, an authoriser and the clock.
///
/// It belongs to the loop's thread.
package final class ChannelsClient {
  private let loop: EventLoop
  private let configuration: ClientConfiguration
  private let tls: TLSContext?
  private let authorizer: any ChannelAuthorizer
  private let authenticator: any UserAuthenticator
  private let tap: any MessageTap
  private var session: Session
  private var link: ServerLink?
  private var isDraining = false
  private var hasEnded = false
  /// Whether the session has ended and no socket is left.
  package private(set) var isClosed = false
  /// When the server was heard last, whatever it said; `nil` before that.
  package private(set) var heardAt: Instant?
  /// The owner, kept until the client is closed.
  ///
  /// It is no weak reference because those slow every event.
  package var delegate: (any ChannelsClientDelegate)?

  /// A client that has not dialled yet.
  ///
  /// - Throws: ``TLSError`` when the trust roots cannot be read.
  package init(
    loop: EventLoop, configuration: ClientConfiguration, options: SessionOptions,
    authorizer: any ChannelAuthorizer, authenticator: any UserAuthenticator = NoAuthorizer(),
    tap: any MessageTap
  ) throws(TLSError) {
    self.loop = loop
    self.configuration = configuration
    self.authorizer = authorizer
    self.authenticator = authenticator
    self.tap = tap
    tls =
      configuration.url.isSecure
      ? try TLSContext.client(configuration.tls, environment: configuration.trust) : nil
    session = Session(options: options, random: SecureRandom.generator)
  }

  /// Dials; wanted channels are joined as soon as there is a connection.
  package func connect() {
    loop.add(self)
    perform { $0.connect(at: $1) }
  }

  package func subscribe(_ channel: String) {
    perform { $0.subscribe(channel, at: $1) }
  }

  /// Tells the server who the user is, on this connection and every later one; the user's events come on the
  /// ``UserChannel``.
  package func signIn() {
    perform { $0.signIn(at: $1) }
  }

  package func unsubscribe(_ channel: String) {
    perform { $0.unsubscribe(channel, at: $1) }
  }

  /// Sends a client event; answers false while its channel is not subscribed.
  package func trigger(_ event: ClientEvent) -> Bool {
    var isSent = false
    perform { session, _ in isSent = session.trigger(event) }
    return isSent
  }

  /// Moves the attempt to connect that is waited for.
  package func retry(in delay: Duration) {
    perform { $0.retry(in: delay, at: $1) }
  }

  /// Ends from any state, with a close frame where there is a socket.
  package func disconnect() {
    perform { $0.disconnect(at: $1) }
  }

  /// Drops what is left of the socket after ``disconnect()``, when the goodbye takes too long.
  package func abort() {
    disconnect()
    dropLink()
  }

  /// Whether the server has confirmed every channel.
  package var isFullySubscribed: Bool { session.isFullySubscribed }

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
  private func perform(_ input: (inout Session, Instant) -> Void) {
    input(&session, loop.now)
    drain()
  }

  private func drain() {
    // Performing an output may be an input again; the outermost call drains for all.
    guard !isDraining else { return }
    isDraining = true
    defer { isDraining = false }
    while let output = session.nextOutput() { perform(output) }
  }

  private func perform(_ output: SessionOutput) {
    switch output {
    case .dial:
      dropLink()
      let link = ServerLink(
        loop: loop, configuration: configuration, tls: tls, tap: tap, delegate: self)
      link.isPaused = isPaused
      self.link = link
      link.start()
    case .send(let text):
      delegate?.client(self, sends: text)
      link?.send(text)
    case .answerPing(let text):
      if link?.answerPing(text) == true { delegate?.client(self, sends: text) }
    case .authorize(let request):
      // Whoever signs, here, at an endpoint or in a command, is asked for ids alone.
      guard SocketID.isValid(request.socketID) else {
        return perform { $0.authorized(request, .failure(.foreignSocketID), at: $1) }
      }
      authorizer.authorize(request) { [unowned self] result in
        perform { $0.authorized(request, result, at: $1) }
      }
    case .authenticate(let request):
      guard SocketID.isValid(request.socketID) else {
        return perform { $0.authenticated(request, .failure(.foreignSocketID), at: $1) }
      }
      authenticator.authenticate(request) { [unowned self] result in
        perform { $0.authenticated(request, result, at: $1) }
      }
    case .deliver(let message): deliver(message)
    case .close:
      cancelQuestions()
      link?.close()
    case .abort: dropLink()
    case .report(let event):
      delegate?.client(self, reports: event, at: loop.now)
      if case .ended = event {
        hasEnded = true
        closeIfEnded()
      }
    }
  }

  private func deliver(_ message: [UInt8]) {
    let buffer = ByteBuffer(capacity: message.count)
    buffer.append(message)
    withExtendedLifetime(buffer) {
      guard let envelope = try? Envelope(buffer.view, isDecrypted: true) else { return }
      delegate?.client(self, received: envelope, named: nil, at: loop.now)
    }
  }

  private func cancelQuestions() {
    authorizer.cancelAll()
    authenticator.cancelAll()
  }

  private func dropLink() {
    cancelQuestions()
    link?.abort()
    link = nil
    closeIfEnded()
  }

  private func closeIfEnded() {
    guard hasEnded, link == nil, !isClosed else { return }
    isClosed = true
    loop.remove(self)
    let delegate = delegate
    self.delegate = nil
    delegate?.clientClosed(self)
  }
}

extension ChannelsClient: LoopSource {
  package var interest: LoopInterest {
    LoopInterest(deadline: session.deadline)
  }

  package func ready(_ events: PollEvents, at now: Instant) {}

  package func expired(at now: Instant) {
    let stage = link?.stage
    perform { $0.tick(at: $1, stage: stage) }
  }
}

extension ChannelsClient: ServerLinkDelegate {
  func linkReceivedBytes(at now: Instant) {
    heardAt = now
    session.noteActivity(at: now)
  }

  func linkDelivered(at now: Instant) {
    session.noteDelivery(at: now)
  }

  func linkUpgraded(at now: Instant) {}

  func linkRedirected(status: Int, to place: String, at now: Instant) {
    perform { session, _ in session.redirected(status: status, to: place) }
  }

  func linkTapIsFull(at now: Instant) {
    delegate?.clientTapIsFull(self)
  }

  func linkReceived(text: ByteView, at now: Instant) {
    delegate?.client(self, receives: text)
    switch session.receive(text, at: now) {
    case .event(let envelope, let name):
      delegate?.client(self, received: envelope, named: name, at: now)
    case .handled: drain()
    }
  }

  func linkReceived(binary: ByteView, at now: Instant) {
    perform { session, now in session.receivedBinary(binary, at: now) }
  }

  func linkEnded(_ loss: ConnectionLoss, at now: Instant) {
    cancelQuestions()
    link = nil
    perform { $0.lost(loss, at: $1) }
    closeIfEnded()
  }
}
