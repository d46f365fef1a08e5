/// Events of a ``SocketStream``, always called by the loop and never inside a call of the owner.
package protocol SocketStreamDelegate: AnyObject {
  func streamOpened(_ stream: SocketStream, at now: Instant)
  /// ``SocketStream/read(into:atMost:)`` has bytes, the end or an error.
  func streamReadable(_ stream: SocketStream, at now: Instant)
  func streamWritable(_ stream: SocketStream, at now: Instant)
  /// The stream failed and is closed; errors thrown by a read or write are not repeated here.
  func streamFailed(_ stream: SocketStream, _ error: TransportError, at now: Instant)
}

extension SocketStreamDelegate {
  package func streamOpened(_ stream: SocketStream, at now: Instant) {}
  package func streamWritable(_ stream: SocketStream, at now: Instant) {}
}

/// A TCP connection, optionally with TLS: name → address → connection → proxy → handshake → open.
///
/// Nothing blocks; only the loop calls back. The loop keeps an unclosed stream, and the owner
/// closes it.
package final class SocketStream {
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
  private var outputFailure: TransportError?
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
  private var callerHasMore = false { didSet { if callerHasMore != oldValue { loop.tell(self) } } }
  /// Unread bytes from the proxy, and from the server after the proxy's answer.
  var early: ByteBuffer?
  var input = Input.open { didSet { loop.tell(self) } }
  private let openDeadline: Instant?

  private init(
    loop: EventLoop, state: State, tls: TLSContext?, serverName: String?, deadline: Instant?,
    delegate: any SocketStreamDelegate
  ) {
    (self.loop, self.state, self.tls, self.serverName) = (loop, state, tls, serverName)
    (self.openDeadline, self.delegate) = (deadline, delegate)
    loop.add(telling: self)
  }

  deinit { if descriptor >= 0 { SystemCalls.closeDescriptor(descriptor) } }

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
    SystemCalls.tuneConnection(descriptor)
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
      SystemCalls.closeDescriptor(descriptor)
      descriptor = -1
    }
    state = .closed
    outgoing.removeAll()
    callerHasMore = false
    early = nil
    engine = nil
  }
}

extension SocketStream {
  /// Appends at most `atMost` bytes to `buffer`.
  ///
  /// Without bytes now, ``SocketStreamDelegate/streamReadable(_:at:)`` follows. An error closes the
  /// stream. A TLS stream without a closing alert throws ``TLSError/cutShort``.
  package func read(into buffer: ByteBuffer, atMost: Int) throws(TransportError) -> ReadResult {
    guard case .open = state else { return .end }
    do throws(TransportError) {
      let result: ReadResult
      if let engine {
        // Bytes left inside TLS change the interest.
        loop.tell(self)
        result = try readSecure(engine, into: buffer, atMost: atMost)
      } else {
        result = try readPlain(into: buffer, atMost: atMost)
      }
      if result == .end, let outputFailure { throw outputFailure }
      return result
    } catch {
      release()
      throw error
    }
  }

  private func readPlain(into buffer: ByteBuffer, atMost: Int) throws(TransportError) -> ReadResult
  {
    if input != .open { return .end }
    guard let count = try receive(into: buffer, atMost: atMost) else { return .wouldBlock }
    if count == 0 { input = .over }
    return count == 0 ? .end : .bytes(count)
  }

  private func readSecure(_ engine: TLSEngine, into buffer: ByteBuffer, atMost: Int)
    throws(TransportError) -> ReadResult
  {
    while true {
      let result: ReadResult
      do throws(TLSError) {
        result = try engine.read(into: buffer, atMost: atMost)
      } catch {
        // `release` sends the alert for the broken record.
        engine.drain(into: outgoing)
        throw .tls(error)
      }
      switch result {
      case .bytes:
        try answerKeyUpdate(engine)
        return result
      case .end:
        input = .read
        return result
      case .wouldBlock:
        try answerKeyUpdate(engine)
        guard try fill(engine, atMost: atMost) else { return .wouldBlock }
      }
    }
  }

