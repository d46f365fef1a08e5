/// Events of a ``SocketStream``, always called by the loop and never inside a call of the owner.
package protocol SocketStreamDelegate: AnyObject {
  func streamOpened(_ stream: SocketStream, at now: Instant)
  /// ``SocketStream/read(into:atMost:)`` has bytes, the end or an error.
  func streamReadable(_ stream: SocketStream, at now: Instant)
  func streamWritable(_ stream: SocketStream, at now: Instant)
  /// The stream failed and is closed; errors thrown by a read or write are not repeated here.
  func streamFailed(_ stream: SocketStream, _ error: TransportError, at now: Instant)
}

/// A TCP connection, optionally with TLS: name → address → connection → proxy → handshake → open.
///
/// Nothing blocks; only the loop calls back. The loop keeps an unclosed stream, and the owner
/// closes it.
package final class SocketStream {
  package enum ReadResult: Equatable {
    case bytes(Int)
    /// No bytes now; ``SocketStreamDelegate/streamReadable(_:at:)`` follows.
    case wouldBlock
    /// The other side closed the stream properly.
    case end
  }

  enum State {
    case starting(Route)
    case resolving(Resolver.Ticket, Route)
    case connecting(Connector, Route)
    case adopted
    case tunnelling(ProxyNegotiation, Proxy)
    case handshaking
    case open
    case closed
  }

  enum Input {
    case open
    /// The socket gives no more bytes.
    case over
    /// The caller has read the end.
    case read
  }

  package weak var delegate: (any SocketStreamDelegate)?
  /// False stops reading, which slows the other side down.
  package var wantsRead = true { didSet { if wantsRead != oldValue { loop.tell(self) } } }
  package var place: LoopPlace?
  /// Keeps reading after a failed write and drops writes until the end, which throws the error.
  package var readsOnWhenBroken = false
  var outputFailure: TransportError?
  package var wantsWrite: Bool { callerHasMore || !outgoing.isEmpty }
  package var isOpen: Bool { if case .open = state { true } else { false } }
  var stage: ConnectionStage? {
    switch state {
    case .starting, .resolving: .resolving
    case .connecting(let connector, let route):
      route.proxy.map { .reachingProxy($0.description) }
        ?? (connector.stage == .resolving ? .resolving : .connecting)
    case .adopted: .connecting
    case .tunnelling(_, let proxy): .tunnelling(proxy: proxy.description)
    case .handshaking: .securing
    case .open, .closed: nil
    }
  }
  /// Result of the TLS handshake; `nil` without TLS or before the stream is open.
  package var security: TLSSummary? { isOpen ? engine?.summary : nil }
  /// The protocol that TLS agreed on; `nil` for none, and before the stream is open.
  package var applicationProtocol: String? { isOpen ? engine?.applicationProtocol : nil }
  /// Address of the server or the proxy, once connected.
  package internal(set) var peer: SocketAddress?
  /// Time of the TCP connection, before TLS.
  var connectedAt: Instant?
  let loop: EventLoop
  let tls: TLSContext?
  let serverName: String?
  var state: State { didSet { loop.tell(self) } }
  var descriptor: Int32 = -1
  var engine: TLSEngine?
  let outgoing = ByteBuffer(capacity: 64)
  var callerHasMore = false { didSet { if callerHasMore != oldValue { loop.tell(self) } } }
  /// Unread bytes from the proxy, and from the server after the proxy's answer.
  var early: ByteBuffer?
  var input = Input.open { didSet { loop.tell(self) } }
  let openDeadline: Instant?

  private init(
    loop: EventLoop, state: State, tls: TLSContext?, serverName: String?, deadline: Instant?,
    delegate: any SocketStreamDelegate
  ) {
    (self.loop, self.state, self.tls, self.serverName) = (loop, state, tls, serverName)
    (self.openDeadline, self.delegate) = (deadline, delegate)
    loop.add(telling: self)
  }

  deinit { if descriptor >= 0 { Syscalls.closeDescriptor(descriptor) } }

  /// Connects to the end of `route`, with TLS if `tls` is given.
  ///
  /// Fails with ``TransportError/timeout(_:)`` if the stream is not open by `deadline`.
  package static func connect(
    loop: EventLoop, to route: Route, tls: TLSContext? = nil, deadline: Instant? = nil,
    delegate: any SocketStreamDelegate
  ) -> SocketStream {
    SocketStream(
      loop: loop, state: .starting(route), tls: tls, serverName: route.host, deadline: deadline,
      delegate: delegate)
  }

  /// Wraps a connected socket from a ``Listener`` and takes ownership of the descriptor.
  package static func adopt(
    loop: EventLoop, descriptor: Int32, peer: SocketAddress?, tls: TLSContext? = nil,
    deadline: Instant? = nil, delegate: any SocketStreamDelegate
  ) -> SocketStream {
    let stream = SocketStream(
      loop: loop, state: .adopted, tls: tls, serverName: nil, deadline: deadline,
      delegate: delegate)
    stream.descriptor = descriptor
    stream.peer = peer
    Syscalls.tuneConnection(descriptor)
    return stream
  }

  /// Closes the stream: TLS's closing alert if it can go out at once, then the socket.
  ///
  /// Closing again does nothing. Unwritten bytes are lost, so wait until ``wantsWrite`` is false.
  package func close() {
    if case .open = state, let engine {
      engine.shutdown()
      engine.drain(into: outgoing)
    }
    release()
  }

  func release() {
    switch state {
    case .resolving(let ticket, _): loop.resolver.cancel(ticket)
    case .connecting(let connector, _): connector.cancel()
    case .starting, .adopted, .tunnelling, .handshaking, .open, .closed: break
    }
    // Last chance to send an alert with the reason.
    if descriptor >= 0 { try? flush() }
    loop.remove(telling: self)
    if descriptor >= 0 {
      Syscalls.closeDescriptor(descriptor)
      descriptor = -1
    }
    state = .closed
    outgoing.removeAll()
    callerHasMore = false
    early = nil
    engine = nil
  }
}
