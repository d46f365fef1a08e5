package import PusherCore

package protocol ConnectionSocket: AnyObject {
  /// Bytes of the client from now on.
  var input: ByteBuffer { get }
  var output: ByteBuffer { get }
  var isFinished: Bool { get }
  /// False if only the closing messages are left.
  var isServed: Bool { get }
  var deadline: Instant? { get }
  func receive(at now: Instant)
  func inputEnded(at now: Instant)
  /// Called after the socket took as much output as it could.
  func outputSent(at now: Instant)
  func tick(at now: Instant)
  func stop(at now: Instant)
  /// The connection has ended; nothing can be sent.
  func lost(reason: String, at now: Instant)
  /// Reports the end of the session to others, if it has ended.
  func settle(at now: Instant)
}

extension ConnectionSocket {
  package func outputSent(at now: Instant) {}
  package func settle(at now: Instant) {}
}

enum ConnectionAnswer {
  /// `isLast` ends the connection after the answer.
  case answer(HTTPAnswer, isLast: Bool)
  /// ``ServerConnection/answerNow(_:at:)`` sends the answer later.
  case later
  case head(HTTPResponseHead)
  /// A WebSocket with the answer to its handshake in its output, or an answer that does not end.
  case socket(any ConnectionSocket)
}

/// An accepted connection: HTTP requests first, and maybe a WebSocket or a stream of events later.
package final class ServerConnection: SocketStreamDelegate {
  private enum Phase {
    case http(HTTPRequestReader)
    case socket(any ConnectionSocket)
    /// Further input is dropped, because closing the socket now could discard the last answer.
    case lingering

    var isHTTP: Bool { if case .http = self { true } else { false } }
  }

  /// Maximum size of one read, in bytes, so that other connections get their turn.
  private static let readSize = 65_536
  private static let lingerTime = Duration.seconds(2)

  private unowned let acceptor: ConnectionAcceptor
  package let peer: SocketAddress?
  private var phase: Phase {
    // Only requests wait for their turn. A socket is always read, so that its end is noticed.
    didSet {
      if !phase.isHTTP { stream?.wantsRead = true }
      if case .socket(let socket) = phase { self.socket = socket } else { socket = nil }
    }
  }
  /// The socket of ``phase``, apart from it: every delivery asks, and a phase is large.
  private(set) var socket: (any ConnectionSocket)?
  /// Input until the connection becomes a WebSocket.
  package let input = ByteBuffer(capacity: 256)
  /// Answers to HTTP requests; unused by a WebSocket.
  private lazy var answers = ByteBuffer(capacity: 1024)
  private var stream: SocketStream?
  private var httpDeadline: Instant
  private var closesWhenSent = false
  private var hasAsked = false
  private var unanswered: HTTPRequestReader.Request?
  private var waitsSince: Instant

  init(
    _ acceptor: ConnectionAcceptor, descriptor: Int32, peer: SocketAddress?, tls: TLSContext?,
    at now: Instant
  ) {
    self.acceptor = acceptor
    self.peer = peer
    phase = .http(HTTPRequestReader(bodyLimit: acceptor.limits.sizes.apiBody))
    waitsSince = now
    httpDeadline = now.advanced(by: acceptor.limits.times.request)
    stream = SocketStream.adopt(
      loop: acceptor.loop, descriptor: descriptor, peer: peer, tls: tls, deadline: httpDeadline,
      delegate: self)
  }

  var waitingBytes: Int { socket?.output.heldBytes ?? 0 }

  // MARK: The stream

  package func streamReadable(_ stream: SocketStream, at now: Instant) {
    let scratch = acceptor.scratch
    do throws(TransportError) {
      switch try stream.read(into: scratch, atMost: Self.readSize) {
      case .bytes: received(scratch, at: now)
      case .wouldBlock: break
      case .end: if let socket { socket.inputEnded(at: now) } else { ended(nil, at: now) }
      }
    } catch { ended(error.description, at: now) }
    scratch.removeAll()
    flush(at: now)
    socket?.settle(at: now)
  }

  package func streamWritable(_ stream: SocketStream, at now: Instant) {
    flush(at: now)
    // A ping may have waited for room.
    if let socket { socket.receive(at: now) } else { takeTurn(at: now) }
    flush(at: now)
    socket?.settle(at: now)
  }

  package func streamFailed(_ stream: SocketStream, _ error: TransportError, at now: Instant) {
    ended(error.description, at: now)
    socket?.settle(at: now)
  }

  private func received(_ bytes: ByteBuffer, at now: Instant) {
    switch phase {
    case .http(let reader):
      // First byte of a TLS handshake record (RFC 8446 section 5.1); no method begins with it.
      if input.isEmpty, bytes.view[0] == 22 {
        return ended("the client uses TLS, but this port does not", at: now)
      }
      if !reader.isInside(input) { wait(acceptor.limits.times.request, from: now) }
      input.append(bytes.view)
      takeTurn(at: now)
    case .socket(let socket):
      socket.input.append(bytes.view)
      socket.receive(at: now)
    case .lingering: break
    }
  }

  // MARK: Requests

  /// Answers the next request, if the earlier answer is sent.
  ///
  /// A client with many requests at once gets its next turn after the others, and only after it has
  /// read the answer.
  func takeTurn(at now: Instant) {
    guard stream != nil, case .http(var reader) = phase else { return }
    guard answers.isEmpty && !closesWhenSent && unanswered == nil else {
      stream?.wantsRead = false
      return
    }
    do throws(HTTPError) {
      let request = try reader.next(from: input)
      // Nothing more is read while requests wait: reading is faster than answering.
      stream?.wantsRead = request == nil || input.isEmpty
      let interim = reader.takeContinue()
      phase = .http(reader)
      guard isAdmitted(request, reader, at: now) else {
        return refuse(.busy("too many connections are sending requests"), at: now)
      }
      if let interim { answers.append(interim) }
      guard let request else { return }
      let limits = acceptor.limits
      wait(input.isEmpty ? limits.times.keepAlive : limits.times.request, from: now)
      answer(request, at: now)
      if case .http = phase, !input.isEmpty { acceptor.giveTurn(self) }
    } catch { refuse(HTTPAnswer(error), at: now) }
  }

  /// A request needs a caller's place as soon as its head is complete; a handshake does not.
  private func isAdmitted(
    _ request: HTTPRequestReader.Request?, _ reader: HTTPRequestReader, at now: Instant
  ) -> Bool {
    let isCall = request.map { !ServerHandshake.isUpgrade($0.head) } ?? reader.isInsideBody
    return !isCall || acceptor.admit(caller: self, at: now)
  }

  private func answer(_ request: HTTPRequestReader.Request, at now: Instant) {
    hasAsked = true
    switch acceptor.owner?.answer(request, on: self, at: now) {
    case .answer(let answer, let isLast): write(answer, to: request, isLast: isLast)
    case .later:
      unanswered = request
      stream?.wantsRead = false
      wait(acceptor.limits.times.keepAlive, from: now)
    case .head(let head):
      answers.append(head)
      closesWhenSent = true
    case .socket(let socket):
      phase = .socket(socket)
      acceptor.release(caller: self)
      // Frees the memory of the request: thousands of sockets have their own input.
      if input.isEmpty { input.removeAll() }
      if acceptor.isClosed { stop(at: now) }
      // Handles bytes that came right after the handshake.
      socket.receive(at: now)
    case nil: closesWhenSent = true
    }
  }

  private func write(_ answer: HTTPAnswer, to request: HTTPRequestReader.Request, isLast: Bool) {
    closesWhenSent = isLast || !request.keepsAlive || acceptor.isClosed
    answer.write(
      to: answers, keepsAlive: !closesWhenSent, withoutBody: request.head.method == "HEAD")
  }

  func answerNow(_ answer: HTTPAnswer, at now: Instant) {
    guard let request = unanswered, stream != nil else { return }
    unanswered = nil
    write(answer, to: request, isLast: false)
    flush(at: now)
    if case .http = phase, !input.isEmpty { acceptor.giveTurn(self) } else { takeTurn(at: now) }
  }

  private func wait(_ time: Duration, from now: Instant) {
    httpDeadline = now.advanced(by: time)
    waitsSince = now
  }

  private func refuse(_ answer: HTTPAnswer, at now: Instant) {
    acceptor.owner?.refused(answer)
    linger(after: answer, at: now)
  }

  /// Answers with a refusal, and ends the connection after the client had time to read it.
  private func linger(after answer: HTTPAnswer, at now: Instant) {
    answer.write(to: answers, keepsAlive: false)
    phase = .lingering
    input.removeAll()
    wait(Self.lingerTime, from: now)
  }

  // MARK: Sending

  /// Sends waiting output, and closes the connection if it is finished.
  package func flush(at now: Instant) {
    guard let stream, stream.isOpen else { return }
    // Read once: every event causes a flush for every subscriber.
    let socket = socket
    let output = socket?.output ?? answers
    do throws(TransportError) {
      try stream.write(from: output)
    } catch {
      ended(error.description, at: now)
      return
    }
    socket?.outputSent(at: now)
    guard output.isEmpty else { return }
    if output.capacity > Self.readSize { output.removeAll() }
    let isOver = socket?.isFinished ?? (phase.isHTTP && closesWhenSent)
    if isOver && !stream.wantsWrite { ended(nil, at: now) }
  }

  private func ended(_ reason: String?, at now: Instant) {
    if let socket {
      socket.lost(reason: reason ?? "the connection ended", at: now)
    } else if let reason {
      acceptor.owner?.dropped(reason)
    }
    stream?.close()
    stream = nil
    acceptor.forget(self)
  }

  // MARK: Time

  var deadline: Instant {
    // A finished socket without a deadline belongs to a client that does not read.
    socket.map { $0.deadline ?? LoopInterest.immediately } ?? httpDeadline
  }

  func tick(at now: Instant) {
    switch phase {
    case .http where unanswered != nil: ended("a request was not answered in time", at: now)
    case .http(let reader) where reader.isInside(input):
      acceptor.owner?.dropped("a request did not arrive in time")
      linger(after: .refusal(408, "the request did not arrive in time"), at: now)
      flush(at: now)
    case .socket(let socket):
      socket.tick(at: now)
      flush(at: now)
      // A client that reads nothing gets no more time.
      if socket.isFinished { ended(nil, at: now) }
      socket.settle(at: now)
    case .http, .lingering: ended(nil, at: now)
    }
  }

  func stop(at now: Instant) {
    switch phase {
    case .http(let reader):
      // A request that has begun is still answered, and its answer ends the connection. The first
      // request of a new connection is answered too, because its client could not know of the
      // shutdown.
      guard hasAsked, !reader.isInside(input), unanswered == nil else { return }
      closesWhenSent = true
      if answers.isEmpty { ended(nil, at: now) }
    case .socket(let socket):
      socket.stop(at: now)
      flush(at: now)
    case .lingering: break
    }
  }

  // MARK: Places

  /// The wait for the client; `nil` while the connection is in use.
  var clientWait: ClientWait? {
    guard stream != nil, unanswered == nil else { return nil }
    switch phase {
    case .http(let reader):
      let isIdle = hasAsked && answers.isEmpty && !reader.isInside(input)
      return (isIdle ? 0 : 1, waitsSince)
    case .socket(let socket):
      return socket.isServed ? nil : (0, waitsSince)
    case .lingering: return (0, waitsSince)
    }
  }

  func closeForNewer(at now: Instant) {
    let isNeeded = clientWait?.need != 0
    ended(isNeeded ? "too many connections; this one waited longest" : nil, at: now)
  }

  func cut(_ reason: String = "the server has shut down", at now: Instant) {
    ended(reason, at: now)
  }
}
