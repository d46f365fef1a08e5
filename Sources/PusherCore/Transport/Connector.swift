/// Makes the attempts that a ``Dialer`` decides on, until one stands or all have failed.
final class Connector: LoopSource {
  typealias Outcome = Result<(descriptor: Int32, peer: SocketAddress), TransportError>

  private let loop: EventLoop
  private var dialer: Dialer
  private var attempts: [Attempt] = []
  private let completion: (Outcome, Instant) -> Void
  private var isDone = false

  /// `completion` is called once, on the loop's thread; never after ``cancel()``.
  init(
    loop: EventLoop, addresses: [SocketAddress], completion: @escaping (Outcome, Instant) -> Void
  ) {
    self.loop = loop
    self.dialer = Dialer(addresses: addresses)
    self.completion = completion
    loop.add(self)
  }

  var interest: LoopInterest { LoopInterest(deadline: dialer.deadline) }

  func ready(_ events: PollEvents, at now: Instant) {}

  func expired(at now: Instant) {
    while !isDone, let address = dialer.nextAttempt(at: now) {
      start(address, at: now)
    }
  }

  /// Gives up all attempts.
  func cancel() {
    isDone = true
    loop.remove(self)
    for attempt in attempts { attempt.close() }
    attempts.removeAll()
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
        attemptFailed(address, error, at: now)
      }
    }
  }

  fileprivate func attemptEnded(_ attempt: Attempt, error: SystemError?, at now: Instant) {
    attempts.removeAll { $0 === attempt }
    if let error {
      attempt.close()
      attemptFailed(attempt.address, error, at: now)
      return
    }
    let descriptor = attempt.release()
    Syscalls.tuneConnection(descriptor)
    cancel()
    completion(.success((descriptor, attempt.address)), now)
  }

  private func attemptFailed(_ address: SocketAddress, _ error: SystemError, at now: Instant) {
    dialer.attemptFailed(address, reason: error.description)
    guard let failure = dialer.failure else { return }
    cancel()
    completion(.failure(failure), now)
  }
}

/// One connection on its way.
private final class Attempt: LoopSource {
  let address: SocketAddress
  private unowned let owner: Connector
  private let loop: EventLoop
  private var descriptor: Int32

  init(owner: Connector, loop: EventLoop, descriptor: Int32, address: SocketAddress) {
    self.owner = owner
    self.loop = loop
    self.descriptor = descriptor
    self.address = address
  }

  var interest: LoopInterest { LoopInterest(descriptor: descriptor, events: .write) }

  func ready(_ events: PollEvents, at now: Instant) {
    owner.attemptEnded(self, error: Syscalls.pendingError(descriptor), at: now)
  }

  func expired(at now: Instant) {}

  /// Hands the descriptor over.
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