  /// Maximum size of TLS's own waiting answers, in bytes; the caller's output is far below.
  private static let answerLimit = 256 << 10

  /// Sends TLS's own answers (RFC 8446 section 4.6.3), with a limit: a peer that never reads must
  /// not fill the memory.
  private func answerKeyUpdate(_ engine: TLSEngine) throws(TransportError) {
    engine.drain(into: outgoing)
    guard !outgoing.isEmpty else { return }
    try flush()
    guard outgoing.count <= Self.answerLimit else {
      throw .tls(
        .connection(
          reason: "the other side asks for new keys, but reads no answers; more than "
            + "\(Self.answerLimit >> 10) KiB of them wait"))
    }
  }

  func fill(_ engine: TLSEngine, atMost: Int) throws(TransportError) -> Bool {
    // At least one record with its frame, so that one read gives bytes to decrypt.
    let wanted = min(max(atMost, 18_432), 262_144)
    guard let count = try receive(into: loop.scratch, atMost: wanted) else { return false }
    if count == 0 {
      input = .over
      engine.inputEnded()
    } else {
      engine.receive(ciphertext: loop.scratch.view)
      loop.scratch.consume(count)
    }
    return true
  }

  /// Reads early bytes, else from the socket; returns 0 at its end, `nil` without bytes now.
  func receive(into buffer: ByteBuffer, atMost: Int) throws(TransportError) -> Int? {
    if let early {
      let count = min(early.count, atMost)
      buffer.append(early.view[0..<count])
      early.consume(count)
      if early.isEmpty { self.early = nil }
      return count
    }
    var wouldBlock = false
    do throws(SystemError) {
      let count = try unsafe buffer.write(minimum: atMost) {
        (free: UnsafeMutableRawBufferPointer) throws(SystemError) -> Int in
        let target = unsafe UnsafeMutableRawBufferPointer(rebasing: free[..<atMost])
        guard let count = try unsafe SystemCalls.receiveBytes(descriptor, target) else {
          wouldBlock = true
          return 0
        }
        return count
      }
      return wouldBlock ? nil : count
    } catch { throw .reset(reason: error.description) }
  }

  /// Sends the front of `buffer`; leaves the bytes that the socket does not take.
  ///
  /// After these, ``SocketStreamDelegate/streamWritable(_:at:)`` follows. An error closes the
  /// stream.
  package func write(from buffer: ByteBuffer) throws(TransportError) {
    guard case .open = state else { return }
    // Without `==`, which copies the error.
    guard case nil = outputFailure else { return buffer.removeAll() }
    do throws(TransportError) {
      if let engine {
        loop.tell(self)
        try writeSecure(engine, from: buffer)
      } else {
        try send(buffer)
      }
      callerHasMore = !buffer.isEmpty
    } catch {
      if outlives(error) { return buffer.removeAll() }
      release()
      throw error
    }
  }

  /// Records a failed write; returns true if the stream stays open for reading.
  func outlives(_ error: TransportError) -> Bool {
    guard readsOnWhenBroken, input == .open else { return false }
    outputFailure = error
    outgoing.removeAll()
    callerHasMore = false
    return true
  }

  private func writeSecure(_ engine: TLSEngine, from buffer: ByteBuffer) throws(TransportError) {
    try flush()
    while outgoing.isEmpty && !buffer.isEmpty {
      // A few records at a time: encrypted bytes cannot be taken back and are held twice.
      let count = min(buffer.count, 65_536)
      do throws(TLSError) {
        try engine.write(plaintext: buffer.view[0..<count])
      } catch {
        throw .tls(error)
      }
      buffer.consume(count)
      engine.drain(into: outgoing)
      try flush()
    }
  }

  func flush() throws(TransportError) { try send(outgoing) }

