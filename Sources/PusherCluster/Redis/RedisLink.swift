package import PusherCore

/// A link to one Redis over two connections, for commands and for messages, which is dialled again when it is lost.
///
/// It is up while both connections are ready. When one is lost, the other is closed, everything that is under way
/// fails, and the link dials again; after that nothing is subscribed. It belongs to its loop's thread. The callbacks
/// come from inside the loop, or before a call returns where that is said, and may call the link, also to close it.
package final class RedisLink {
  package enum State: Sendable, Equatable {
    /// Commands and subscriptions may be sent.
    case up
    /// The link was lost, or an attempt has failed; the next one comes after `retryIn`.
    case down(RedisFailure, retryIn: Duration)
  }

  private enum Phase {
    /// Before ``RedisLink/start()``, and until the timer is up.
    case waiting
    case searching(SentinelSearch)
    case opening(RedisPair)
    case up(RedisPair, since: Instant)
    case closed
  }

  package typealias Reply = (Result<RedisReply, RedisFailure>) -> Void
  package typealias MessageHandler = (_ channel: [UInt8], _ payload: [UInt8]) -> Void
  package typealias Confirmation = (Result<Void, RedisFailure>) -> Void

  /// What became of the link.
  package var onChange: (State) -> Void = { _ in }
  /// A message of a channel that is subscribed: the channel and the payload, in the order in which they came.
  package var onMessage: MessageHandler = { _, _ in }

  private var settings: RedisSettings
  private let policy: RedisPolicy
  private let loop: EventLoop
  private var random: any RandomNumberGenerator
  private var phase = Phase.waiting
  private var replies = Fifo<Reply>()
  private var confirmations = Fifo<Confirmation>()
  /// The scripts that this connection's server has been given.
  private var scripts = NameSet()
  /// Attempts that failed in a row.
  private var attempts = 0
  private lazy var timer = LoopTimer(deadline: nil) { [weak self] in self?.dial() }

  /// A link that does nothing before ``start()``.
  ///
  /// - Parameters:
  ///   - settings: Which Redis.
  ///   - policy: Times, limits and trust.
  ///   - loop: The loop on whose thread it lives.
  ///   - random: Spreads the waits between attempts.
  package init(
    settings: RedisSettings, policy: RedisPolicy = RedisPolicy(), loop: EventLoop,
    random: any RandomNumberGenerator = SecureRandom.generator
  ) {
    self.settings = settings
    self.policy = policy
    self.loop = loop
    self.random = random
  }

  deinit {
    closeConnections()
    loop.remove(timer)
  }

  /// Whether commands and subscriptions are taken.
  package var isUp: Bool { if case .up = phase { true } else { false } }

  /// The server that is used; `nil` while the link is not up.
  package var primary: RedisEndpoint? {
    if case .up(let pair, _) = phase { pair.endpoint } else { nil }
  }

  /// Dials, and keeps the link up until ``close()``; once.
  package func start() {
    loop.beforeWait { [weak self] in self?.flush() }
    timer.deadline = LoopInterest.immediately
    loop.add(timer)
  }

  /// Ends the link for good; everything that is under way fails with ``RedisFailure/closed`` before this returns.
  package func close() {
    closeConnections()
    phase = .closed
    loop.remove(timer)
    failAll(.closed)
  }

  // MARK: Orders

  /// Sends a command; `reply` gets what Redis answers, an error too.
  ///
  /// While the link is not up, or when too much waits, it fails before this returns.
  package func send(_ command: RedisCommand, _ reply: @escaping Reply) {
    guard case .up(let pair, _) = phase, let conversation = pair.commands.conversation else {
      return reply(.failure(isClosed ? .closed : .down))
    }
    do throws(RedisFailure) {
      try conversation.send(command, at: loop.now)
      replies.append(reply)
    } catch {
      reply(.failure(error))
    }
  }

  /// Asks for a channel's messages; `done` comes once Redis has confirmed, or refused.
  ///
  /// While the link is not up, or when too much waits, it fails before this returns.
  package func subscribe(_ channel: [UInt8], _ done: @escaping Confirmation) {
    guard case .up(let pair, _) = phase, let conversation = pair.subscriber.conversation else {
      return done(.failure(isClosed ? .closed : .down))
    }
    do throws(RedisFailure) {
      try conversation.subscribe(channel, at: loop.now)
      confirmations.append(done)
    } catch {
      done(.failure(error))
    }
  }

  /// Asks for no more messages of a channel; those that are on their way still come.
  ///
  /// When too much waits for that, the link is dialled anew, since it would go on to bring what nobody wants.
  package func unsubscribe(_ channel: [UInt8]) {
    guard case .up(let pair, _) = phase, let conversation = pair.subscriber.conversation else {
      return
    }
    do throws(RedisFailure) {
      try conversation.unsubscribe(channel, at: loop.now)
    } catch {
      lose(error, at: loop.now)
    }
  }

  /// Whether the server has this script from us; from now on it has.
  func noteUse(of script: RedisScript) -> Bool {
    isUp && !scripts.insert(script.sha1)
  }

  private var isClosed: Bool { if case .closed = phase { true } else { false } }

  // MARK: Dialling

  private func dial() {
    do throws(TLSError) {
      let tls =
        settings.isSecure
        ? try loop.tlsContexts.client(policy.tls, environment: policy.trust) : nil
      guard let name = settings.primaryName else {
        guard let endpoint = settings.endpoints.first else { return }
        return open(endpoint, tls)
      }
      phase = .searching(
        SentinelSearch(for: name, settings: settings, policy: policy, tls: tls, loop: loop) {
          [weak self] outcome, now in
          switch outcome {
          case .success((let endpoint, let sentinel)):
            self?.askFirst(sentinel)
            self?.open(endpoint, tls)
          case .failure(let failure): self?.lose(failure, at: now)
          }
        })
    } catch {
      let place = settings.endpoints.first?.description ?? ""
      lose(.transport(place, .tls(error)), at: loop.now)
    }
  }

  /// A Sentinel that has answered is the first to be asked the next time.
  private func askFirst(_ sentinel: RedisEndpoint) {
    settings.endpoints.removeAll { $0 == sentinel }
    settings.endpoints.insert(sentinel, at: 0)
  }

  private func open(_ endpoint: RedisEndpoint, _ tls: TLSContext?) {
    phase = .opening(
      RedisPair(
        endpoint, settings: settings, policy: policy, tls: tls, loop: loop, owner: self))
  }

  /// Closes what is left of the link, fails what was under way, and sets the time of the next attempt.
  private func lose(_ failure: RedisFailure, at now: Instant) {
    guard !isClosed else { return }
    let delay = nextDelay(at: now)
    closeConnections()
    phase = .waiting
    timer.deadline = now.advanced(by: delay)
    failAll(failure)
    if !isClosed { onChange(.down(failure, retryIn: delay)) }
  }

  /// None after a link that was stable; else longer with each attempt.
  private func nextDelay(at now: Instant) -> Duration {
    if case .up(_, let start) = phase, start.duration(to: now) >= policy.stableAfter {
      attempts = 0
      return .zero
    }
    defer { attempts += 1 }
    return policy.backoff.delay(attempt: attempts, random: random.next())
  }

  private func closeConnections() {
    switch phase {
    case .waiting, .closed: break
    case .searching(let search): search.close()
    case .opening(let pair), .up(let pair, _): pair.close()
    }
  }

  private func failAll(_ failure: RedisFailure) {
    scripts.removeAll()
    let replies = replies.takeAll()
    let confirmations = confirmations.takeAll()
    for reply in replies { reply(.failure(failure)) }
    for confirmation in confirmations { confirmation(.failure(failure)) }
  }

  package func flush() {
    switch phase {
    case .waiting, .closed: break
    case .searching(let search): search.flush()
    case .opening(let pair), .up(let pair, _): pair.flush()
    }
  }
}

