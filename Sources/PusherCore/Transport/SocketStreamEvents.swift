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
