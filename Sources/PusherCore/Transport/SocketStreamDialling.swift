extension SocketStream {
  /// Connects, after a lookup if the proxy needs the server's address.
  func start(_ route: Route, at now: Instant) {
    let address = Resolver.literal(route.host, port: route.port)
    guard route.proxy?.kind == .socks5, address == nil else {
      dial(route, server: address, at: now)
      return
    }
    let families = route.families.preference
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
        if case .success((let descriptor, _)) = outcome { Syscalls.closeDescriptor(descriptor) }
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
        try say(negotiation.output)
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

  private func say(_ bytes: ByteBuffer) throws(TransportError) {
    outgoing.append(bytes.view)
    bytes.removeAll()
    try flush()
  }
}