extension RedisLink: RedisConnectionOwner {
  func connection(
    _ connection: RedisConnection, got event: RedisConversation.Event, at now: Instant
  ) {
    switch event {
    case .ready:
      guard case .opening(let pair) = phase, pair.noteReady() else { return }
      phase = .up(pair, since: now)
      onChange(.up)
    case .reply(let reply):
      replies.popFirst()?(.success(reply))
      // The primary has become a replica: another server is the primary now, or will be.
      if reply.saysReadOnly, case .up(let pair, _) = phase, pair.commands === connection {
        lose(.notPrimary(pair.endpoint.description), at: now)
      }
    case .subscribed: confirmations.popFirst()?(.success(()))
    case .refused(_, let words):
      let place = primary?.description ?? ""
      confirmations.popFirst()?(.failure(.refused(place, command: "SUBSCRIBE", error: words)))
    case .message(let channel, let payload): onMessage(channel, payload)
    }
  }

  func connection(_ connection: RedisConnection, failed failure: RedisFailure, at now: Instant) {
    lose(failure, at: now)
  }
}

/// The two connections of a link to one server.
final class RedisPair {
  let endpoint: RedisEndpoint
  let commands: RedisConnection
  let subscriber: RedisConnection
  private var missing = 2

  init(
    _ endpoint: RedisEndpoint, settings: RedisSettings, policy: RedisPolicy, tls: TLSContext?,
    loop: EventLoop, owner: any RedisConnectionOwner
  ) {
    self.endpoint = endpoint
    commands = RedisConnection(
      .commands, to: endpoint, settings: settings, policy: policy, tls: tls, loop: loop,
      owner: owner)
    subscriber = RedisConnection(
      .subscriber, to: endpoint, settings: settings, policy: policy, tls: tls, loop: loop,
      owner: owner)
  }

  /// One of the two is ready; true when both are.
  func noteReady() -> Bool {
    missing -= 1
    return missing == 0
  }

  func flush() {
    commands.flush()
    subscriber.flush()
  }

  func close() {
    commands.close()
    subscriber.close()
  }
}
