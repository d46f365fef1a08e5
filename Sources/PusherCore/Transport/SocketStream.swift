/// What a ``SocketStream`` tells its owner, always from inside the loop and never from inside a call of the owner.
package protocol SocketStreamDelegate: AnyObject {
  /// The connection stands, TLS included; reading and writing may begin.
  func streamOpened(_ stream: SocketStream, at now: Instant)
  /// ``SocketStream/read(into:atMost:)`` has something to give, be it the end or an error.
  func streamReadable(_ stream: SocketStream, at now: Instant)
  /// All pending bytes were written; more may follow.
  func streamWritable(_ stream: SocketStream, at now: Instant)
  /// The stream never opened, or broke outside a read or write; it is closed. Errors that a read or write has thrown
  /// are not repeated here.
  func streamFailed(_ stream: SocketStream, _ error: TransportError, at now: Instant)
}

/// A TCP connection, with TLS where asked for: name → address → connection → proxy → handshake → open.
///
/// Nothing blocks and nothing is called back before the loop runs. The maker of a stream keeps it and closes it; the
/// loop keeps it too, until it is closed or has failed.
package final class SocketStream {
  /// The result of ``read(into:atMost:)``.
  package enum ReadResult: Equatable {
    /// So many bytes were appended.
    case bytes(Int)
    /// Nothing now; ``SocketStreamDelegate/streamReadable(_:at:)`` will tell.
    case wouldBlock
    /// The other side has ended the stream properly; nothing follows.
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

  package weak var delegate: (any SocketStreamDelegate)?
  /// False stops reading, which slows the other side.
  package var wantsRead = true {
    didSet { if wantsRead != oldValue { loop.tell(self) } }
  }
  /// Where the loop keeps it.
  package var place: LoopPlace?
  /// Whether received bytes are still read after writing fails: until the end, which then throws the reason, writes are
  /// dropped.
  package var readsOnWhenBroken = false
  /// Why writing failed.
  var outputFailure: TransportError?
  /// Whether something waits for the socket to take more.
  package var wantsWrite: Bool { callerHasMore || !outgoing.isEmpty }
  /// Whether reading and writing are allowed.
  package var isOpen: Bool { if case .open = state { true } else { false } }
  /// The stage of a stream that is not open yet.
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
  /// What TLS has agreed on; `nil` without TLS, and before the stream is open.
  package var security: TLSSummary? { isOpen ? engine?.summary : nil }
  /// The peer's address once connected: the server's or the proxy's.
  package internal(set) var peer: SocketAddress?

  let loop: EventLoop
  let tls: TLSContext?
  let serverName: String?
  var state: State {
    didSet { loop.tell(self) }
  }
  var descriptor: Int32 = -1
  var engine: TLSEngine?
  /// Ciphertext that the socket did not take yet.
  let outgoing = ByteBuffer(capacity: 64)
  var callerHasMore = false {
    didSet { if callerHasMore != oldValue { loop.tell(self) } }
  }
  /// Unread bytes from the proxy, and from the server after the proxy's answer.
  var early: ByteBuffer?
  /// No more bytes will come from the socket.
  var inputIsOver = false {
    didSet { loop.tell(self) }
  }
  /// The caller knows that the stream has ended.
  var endWasRead = false
  /// Until when the stream has to be open.
  var openDeadline: Instant?

  private init(loop: EventLoop, state: State, tls: TLSContext?, serverName: String?) {
    (self.loop, self.state, self.tls, self.serverName) = (loop, state, tls, serverName)
    loop.add(telling: self)
  }

  deinit {
    if descriptor >= 0 { Syscalls.closeDescriptor(descriptor) }
  }

  /// A stream to the server at the end of `route`, with TLS when `tls` is given.
  ///
  /// When it is not open by `deadline` it fails with ``TransportError/timeout(_:)`` and the stage it was in.
  package static func connect(
    loop: EventLoop, to route: Route, tls: TLSContext? = nil, deadline: Instant? = nil,
    delegate: any SocketStreamDelegate
  ) -> SocketStream {
    let stream = SocketStream(
      loop: loop, state: .starting(route), tls: tls, serverName: route.host)
    stream.openDeadline = deadline
    stream.delegate = delegate
    return stream
  }

  /// A stream over a connected socket that a ``Listener`` has accepted; the descriptor belongs to it from now on.
  package static func adopt(
    loop: EventLoop, descriptor: Int32, peer: SocketAddress?, tls: TLSContext? = nil,
    deadline: Instant? = nil, delegate: any SocketStreamDelegate
  ) -> SocketStream {
    let stream = SocketStream(loop: loop, state: .adopted, tls: tls, serverName: nil)
    stream.descriptor = descriptor
    stream.peer = peer
    stream.openDeadline = deadline
    stream.delegate = delegate
    Syscalls.tuneConnection(descriptor)
    return stream
  }

  /// Ends the stream: the closing alert of TLS if it can go out at once, then the socket.
  ///
  /// Closing again does nothing. Unwritten bytes are lost, so the owner should wait until ``wantsWrite`` is false.
  package func close() {
    if case .open = state, let engine {
      engine.shutdown()
      engine.drain(into: outgoing)
    }
    release()
  }

  /// Releases all resources of the stream.
  func release() {
    switch state {
    case .resolving(let ticket, _): loop.resolver.cancel(ticket)
    case .connecting(let connector, _): connector.cancel()
    case .starting, .adopted, .tunnelling, .handshaking, .open, .closed: break
    }
    // The last chance of an alert that says why.
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
