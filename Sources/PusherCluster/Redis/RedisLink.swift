package import PusherCore

/// A link to one Redis over two connections, for commands and for messages, that reconnects after a
/// loss.
///
/// The link is up while both connections are ready. When one is lost, the link closes the other,
/// fails all pending commands and reconnects, without any subscription. It belongs to its loop's
/// thread. Callbacks come from inside the loop, or before a call returns where the call's comment
/// says so. A callback may call the link, even to close it.
package final class RedisLink {
  package enum State: Sendable, Equatable {
    case up
    /// The link was lost, or an attempt failed; the next attempt starts after `retryIn`.
    case down(RedisFailure, retryIn: Duration)
  }

  private enum Phase {
    case waiting
    case searching(SentinelSearch)
    case opening(RedisPair)
    case up(RedisPair, since: Instant)
    case closed
  }

  package typealias Reply = (RedisResult) -> Void
  package typealias MessageHandler = (_ channel: [UInt8], _ payload: [UInt8]) -> Void
  package typealias Confirmation = (Result<Void, RedisFailure>) -> Void

  package var onChange: (State) -> Void = { _ in }
  package var onMessage: MessageHandler = { _, _ in }
  /// True if the link has served its purpose; otherwise its loss counts as a failed attempt.
  package var isUseful: () -> Bool = { true }

  private var settings: RedisSettings
  private let policy: RedisPolicy
  private let loop: EventLoop
  private var random: any RandomNumberGenerator
  private var phase = Phase.waiting
  private var replies = Fifo<Reply>()
  private var confirmations = Fifo<Confirmation>()
  /// SHA-1 sums of the scripts that this connection's server has received.
  private var scripts = NameSet()
  private var attempts = 0
  private lazy var timer = LoopTimer(deadline: nil) { [weak self] in self?.dial() }

  /// - Parameter random: Spreads the waits between attempts.
  package init(
    settings: RedisSettings, policy: RedisPolicy = RedisPolicy(), loop: EventLoop,
    random: any RandomNumberGenerator = SecureRandom.generator
  ) {
    (self.settings, self.policy, self.loop) = (settings, policy, loop)
    self.random = random
  }

  deinit {
    closeConnections()
    loop.remove(timer)
  }

  package var isUp: Bool { if case .up = phase { true } else { false } }

  package var primary: Route? {
    if case .up(let pair, _) = phase { pair.endpoint } else { nil }
  }

  /// Connects, and reconnects until ``close()``; call it once.
  package func start() {
    loop.beforeWait { [weak self] in self?.flush() }
    timer.deadline = LoopInterest.immediately
    loop.add(timer)
  }

  /// Closes the link for good, after failing all pending commands with ``RedisFailure/closed``.
  package func close() {
    closeConnections()
    phase = .closed
    loop.remove(timer)
    failAll(.closed)
  }

  // MARK: Orders

  /// Sends a command; `reply` gets the answer of Redis, even an error.
  ///
  /// It fails before this returns while the link is not up or a limit is reached.
  package func send(_ command: RedisCommand, _ reply: @escaping Reply) {
    do throws(RedisFailure) {
      try pair().commands.conversation?.send(command, at: loop.now)
      replies.append(reply)
    } catch { reply(.failure(error)) }
  }

  /// Subscribes to a channel; `done` gets the answer of Redis, or fails like ``send(_:_:)``.
  package func subscribe(_ channel: [UInt8], _ done: @escaping Confirmation) {
    do throws(RedisFailure) {
      try pair().subscriber.conversation?.subscribe(channel, at: loop.now)
      confirmations.append(done)
    } catch { done(.failure(error)) }
  }

  /// Unsubscribes from a channel; messages that are on their way still come.
  ///
  /// The link reconnects if a limit is reached, because unwanted messages would go on otherwise.
  package func unsubscribe(_ channel: [UInt8]) {
    guard case .up(let pair, _) = phase else { return }
    do throws(RedisFailure) {
      try pair.subscriber.conversation?.unsubscribe(channel, at: loop.now)
    } catch { lose(error, at: loop.now) }
  }

  /// Throws an error while the link is not up; a link that is up has both conversations.
  private func pair() throws(RedisFailure) -> RedisPair {
    if case .up(let pair, _) = phase { return pair }
    throw isClosed ? .closed : .down
  }

  private func noteUse(of script: RedisScript) -> Bool { isUp && !scripts.insert(script.sha1) }

  private var isClosed: Bool { if case .closed = phase { true } else { false } }

  // MARK: Dialling

  private func dial() {
    do throws(TLSError) {
      let tls =
        settings.isSecure ? try loop.tlsContexts.client(policy.tls, environment: policy.trust) : nil
      guard let name = settings.primaryName else {
        guard let endpoint = settings.endpoints.first else { return }
        return open(endpoint, tls)
      }
      phase = .searching(
        SentinelSearch(for: name, settings: settings, policy: policy, tls: tls, loop: loop) {
          [weak self] outcome, now in
          switch outcome {
          case .success((let endpoint, let sentinel)):
            // A Sentinel that has answered is the first one in the next search.
            self?.settings.endpoints.removeAll { $0 == sentinel }
            self?.settings.endpoints.insert(sentinel, at: 0)
            self?.open(endpoint, tls)
          case .failure(let failure): self?.lose(failure, at: now)
          }
        })
    } catch {
      let place = settings.endpoints.first?.description ?? ""
      lose(.transport(place, .tls(error)), at: loop.now)
    }
  }

  private func open(_ endpoint: Route, _ tls: TLSContext?) {
    phase = .opening(
      RedisPair(endpoint, settings: settings, policy: policy, tls: tls, loop: loop, owner: self))
  }

  /// Closes the connections, fails all pending commands, and schedules the next attempt.
  private func lose(_ failure: RedisFailure, at now: Instant) {
    guard !isClosed else { return }
    let delay = nextDelay(at: now)
    closeConnections()
    phase = .waiting
    timer.deadline = now.advanced(by: delay)
    failAll(failure)
    if !isClosed { onChange(.down(failure, retryIn: delay)) }
  }

  /// Returns no delay after a stable and useful link, else a longer delay with each attempt.
  private func nextDelay(at now: Instant) -> Duration {
    if case .up(_, let start) = phase, isUseful(), start.duration(to: now) >= policy.stableAfter {
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
      // The primary has become a replica, so another server is the primary or will be.
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
    if case .ended = failure, case .up(let pair, _) = phase, pair.subscriber === connection {
      return lose(.messagesLost(failure.description), at: now)
    }
    lose(failure, at: now)
  }
}

final class RedisPair {
  let endpoint: Route
  let commands: RedisConnection
  let subscriber: RedisConnection
  private var missing = 2

  init(
    _ endpoint: Route, settings: RedisSettings, policy: RedisPolicy, tls: TLSContext?,
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

/// Timeouts and limits of a link to Redis, and options of its connections.
package struct RedisPolicy: Sendable, Equatable {
  /// Timeout from the name lookup to a writable connection, with TLS.
  package var connectTime = Duration.seconds(5)
  /// Maximum time between two answers while any answer is due.
  package var answerTime = Duration.seconds(5)
  /// Time without a reply after which the link sends a PING.
  package var heartbeat = Duration.seconds(5)
  package var backoff = Backoff(floor: .milliseconds(100), ceiling: .seconds(5))
  /// A link that was up for this long reconnects at once after a loss.
  package var stableAfter = Duration.seconds(5)
  /// Maximum number of commands without an answer, and of subscriptions without a confirmation.
  package var outstanding = 100_000
  package var queuedBytes = 64 << 20
  package var replies = RedisReader.Limits()
  package var tls = TLSConfiguration()
  package var trust = TLSEnvironment()
  package var families = SocketAddress.Family.both

  package init() {}
}

package struct RedisScript: Sendable, Equatable {
  package let text: String
  /// The name under which Redis keeps the script: its SHA-1 in hexadecimal digits.
  package let sha1: String

  package init(_ text: String) {
    self.text = text
    sha1 = Hex.encode(Digest.sha1(Array(text.utf8)))
  }

  /// Returns the command that runs the script, by name or, for a Redis without the script, by text.
  package func command(keys: [[UInt8]], arguments: [[UInt8]], byName: Bool) -> RedisCommand {
    let head = byName ? ["EVALSHA", sha1] : ["EVAL", text]
    return RedisCommand((head + ["\(keys.count)"]).map { Array($0.utf8) } + keys + arguments)
  }
}

extension RedisLink {
  /// Runs a script, with the result as from ``send(_:_:)``.
  ///
  /// The first call on a connection sends the text, later calls send the name. A Redis that has
  /// lost the script gets the text again; commands sent in the meantime run before it.
  package func run(
    _ script: RedisScript, keys: [[UInt8]], arguments: [[UInt8]],
    _ reply: @escaping (RedisResult) -> Void
  ) {
    let isKnown = noteUse(of: script)
    send(script.command(keys: keys, arguments: arguments, byName: isKnown)) {
      [weak self] result in
      guard isKnown, case .success(let answer) = result, answer.isError("NOSCRIPT"), let self
      else { return reply(result) }
      send(script.command(keys: keys, arguments: arguments, byName: false), reply)
    }
  }
}
