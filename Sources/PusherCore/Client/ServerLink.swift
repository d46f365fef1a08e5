/// What a link tells the client.
protocol ServerLinkDelegate: AnyObject {
  /// Bytes came in, of whatever kind.
  func linkReceivedBytes(at now: Instant)
  /// Every message that had come by `now` was handed out.
  func linkDelivered(at now: Instant)
  /// The server agreed to speak WebSocket.
  func linkUpgraded(at now: Instant)
  /// The server sent the upgrade elsewhere, and that place is dialled now.
  func linkRedirected(status: Int, to place: String, at now: Instant)
  /// The tap wants no more for now.
  func linkTapIsFull(at now: Instant)
  /// A complete text message that the tap declined; the view lasts for this call.
  func linkReceived(text: ByteView, at now: Instant)
  /// A binary message, which the protocol does not know.
  func linkReceived(binary: ByteView, at now: Instant)
  /// The link is over; it says nothing more.
  func linkEnded(_ loss: ConnectionLoss, at now: Instant)
}

/// One connection to the server: dial, upgrade, frames, end; a redirected upgrade is dialled anew.
///
/// It is used once and belongs to the loop's thread.
final class ServerLink {
  private enum Phase {
    case dialling
    case upgrading(ClientHandshake)
    case open(WebSocketConnection)
    case ended
  }

  /// How much is read at a time; also what one burst may cost before the output is flushed.
  private static let readSize = 256 << 10

  /// Bytes of output above which answers to pings wait: a server that pings and does not read must not cost memory.
  private static let answerThreshold = 64 << 10

  private let configuration: ClientConfiguration
  private var tls: TLSContext?
  private var trail: RedirectTrail
  private let tap: any MessageTap
  private let loop: EventLoop
  private var stream: SocketStream?
  private let input = ByteBuffer(capacity: readSize + 16_384)
  private let output = ByteBuffer()
  private var headParser = HTTPHeadParser(limits: HTTPHeadLimits())
  private var phase = Phase.dialling
  /// The owner, kept until the end.
  ///
  /// It is no weak reference because those slow every call on the hot path.
  private var delegate: (any ServerLinkDelegate)?
  /// Why the socket broke while messages from it were still to be handed out.
  private var breakdown: ConnectionLoss?
  private var isDraining = false
  private var hasReceivedMessage = false
  /// Whether messages may wait in the socket since a time when it was left unread.
  private var isBehind = false
  /// The answer to the latest ping, held back because the output was full.
  private var owedAnswer: String?
  /// When bytes last came.
  private var lastRead: Instant?
  /// Set to leave what comes unread, for as long as nobody takes what was read.
  var isPaused = false {
    didSet {
      stream?.wantsRead = !isPaused
      if isPaused { isBehind = true }
    }
  }

  init(
    loop: EventLoop, configuration: ClientConfiguration, tls: TLSContext?, tap: any MessageTap,
    delegate: any ServerLinkDelegate
  ) {
    self.loop = loop
    self.delegate = delegate
    self.configuration = configuration
    self.tls = tls
    self.tap = tap
    trail = RedirectTrail(url: configuration.url)
  }

  /// Dials; every answer comes from inside the loop.
  func start() {
    let stream = SocketStream.connect(
      loop: loop, to: configuration.routing.route(to: trail.url),
      tls: trail.url.isSecure ? tls : nil, delegate: self)
    stream.wantsRead = !isPaused
    stream.readsOnWhenBroken = true
    self.stream = stream
  }

  /// How far the attempt to connect has come; `nil` before and after it.
  var stage: ConnectionStage? {
    switch phase {
    case .dialling: stream?.stage
    case .upgrading: .upgrading(received: input.count)
    case .open: .greeting
    case .ended: nil
    }
  }

  /// Sends a text message; does nothing before the upgrade or after the end.
  func send(_ text: String) {
    guard case .open(let socket) = phase else { return }
    socket.send(text: text)
    flush()
  }

  /// Answers a ping of the server, now or once it has read enough of what waits for it.
  ///
  /// - Returns: Whether the answer is on its way.
  func answerPing(_ text: String) -> Bool {
    guard case .open(let socket) = phase else { return false }
    guard socket.output.count <= Self.answerThreshold else {
      // As with the pings of WebSocket, of several only the latest need be answered (RFC 6455 section 5.5.3).
      owedAnswer = text
      return false
    }
    owedAnswer = nil
    socket.send(text: text)
    flush()
    return true
  }

  /// Sends a close frame and waits for the server's; the owner limits how long.
  func close() {
    guard case .open(let socket) = phase else { return abort() }
    socket.close(.normal, reason: "")
    isPaused = false
    flush()
  }

  /// Drops the connection without a word and without a report.
  func abort() {
    phase = .ended
    delegate = nil
    stream?.close()
  }

  /// Goes on with what was read before a pause.
  func resume() {
    isPaused = false
    drain(at: loop.now)
  }

  private func end(_ loss: ConnectionLoss, at now: Instant) {
    if case .ended = phase { return }
    let delegate = delegate
    abort()
    delegate?.linkEnded(loss, at: now)
  }

  /// The socket broke: what it had brought before still counts, also when nobody wants it just now.
  ///
  /// This hands out at most what one read has brought.
  private func broke(_ loss: ConnectionLoss, at now: Instant) {
    if case .upgrading = phase, case .network(let what, nil) = loss, input.isEmpty {
      return end(.network(what, .noAnswer), at: now)
    }
    guard case .open = phase else { return end(loss, at: now) }
    guard breakdown == nil else { return }
    breakdown = loss
    stream?.close()
    if !isDraining { drain(at: now) }
  }

