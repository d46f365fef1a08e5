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
