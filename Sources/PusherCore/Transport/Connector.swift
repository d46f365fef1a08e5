/// Resolves a name and makes the attempts of a ``Dialer`` until one succeeds or all have failed.
final class Connector: LoopSource {
  typealias Outcome = Result<(descriptor: Int32, peer: SocketAddress), TransportError>

  private let loop: EventLoop
  private let host: String
  private let port: UInt16
  private let families: AddressFamilies
  private var dialer: Dialer
  /// Error of the first lookup; the second one asks for all addresses.
  private var unfound: TransportError?
  private var questions: [Resolver.Ticket] = []
  private var attempts: [Attempt] = []
  private var completion: ((Outcome, Instant) -> Void)?

  /// Starts at once; the loop calls `completion` later, once, never after ``cancel()``.
  init(
    loop: EventLoop, host: String, port: UInt16, families: AddressFamilies, at now: Instant,
    completion: @escaping (Outcome, Instant) -> Void
  ) {
    (self.loop, self.host, self.port, self.families) = (loop, host, port, families)
    self.dialer = Dialer(host: host, families: families)
    self.completion = completion
    loop.add(self)
    resolve(at: now)
  }

  var stage: TransportError.Stage { dialer.hasAttempted ? .connecting : .resolving }

  var interest: LoopInterest {
    // The loop also reports a failure that came without any attempt.
    LoopInterest(deadline: dialer.failure == nil ? dialer.deadline : LoopInterest.immediately)
  }

  func ready(_ events: PollEvents, at now: Instant) {}

  func expired(at now: Instant) {
    while completion != nil, let address = dialer.nextAttempt(at: now) { start(address, at: now) }
    finishIfFailed(at: now)
  }

  func cancel() {
    completion = nil
    loop.remove(self)
    for question in questions { loop.resolver.cancel(question) }
    questions.removeAll()
    for attempt in attempts { attempt.close() }
    attempts.removeAll()
  }

  private func resolve(at now: Instant) {
    if let address = Resolver.literal(host, port: port) {
      for family in dialer.openQuestions {
        dialer.resolved(family, family == address.family ? [address] : [], at: now)
      }
      return
    }
    for family in dialer.openQuestions {
      let ticket = loop.resolver.resolve(
        host, port: port, family: family, scope: unfound == nil ? .reachable : .all
      ) { [unowned self] in answered(family, $0, at: loop.now) }
      questions.append(ticket)
    }
  }

  private func answered(_ family: SocketAddress.Family, _ answer: Resolver.Answer, at now: Instant)
  {
    switch answer {
    case .success(let addresses): dialer.resolved(family, addresses, at: now)
    case .failure(.resolve(_, let reason)): dialer.resolutionFailed(family, reason: reason, at: now)
    case .failure(let error): dialer.resolutionFailed(family, reason: error.description, at: now)
    }
    guard unfound == nil, !dialer.hasAttempted, let failure = dialer.failure else { return }
    unfound = failure
    dialer = Dialer(host: host, families: families)
    resolve(at: now)
  }

  private func start(_ address: SocketAddress, at now: Instant) {
    do throws(SystemError) {
      let descriptor = try Syscalls.makeSocket(address.family)
      let attempt = Attempt(owner: self, loop: loop, descriptor: descriptor, address: address)
      attempts.append(attempt)
      if try Syscalls.startConnecting(descriptor, to: address) {
        attemptEnded(attempt, error: nil, at: now)
      } else {
        loop.add(attempt)
      }
    } catch {
      if let attempt = attempts.last, attempt.address == address {
        attemptEnded(attempt, error: error, at: now)
      } else {
        dialer.attemptFailed(address, reason: error.description)
      }
    }
  }

  fileprivate func attemptEnded(_ attempt: Attempt, error: SystemError?, at now: Instant) {
    attempts.removeAll { $0 === attempt }
    if let error {
      attempt.close()
      dialer.attemptFailed(attempt.address, reason: error.description)
      finishIfFailed(at: now)
      return
    }
    let descriptor = attempt.release()
    Syscalls.tuneConnection(descriptor)
    finish(.success((descriptor, attempt.address)), at: now)
  }

  private func finishIfFailed(at now: Instant) {
    guard let failure = dialer.failure else { return }
    // The second lookup's error says less: without a network, the name servers are out of reach.
    finish(.failure(dialer.hasAttempted ? failure : unfound ?? failure), at: now)
  }

  private func finish(_ outcome: Outcome, at now: Instant) {
    let completion = completion
    cancel()
    completion?(outcome, now)
  }
}

private final class Attempt: LoopSource {
  let address: SocketAddress
  private unowned let owner: Connector
  private let loop: EventLoop
  private var descriptor: Int32

  init(owner: Connector, loop: EventLoop, descriptor: Int32, address: SocketAddress) {
    (self.owner, self.loop) = (owner, loop)
    (self.descriptor, self.address) = (descriptor, address)
  }

  var interest: LoopInterest { LoopInterest(descriptor: descriptor, events: .write) }

  func ready(_ events: PollEvents, at now: Instant) {
    owner.attemptEnded(self, error: Syscalls.pendingError(descriptor), at: now)
  }

  func expired(at now: Instant) {}

  func release() -> Int32 {
    loop.remove(self)
    defer { descriptor = -1 }
    return descriptor
  }

  func close() {
    let descriptor = release()
    if descriptor >= 0 { Syscalls.closeDescriptor(descriptor) }
  }
}
