/// The owner of a WebSocket connection.
package protocol WebSocketFeedConnectionDelegate: FeedConnectionDelegate {
  /// The server has agreed to the upgrade.
  func connectionUpgraded(at now: Instant)
  /// A complete text message that the tap declined; the view lasts for this call.
  func connectionReceived(text: ByteView, at now: Instant)
  /// A binary message; the view lasts for this call.
  func connectionReceived(binary: ByteView, at now: Instant)
}

/// One WebSocket connection to a server: opening, messages, end.
package final class WebSocketFeedConnection: FeedConnection {
  /// Bytes of output above which answers to pings wait: a server that pings and does not read must not cost memory.
  private static let answerThreshold = 64 << 10

  package let loop: EventLoop
  package var state = FeedConnectionState()
  package let input = ByteBuffer(capacity: FeedConnectionState.readSize + 16_384)
  private let destination: Destination
  private let settings: WebSocketSettings
  private let tls: TLSContext?
  private let tap: (any FeedTap)?
  private var handshake: ClientHandshake?
  private var socket: WebSocketConnection?
  /// What waits to be sent before there is a socket.
  private let nothing = ByteBuffer(capacity: 1)
  /// The owner, kept until the end.
  ///
  /// It is not a weak reference, because that would slow every call on the hot path.
  private var delegate: (any WebSocketFeedConnectionDelegate)?
  private var hasReceivedMessage = false
  /// The answer to the latest ping, held back because the output was full.
  private var owedAnswer: String?

  /// - Parameter tap: Sees each text message first; `nil` for none.
  package init(
    loop: EventLoop, destination: Destination, settings: WebSocketSettings, tls: TLSContext?,
    tap: (any FeedTap)?, delegate: any WebSocketFeedConnectionDelegate
  ) {
    (self.loop, self.destination, self.settings) = (loop, destination, settings)
    (self.tls, self.tap, self.delegate) = (tls, tap, delegate)
  }

  /// Dials; every report comes from inside the loop.
  package func start() {
    start(to: destination, tls: tls, isUpgrade: true)
  }

  package var output: ByteBuffer { socket?.output ?? nothing }
  package var owner: (any FeedConnectionDelegate)? { delegate }
  package var openStage: ConnectionStage? { .greeting }

  package func forgetOwner() {
    delegate = nil
  }

  /// Sends a text message; does nothing before the upgrade or after the end.
  package func send(_ text: String) {
    send { $0.send(text: text) }
  }

  /// Sends one message by `body`; does nothing before the upgrade or after the end.
  package func send(_ body: (WebSocketConnection) -> Void) {
    guard isOpen, let socket else { return }
    body(socket)
    flush()
  }

  /// Answers a ping of the server, now or once the output has room.
  ///
  /// - Returns: Whether the answer is on its way.
  func answerPing(_ text: String) -> Bool {
    guard isOpen, let socket else { return false }
    guard socket.output.count <= Self.answerThreshold else {
      // As with WebSocket pings, only the latest of several needs an answer (RFC 6455 section 5.5.3).
      owedAnswer = text
      return false
    }
    owedAnswer = nil
    send(text)
    return true
  }

  /// Sends a close frame and waits for the server's; the owner limits how long.
  package func close() {
    guard isOpen, let socket else { return abort() }
    socket.close(.normal, reason: "")
    isPaused = false
    flush()
  }

  // MARK: The upgrade

  package func request(_ trail: RedirectTrail, over route: Route) throws(ConnectionLoss) -> [UInt8]
  {
    let handshake = ClientHandshake(
      url: trail.url, headers: trail.headers(destination.headers),
      subprotocols: settings.subprotocols, deflate: settings.compressionOffer != nil,
      offers: settings.compressionOffer ?? "", key: SecureRandom.bytes(16))
    self.handshake = handshake
    do throws(HTTPError) {
      return try handshake.request()
    } catch {
      throw .dropped("cannot ask for the upgrade: \(error)")
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
      end(ConnectionLoss(upgradeFailure: error, at: SystemClock.wall()), at: now)
    }
  }

  /// The second answer of a server that agreed to the upgrade and then refuses it, as happens when its application
  /// fails.
  private func secondAnswer() -> ConnectionLoss? {
    guard !hasReceivedMessage, input.view.begins(with: "HTTP/1.") else { return nil }
    var parser = HTTPHeadParser(limits: HTTPHeadLimits())
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
    // A ping of WebSocket may have waited for room too.
    drain(at: now)
  }

  package func drain(at now: Instant) {
    guard isOpen, let socket, let delegate, !state.isDraining else { return }
    state.isDraining = true
    defer { state.isDraining = false }
    var hasDelivered = false
    while !isPaused || state.breakdown != nil, let event = socket.next() {
      hasDelivered = true
      defer { hasReceivedMessage = true }
      switch event {
      case .text(let text):
        switch tap?.take(message: text) ?? .declined {
        case .taken: continue
        case .takenAndFull: delegate.connectionTapIsFull()
        case .declined: delegate.connectionReceived(text: text, at: now)
        }
      case .binary(let bytes): delegate.connectionReceived(binary: bytes, at: now)
      case .ping, .pong: break
      case .closed(let code, let reason):
        flush()
        // Everything that the server sent before its close frame has come.
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