  private func send(_ buffer: ByteBuffer) throws(TransportError) {
    do throws(SystemError) {
      while !buffer.isEmpty {
        guard let count = unsafe try SystemCalls.sendBytes(descriptor, buffer.view.raw) else {
          return
        }
        buffer.consume(count)
      }
    } catch { throw .reset(reason: error.description) }
  }
}

extension SocketStream {
  /// Connects, after a lookup if the proxy needs the server's address.
  func start(_ route: Route, at now: Instant) {
    let address = Resolver.literal(route.host, port: route.port)
    guard route.proxy?.kind == .socks5, address == nil else {
      dial(route, server: address, at: now)
      return
    }
    let families = route.families
    let ticket = loop.resolver.resolve(
      route.host, port: route.port, family: families.count == 1 ? families.first : nil
    ) { [weak self] answer in
      guard let self else { return }
      switch answer {
      case .success(let addresses):
        guard let address = addresses.first else {
          let reason = "it has no address of the requested family"
          self.fail(.resolve(host: route.host, reason: reason), at: self.loop.now)
          return
        }
        self.dial(route, server: address, at: self.loop.now)
      case .failure(let error): self.fail(error, at: self.loop.now)
      }
    }
    state = .resolving(ticket, route)
  }

  private func dial(_ route: Route, server: SocketAddress?, at now: Instant) {
    let connector = Connector(
      loop: loop, host: route.proxy?.host ?? route.host, port: route.proxy?.port ?? route.port,
      families: route.families, at: now
    ) { [weak self] outcome, now in
      guard let self else {
        if case .success((let descriptor, _)) = outcome { SystemCalls.closeDescriptor(descriptor) }
        return
      }
      switch outcome {
      case .success((let descriptor, let peer)):
        (self.descriptor, self.peer) = (descriptor, peer)
        if let proxy = route.proxy, !route.isForwarded {
          self.tunnel(through: proxy, to: route, server: server, at: now)
        } else {
          self.connected(at: now)
        }
      case .failure(let error): self.fail(Self.unreachable(route, error), at: now)
      }
    }
    state = .connecting(connector, route)
  }

  /// Returns the error, attributed to the proxy if there is one.
  static func unreachable(_ route: Route, _ error: TransportError) -> TransportError {
    guard let proxy = route.proxy else { return error }
    return .proxy(proxy.description, .unreachable(error.description))
  }

  /// Asks the connected proxy for the server.
  private func tunnel(
    through proxy: Proxy, to route: Route, server: SocketAddress?, at now: Instant
  ) {
    do throws(ProxyError) {
      let negotiation = try ProxyNegotiation(
        proxy: proxy, host: route.host, port: route.port, address: server)
      talk(negotiation, with: proxy, at: now)
    } catch { fail(.proxy(proxy.description, error), at: now) }
  }

  func talk(_ negotiation: ProxyNegotiation, with proxy: Proxy, at now: Instant) {
    let input = early ?? ByteBuffer(capacity: 4096)
    // Only the negotiation may read it.
    early = nil
    var isOpen = false
    do throws(TransportError) {
      while !isOpen {
        outgoing.append(negotiation.output.view)
        negotiation.output.removeAll()
        try flush()
        guard let count = try receive(into: input, atMost: 4096) else { break }
        isOpen = try Self.take(input, negotiation, from: proxy, isLast: count == 0)
      }
    } catch {
      if case .reset(let reason) = error {
        fail(.proxy(proxy.description, .lost(reason)), at: now)
      } else {
        fail(error, at: now)
      }
      return
    }
    if !input.isEmpty || !isOpen { early = input }
    if isOpen {
      connected(at: now)
    } else {
      state = .tunnelling(negotiation, proxy)
    }
  }

  private static func take(
    _ input: ByteBuffer, _ negotiation: ProxyNegotiation, from proxy: Proxy, isLast: Bool
  ) throws(TransportError) -> Bool {
    do throws(ProxyError) {
      let isOpen = try negotiation.receive(from: input)
      if isLast && !isOpen { throw .endedEarly }
      return isOpen
    } catch { throw .proxy(proxy.description, error) }
  }
}

