internal import PusherCore

/// Asks Sentinels, one after the other, for the address of the primary.
///
/// A Sentinel gets the password only if it asks for one. Source: Redis's page "Guidelines for Redis
/// clients with support for Redis Sentinel".
final class SentinelSearch {
  typealias Outcome = Result<(primary: RedisEndpoint, sentinel: RedisEndpoint), RedisFailure>

  private let settings: RedisSettings
  private let policy: RedisPolicy
  private let tls: TLSContext?
  private let loop: EventLoop
  private let name: String
  private let completion: (Outcome, Instant) -> Void
  /// Sentinels still to ask, the next one last.
  private var remaining: [RedisEndpoint]
  private var current: RedisEndpoint?
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

  private func ask(_ sentinel: RedisEndpoint, identifies: Bool) {
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
  private static func place(_ reply: RedisReply) -> RedisEndpoint? {
    guard case .array(let parts) = reply, parts.count == 2, let host = parts[0].content,
      let digits = parts[1].content, digits.count <= 5,
      let port = UInt16(String(decoding: digits, as: UTF8.self)), port > 0
    else { return nil }
    let name = String(decoding: host, as: UTF8.self)
    let authority = host.contains(UInt8(ascii: ":")) ? "[\(name)]" : name
    guard let (host, nothing) = try? HTTPURL.hostAndPort(authority[...]), nothing == nil else {
      return nil
    }
    return RedisEndpoint(host: host, port: port)
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
