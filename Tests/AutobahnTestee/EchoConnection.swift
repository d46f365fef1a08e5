internal import PusherCore

/// One connection to the fuzzing server: every message goes back as it came, until either side closes.
///
/// It joins the rooms in the way the client's link to its server does, so that what the cases find is what a
/// subscriber would do. The loop is stopped at the end.
final class EchoConnection {
  private enum Phase {
    case upgrading(ClientHandshake)
    case open(WebSocketConnection)
    /// Nothing more is echoed; what waits is sent.
    case ending(WebSocketConnection)
    case ended
  }

  private static let readSize = 256 << 10
  /// The longest that one case may take; the server's own limits are shorter, but for its largest cases.
  private static let longestCase = Duration.seconds(300)

  /// The first text message of the server.
  private(set) var firstText: String?
  /// Why there was no WebSocket connection, or no end of it; a broken protocol is the case's own affair.
  private(set) var failure: String?

  private let loop: EventLoop
  private let url: HTTPURL
  private let input = ByteBuffer(capacity: readSize + 16_384)
  private let output = ByteBuffer()
  private var phase: Phase
  private var stream: SocketStream?
  private var timer: LoopTimer?

  /// A connection that begins when the loop runs.
  init(loop: EventLoop, url: HTTPURL) {
    self.loop = loop
    self.url = url
    phase = .upgrading(
      ClientHandshake(
        url: url, deflate: true, offers: PerMessageDeflate.everyOffer, key: SecureRandom.bytes(16)))
    let timer = LoopTimer(deadline: loop.now.advanced(by: Self.longestCase)) { [unowned self] in
      end("the server does not end the connection")
    }
    loop.add(timer)
    self.timer = timer
    stream = SocketStream.connect(
      loop: loop, to: Routing().route(to: url), delegate: self)
  }

  private func end(_ failure: String? = nil) {
    if case .ended = phase { return }
    phase = .ended
    self.failure = failure
    stream?.close()
    if let timer { loop.remove(timer) }
    loop.stop()
  }

  private func flush() {
    let pending: ByteBuffer
    switch phase {
    case .upgrading: pending = output
    case .open(let socket), .ending(let socket): pending = socket.output
    case .ended: return
    }
    do throws(TransportError) {
      if !pending.isEmpty { try stream?.write(from: pending) }
      if case .ending = phase, pending.isEmpty { end() }
    } catch {
      broke(error)
    }
  }

  /// A fuzzing server may drop its connection at any time after the upgrade.
  private func broke(_ error: TransportError) {
    if case .upgrading = phase { end("\(error)") } else { end() }
  }
}

extension EchoConnection: SocketStreamDelegate {
  func streamOpened(_ stream: SocketStream, at now: Instant) {
    guard case .upgrading(let handshake) = phase else { return }
    do throws(HTTPError) {
      output.append(try handshake.request())
      flush()
    } catch {
      end("cannot ask for the upgrade: \(error)")
    }
  }

  func streamReadable(_ stream: SocketStream, at now: Instant) {
    let buffer: ByteBuffer
    if case .open(let socket) = phase { buffer = socket.input } else { buffer = input }
    do throws(TransportError) {
      switch try stream.read(into: buffer, atMost: Self.readSize) {
      case .wouldBlock: return
      case .bytes:
        if case .upgrading(let handshake) = phase { upgrade(handshake) }
      case .end: inputEnded()
      }
      echo()
    } catch {
      broke(error)
    }
  }

  func streamWritable(_ stream: SocketStream, at now: Instant) {
    flush()
  }

  func streamFailed(_ stream: SocketStream, _ error: TransportError, at now: Instant) {
    broke(error)
  }

  private func inputEnded() {
    switch phase {
    case .upgrading: end("the server closed the connection before it answered the upgrade")
    case .open(let socket): socket.inputEnded()
    case .ending, .ended: end()
    }
  }

  private func upgrade(_ handshake: ClientHandshake) {
    do {
      guard let head = try HTTPHeadParser.response(from: input, limits: HTTPHeadLimits()) else {
        return
      }
      let negotiated = try handshake.accept(head)
      phase = .open(
        WebSocketConnection(
          role: .client, deflate: negotiated.deflate, random: SecureRandom.generator, input: input))
    } catch {
      end("\(error)")
    }
  }

  /// Answers every message that is complete.
  private func echo() {
    guard case .open(let socket) = phase else { return }
    while let event = socket.next() {
      switch event {
      case .text(let text):
        if firstText == nil { firstText = text.text }
        socket.send(text: text)
      case .binary(let bytes): socket.send(binary: bytes)
      case .ping, .pong: continue
      case .closed, .failed:
        phase = .ending(socket)
        stream?.wantsRead = false
      }
    }
    flush()
  }
}
