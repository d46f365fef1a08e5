internal import PusherCore

/// The owner of a ``RedisConnection``, called from inside the loop.
protocol RedisConnectionOwner: AnyObject {
  func connection(
    _ connection: RedisConnection, got event: RedisConversation.Event, at now: Instant)
  func connection(_ connection: RedisConnection, failed failure: RedisFailure, at now: Instant)
}

/// A ``RedisConversation`` over a socket.
///
/// Orders from one turn of the loop are written together: the owner calls ``flush()`` before the
/// wait. If that was too early, the loop returns at once. The loop keeps the connection until it is
/// closed.
final class RedisConnection: LoopSource {
  private weak var owner: (any RedisConnectionOwner)?
  private let loop: EventLoop
  private let place: String
  private let begin: (Instant) -> RedisConversation
  private(set) var conversation: RedisConversation?
  private var stream: SocketStream?
  private let input = ByteBuffer(capacity: RedisReader.portion)
  private var isClosed = false

  /// Maximum number of bytes that one turn reads.
  private static let readSize = 64 << 10

  init(
    _ role: RedisConversation.Role, to endpoint: Route, settings: RedisSettings,
    policy: RedisPolicy, identifies: Bool = true, tls: TLSContext?, loop: EventLoop,
    owner: any RedisConnectionOwner
  ) {
    self.owner = owner
    self.loop = loop
    let place = endpoint.description
    self.place = place
    begin = { now in
      RedisConversation(
        role, at: place, settings: settings, policy: policy, identifies: identifies, now: now)
    }
    let route = Route(host: endpoint.host, port: endpoint.port, families: policy.families)
    stream = SocketStream.connect(
      loop: loop, to: route, tls: tls, deadline: loop.now.advanced(by: policy.connectTime),
      delegate: self)
    loop.add(self)
  }

  func close() {
    guard !isClosed else { return }
    isClosed = true
    loop.remove(self)
    stream?.close()
    stream = nil
  }

  func flush() {
    guard isUnwritten else { return }
    write(at: loop.now)
  }

  /// True if output is ready to be written without waiting.
  private var isUnwritten: Bool {
    guard let stream, stream.isOpen, !stream.wantsWrite else { return false }
    return conversation?.output.isEmpty == false
  }

  private func write(at now: Instant) {
    guard let stream, let conversation else { return }
    do throws(TransportError) {
      try stream.write(from: conversation.output)
    } catch {
      fail(.transport(place, error), at: now)
    }
  }

  private func fail(_ failure: RedisFailure, at now: Instant) {
    guard !isClosed else { return }
    close()
    owner?.connection(self, failed: failure, at: now)
  }

  // MARK: The loop

  var interest: LoopInterest {
    LoopInterest(deadline: isUnwritten ? LoopInterest.immediately : conversation?.deadline)
  }

  func expired(at now: Instant) {
    do throws(RedisFailure) {
      try conversation?.tick(at: now)
      flush()
    } catch { fail(error, at: now) }
  }
}

extension RedisConnection: SocketStreamDelegate {
  func streamOpened(_ stream: SocketStream, at now: Instant) {
    conversation = begin(now)
    flush()
  }

  func streamReadable(_ stream: SocketStream, at now: Instant) {
    do throws(TransportError) {
      switch try stream.read(into: input, atMost: Self.readSize) {
      case .wouldBlock: return
      case .bytes: take(at: now)
      case .end: fail(.ended(place), at: now)
      }
    } catch { fail(.transport(place, error), at: now) }
  }

  func streamWritable(_ stream: SocketStream, at now: Instant) { write(at: now) }

  func streamFailed(_ stream: SocketStream, _ error: TransportError, at now: Instant) {
    fail(.transport(place, error), at: now)
  }

  private func take(at now: Instant) {
    guard let conversation else { return }
    do throws(RedisFailure) {
      while !input.isEmpty {
        let count = min(input.count, RedisReader.portion)
        conversation.receive(input.view[0..<count])
        input.consume(count)
        while let event = try conversation.next(at: now) {
          owner?.connection(self, got: event, at: now)
          if isClosed { return }
        }
      }
    } catch { fail(error, at: now) }
  }
}