extension SocketStream: ReportingSource {
  package var interest: LoopInterest {
    switch state {
    case .starting, .adopted: return LoopInterest(deadline: LoopInterest.immediately)
    case .resolving, .connecting: return LoopInterest(deadline: openDeadline)
    case .tunnelling, .handshaking:
      let events: PollEvents = outgoing.isEmpty ? .read : [.read, .write]
      return LoopInterest(descriptor: descriptor, events: events, deadline: openDeadline)
    case .open:
      var interest = LoopInterest(descriptor: descriptor)
      if wantsRead && input == .open { interest.events.insert(.read) }
      if wantsWrite { interest.events.insert(.write) }
      // Ciphertext or plaintext inside TLS does not make the socket readable.
      if wantsRead && readsWithoutSocket { interest.deadline = LoopInterest.immediately }
      return interest
    case .closed: return LoopInterest()
    }
  }

  private var readsWithoutSocket: Bool {
    if early != nil { return true }
    guard let engine else { return false }
    return !engine.needsInput && input != .read
  }

  package func ready(_ events: PollEvents, at now: Instant) {
    switch state {
    case .tunnelling(let negotiation, let proxy): talk(negotiation, with: proxy, at: now)
    case .handshaking: continueHandshake(at: now)
    case .open:
      if events.contains(.write) && !writeReady(at: now) { return }
      if events.contains(.read) && isOpen && wantsRead { delegate?.streamReadable(self, at: now) }
    case .starting, .resolving, .connecting, .adopted, .closed: break
    }
  }

  /// Returns false if the stream has failed.
  private func writeReady(at now: Instant) -> Bool {
    do throws(TransportError) {
      try flush()
    } catch {
      if outlives(error) { return true }
      fail(error, at: now)
      return false
    }
    if outgoing.isEmpty {
      callerHasMore = false
      delegate?.streamWritable(self, at: now)
    }
    return true
  }

  package func expired(at now: Instant) {
    switch state {
    case .starting(let route): start(route, at: now)
    case .adopted: connected(at: now)
    case .resolving: fail(.timeout(.resolving), at: now)
    case .connecting(let connector, let route):
      let error = TransportError.timeout(connector.stage)
      fail(route.proxy == nil ? error : Self.unreachable(route, error), at: now)
    case .tunnelling(_, let proxy): fail(.proxy(proxy.description, .timedOut), at: now)
    case .handshaking: fail(.timeout(.handshaking), at: now)
    case .open: delegate?.streamReadable(self, at: now)
    case .closed: break
    }
  }

  func connected(at now: Instant) {
    connectedAt = loop.now
    guard let tls else {
      open(at: now)
      return
    }
    do throws(TLSError) {
      engine = try TLSEngine(context: tls, serverName: serverName)
      state = .handshaking
      continueHandshake(at: now)
    } catch { fail(.tls(error), at: now) }
  }

  private func continueHandshake(at now: Instant) {
    guard let engine else { return }
    do throws(TransportError) {
      repeat {
        let isDone: Bool
        do throws(TLSError) {
          isDone = try engine.handshake()
        } catch {
          engine.drain(into: outgoing)
          throw .tls(error)
        }
        engine.drain(into: outgoing)
        try flush()
        if isDone {
          open(at: now)
          return
        }
      } while try fill(engine, atMost: 0)
    } catch {
      // A reset at this stage says more than its error.
      if case .reset(let reason) = error {
        fail(.tls(.handshakeClosed(reason: reason)), at: now)
      } else {
        fail(error, at: now)
      }
    }
  }

  private func open(at now: Instant) {
    state = .open
    delegate?.streamOpened(self, at: now)
  }

  func fail(_ error: TransportError, at now: Instant) {
    release()
    delegate?.streamFailed(self, error, at: now)
  }
}