  private func flush() {
    guard breakdown == nil else { return }
    let pending: ByteBuffer
    if case .open(let socket) = phase { pending = socket.output } else { pending = output }
    guard !pending.isEmpty else { return }
    do throws(TransportError) {
      try stream?.write(from: pending)
    } catch {
      broke(ConnectionLoss(error), at: loop.now)
    }
  }
}

extension ServerLink: SocketStreamDelegate {
  func streamOpened(_ stream: SocketStream, at now: Instant) {
    let handshake = ClientHandshake(
      url: trail.url, headers: trail.headers(configuration.headers),
      subprotocols: configuration.subprotocols,
      deflate: configuration.offersCompression, key: SecureRandom.bytes(16))
    do throws(HTTPError) {
      output.append(try handshake.request())
      phase = .upgrading(handshake)
      flush()
    } catch {
      end(.dropped("cannot ask for the upgrade: \(error)"), at: now)
    }
  }

  func streamReadable(_ stream: SocketStream, at now: Instant) {
    let buffer: ByteBuffer
    if case .open(let socket) = phase { buffer = socket.input } else { buffer = input }
    do throws(TransportError) {
      switch try stream.read(into: buffer, atMost: Self.readSize) {
      case .wouldBlock: isBehind = false
      case .bytes(let count):
        // TLS gives a record at a time, and tells that there is no more by a read that gives nothing.
        if tls == nil, count < Self.readSize { isBehind = false }
        lastRead = now
        delegate?.linkReceivedBytes(at: now)
        if case .upgrading(let handshake) = phase { upgrade(handshake, at: now) }
        drain(at: now)
      case .end: inputEnded(at: now)
      }
    } catch {
      broke(ConnectionLoss(error), at: now)
    }
  }

  func streamWritable(_ stream: SocketStream, at now: Instant) {
    flush()
    if let owedAnswer { _ = answerPing(owedAnswer) }
    // A ping of WebSocket may have waited for room too.
    drain(at: now)
  }

  func streamFailed(_ stream: SocketStream, _ error: TransportError, at now: Instant) {
    broke(ConnectionLoss(error), at: now)
  }

  private func inputEnded(at now: Instant) {
    guard case .open(let socket) = phase else {
      let place = input.isEmpty ? "before it answered" : "in the middle of its answer to"
      let words = "the server closed the connection \(place) the upgrade"
      end(.network(words, input.isEmpty ? .noAnswer : nil), at: now)
      return
    }
    socket.inputEnded()
    drain(at: now)
  }

  private func upgrade(_ handshake: ClientHandshake, at now: Instant) {
    if let foreign = ForeignProtocol(input.view) {
      return end(ConnectionLoss(foreign), at: now)
    }
    do {
      guard let head = try headParser.finalResponse(from: input) else { return }
      let negotiated = try handshake.accept(head)
      let socket = WebSocketConnection(
        role: .client, deflate: negotiated.deflate, limits: configuration.limits,
        random: SecureRandom.generator, input: input)
      phase = .open(socket)
      delegate?.linkUpgraded(at: now)
    } catch HandshakeError.redirect(let location, let status)
      where RedirectTrail.isRedirect(status)
    {
      redirect(to: location, status: status, at: now)
    } catch {
      end(ConnectionLoss(upgradeFailure: error, at: SystemClock.wall()), at: now)
    }
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
      return end(.dropped("\(error)"), at: now)
    }
    stream?.close()
    input.removeAll()
    output.removeAll()
    headParser = HTTPHeadParser(limits: HTTPHeadLimits())
    phase = .dialling
    delegate?.linkRedirected(status: status, to: trail.url.place, at: now)
    if case .dialling = phase { start() }
  }

  /// The refusal of a server that answers once more after it has agreed to the upgrade, as one does whose application
  /// fails there.
  private func secondAnswer(_ socket: WebSocketConnection) -> ConnectionLoss? {
    guard !hasReceivedMessage, socket.input.view.begins(with: "HTTP/1.") else { return nil }
    var parser = HTTPHeadParser(limits: HTTPHeadLimits())
    guard let head = try? parser.response(from: socket.input), head.status >= 300 else {
      return nil
    }
    return .refused(
      status: head.status, reason: "\(head.reason), after it had agreed to the upgrade")
  }

  /// Hands out every message that is complete, until there is no more or nobody wants more.
  private func drain(at now: Instant) {
    guard case .open(let socket) = phase, let delegate, !isDraining else { return }
    isDraining = true
    defer { isDraining = false }
    var hasDelivered = false
    while !isPaused || breakdown != nil, let event = socket.next() {
      hasDelivered = true
      defer { hasReceivedMessage = true }
      switch event {
      case .text(let text):
        switch tap.take(text) {
        case .taken: continue
        case .takenAndFull: delegate.linkTapIsFull(at: now)
        case .declined: delegate.linkReceived(text: text, at: now)
        }
      case .binary(let bytes): delegate.linkReceived(binary: bytes, at: now)
      case .ping, .pong: break
      case .closed(let code, let reason):
        flush()
        // What the server sent before its goodbye has come.
        if let lastRead { delegate.linkDelivered(at: lastRead) }
        end(.closed(code: code.map { Int($0.rawValue) }, reason: reason), at: now)
      case .failed(let error):
        flush()
        end(secondAnswer(socket) ?? ConnectionLoss(error), at: now)
      }
      // A handler may have ended the link.
      guard case .open = phase else { return }
    }
    if hasDelivered, !isBehind, let lastRead { delegate.linkDelivered(at: lastRead) }
    flush()
    if let breakdown { end(breakdown, at: now) }
  }
}