/// Asks Sentinels, one after the other, for the address of the primary.
///
/// A Sentinel gets the password only if it asks for one. Source: Redis's page "Guidelines for Redis
/// clients with support for Redis Sentinel".
final class SentinelSearch {
  typealias Outcome = Result<(primary: Route, sentinel: Route), RedisFailure>

  private let settings: RedisSettings
  private let policy: RedisPolicy
  private let tls: TLSContext?
  private let loop: EventLoop
  private let name: String
  private let completion: (Outcome, Instant) -> Void
  /// Sentinels still to ask, the next one last.
  private var remaining: [Route]
  private var current: Route?
  private var connection: RedisConnection?
  private var identifies = false
  private var lastReason = "no Sentinel was asked"

  /// Starts at once; `completion` is called once from inside the loop, but not after ``close()``.
  init(
    for name: String, settings: RedisSettings, policy: RedisPolicy, tls: TLSContext?,
    loop: EventLoop, completion: @escaping (Outcome, Instant) -> Void
  ) {
    (self.name, self.settings, self.policy) = (name, settings, policy)
    (self.tls, self.loop, self.completion) = (tls, loop, completion)
    remaining = settings.endpoints.reversed()
    askNext()
  }

  deinit { connection?.close() }

  func close() {
    connection?.close()
    connection = nil
  }

  func flush() { connection?.flush() }

  /// Returns false if no Sentinel is left.
  @discardableResult private func askNext() -> Bool {
    guard let next = remaining.popLast() else { return false }
    current = next
    ask(next, identifies: false)
    return true
  }

  private func ask(_ sentinel: Route, identifies: Bool) {
    self.identifies = identifies
    connection = RedisConnection(
      .sentinel, to: sentinel, settings: settings, policy: policy, identifies: identifies,
      tls: tls, loop: loop, owner: self)
  }

  private func proceed(_ reason: String, at now: Instant) {
    close()
    lastReason = reason
    if !askNext() { completion(.failure(.noPrimary(name, reason: lastReason)), now) }
  }

  /// Returns the address that a Sentinel names; `nil` for any other answer.
  private static func place(_ reply: RedisReply) -> Route? {
    guard case .array(let parts) = reply, parts.count == 2, let host = parts[0].content,
      let digits = parts[1].content, digits.count <= 5,
      let port = UInt16(String(decoding: digits, as: UTF8.self)), port > 0
    else { return nil }
    let name = String(decoding: host, as: UTF8.self)
    let authority = HTTPURL.bracketed(name)
    guard let (host, nothing) = try? HTTPURL.hostAndPort(authority[...]), nothing == nil else {
      return nil
    }
    return Route(host: host, port: port)
  }
}

extension SentinelSearch: RedisConnectionOwner {
  func connection(
    _ connection: RedisConnection, got event: RedisConversation.Event, at now: Instant
  ) {
    switch event {
    case .ready:
      do throws(RedisFailure) {
        try connection.conversation?.send(
          RedisCommand("SENTINEL", "get-master-addr-by-name", name), at: now)
      } catch { proceed(error.description, at: now) }
    case .reply(let reply):
      let place = current?.description ?? ""
      if let primary = Self.place(reply), let current {
        close()
        completion(.success((primary, current)), now)
      } else if reply == .null {
        proceed("the Sentinel at \(place) does not know the name", at: now)
      } else {
        proceed(
          "the Sentinel at \(place) answered: \(reply.words(without: settings.password))", at: now)
      }
    case .subscribed, .refused, .message: break
    }
  }

  func connection(_ connection: RedisConnection, failed failure: RedisFailure, at now: Instant) {
    if case .credentials(_, code: "NOAUTH") = failure, !identifies, settings.password != nil,
      let current
    {
      ask(current, identifies: true)
      return
    }
    proceed(failure.description, at: now)
  }
}
