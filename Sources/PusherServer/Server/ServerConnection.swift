internal import PusherCore

/// One accepted connection: HTTP requests first, and maybe a WebSocket from then on.
final class ServerConnection: SocketStreamDelegate {
  enum Phase {
    case http(HTTPRequestReader)
    case socket(ClientSession)
    case refused(RefusedSocket)
    /// The last answer is given; what still comes is dropped, because a closed socket would take the answer back.
    case lingering
  }

  /// How much is read before others have their turn.
  private static let readSize = 65_536
  private static let lingerTime = Duration.seconds(2)

  unowned let server: Server
  let peer: SocketAddress?
  var phase: Phase
  /// What came, until it is a WebSocket's.
  let input = ByteBuffer(capacity: 1024)
  /// The answers to HTTP requests.
  let answers = ByteBuffer(capacity: 1024)
  private(set) var stream: SocketStream?
  /// When ``tick(at:)`` has something to do, outside a socket's phase.
  var httpDeadline: Instant
  /// Whether the connection ends once all is sent.
  var closesWhenSent = false

  init(
    server: Server, descriptor: Int32, peer: SocketAddress?, tls: TLSContext?, at now: Instant
  ) {
    self.server = server
    self.peer = peer
    phase = .http(HTTPRequestReader(bodyLimit: server.limits.apiBody))
    httpDeadline = now.advanced(by: server.limits.requestTimeout)
    stream = SocketStream.adopt(
      loop: server.loop, descriptor: descriptor, peer: peer, tls: tls, deadline: httpDeadline,
      delegate: self)
  }

  var output: ByteBuffer {
    switch phase {
    case .http, .lingering: answers
    case .socket(let session): session.connection.output
    case .refused(let socket): socket.connection.output
    }
  }

  // MARK: The stream

  func streamOpened(_ stream: SocketStream, at now: Instant) {}

  func streamReadable(_ stream: SocketStream, at now: Instant) {
    let scratch = server.scratch
    do throws(TransportError) {
      switch try stream.read(into: scratch, atMost: Self.readSize) {
      case .bytes:
        received(scratch, at: now)
      case .wouldBlock: break
      case .end: inputEnded(at: now)
      }
    } catch {
      ended(error.description, at: now)
    }
    scratch.removeAll()
    flush(at: now)
  }

  func streamWritable(_ stream: SocketStream, at now: Instant) {
    flush(at: now)
    switch phase {
    case .http: takeTurn(at: now)
    // A ping may have waited for room.
    case .socket(let session): session.receive(at: now)
    case .refused(let socket): socket.receive()
    case .lingering: break
    }
    flush(at: now)
  }

  func streamFailed(_ stream: SocketStream, _ error: TransportError, at now: Instant) {
    ended(error.description, at: now)
  }

  private func received(_ bytes: ByteBuffer, at now: Instant) {
    switch phase {
    case .http(let reader):
      // The first byte of a TLS record with a handshake (RFC 8446 section 5.1); no method begins so.
      if input.isEmpty, bytes.view[0] == 22 {
        return ended("the client speaks TLS, and this port does not", at: now)
      }
      if !reader.isInside(input) { httpDeadline = now.advanced(by: server.limits.requestTimeout) }
      input.append(bytes.view)
      takeTurn(at: now)
    case .socket(let session):
      session.connection.input.append(bytes.view)
      session.receive(at: now)
    case .refused(let socket):
      socket.connection.input.append(bytes.view)
      socket.receive()
    case .lingering: break
    }
  }

  private func inputEnded(at now: Instant) {
    switch phase {
    case .http, .lingering, .refused: ended(nil, at: now)
    case .socket(let session): session.inputEnded(at: now)
    }
  }

  // MARK: Sending

  /// Sends what waits, and ends what has ended.
  func flush(at now: Instant) {
    guard let stream, stream.isOpen else { return }
    let output = output
    do throws(TransportError) {
      try stream.write(from: output)
    } catch {
      ended(error.description, at: now)
      return
    }
    if case .socket(let session) = phase { session.outputSent(at: now) }
    guard output.isEmpty else { return }
    // What a burst took is given back.
    if output.capacity > Self.readSize { output.removeAll() }
    if isOver && !stream.wantsWrite { ended(nil, at: now) }
  }

  private var isOver: Bool {
    switch phase {
    case .http: closesWhenSent
    case .socket(let session): session.isFinished
    case .refused(let socket): socket.isFinished
    case .lingering: false
    }
  }

  /// Answers with a refusal and ends the connection, as soon as the client has had time to read it.
  func linger(at now: Instant) {
    phase = .lingering
    input.removeAll()
    httpDeadline = now.advanced(by: Self.lingerTime)
    stream?.wantsRead = true
  }

  /// Nothing more can or shall be sent.
  private func ended(_ reason: String?, at now: Instant) {
    switch phase {
    case .socket(let session): session.lost(reason: reason ?? "the connection ended", at: now)
    case .http, .refused, .lingering:
      if let reason { server.report(.dropped(reason: reason)) }
    }
    stream?.close()
    stream = nil
    server.forget(self)
  }

  // MARK: Time

  /// When ``tick(at:)`` has something to do.
  var deadline: Instant? {
    switch phase {
    case .http, .lingering: httpDeadline
    // One that is finished and still here does not read its last bytes.
    case .socket(let session): session.deadline ?? LoopInterest.immediately
    case .refused(let socket): socket.deadline
    }
  }

  func tick(at now: Instant) {
    switch phase {
    case .http(let reader):
      guard reader.isInside(input) else {
        ended(nil, at: now)
        return
      }
      HTTPAnswer.refusal(408, "the request did not come in time").write(
        to: answers, keepsAlive: false)
      server.report(.dropped(reason: "a request did not come in time"))
      linger(at: now)
      flush(at: now)
    case .socket(let session):
      session.tick(at: now)
      flush(at: now)
      // A client that reads nothing is not waited for.
      if session.isFinished { ended(nil, at: now) }
    case .refused, .lingering: ended(nil, at: now)
    }
  }

  /// The server stops: sockets are told to come back at once, idle connections end.
  func stop(at now: Instant) {
    switch phase {
    case .http(let reader):
      // A request that has begun is still answered, and told that the connection ends with it.
      guard !reader.isInside(input) else { return }
      closesWhenSent = true
      if answers.isEmpty { ended(nil, at: now) }
    case .socket(let session):
      session.close(.generic, reason: "the server is shutting down", at: now)
      flush(at: now)
    case .refused, .lingering: break
    }
  }

  /// Ends the connection without waiting for anything.
  func cut(_ reason: String = "the server has shut down", at now: Instant) {
    ended(reason, at: now)
  }

  /// What waits for a socket's client.
  var waitingBytes: Int {
    guard case .socket(let session) = phase else { return 0 }
    return session.connection.output.count
  }
}
