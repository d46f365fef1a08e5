package import PusherCore

/// One connection to a Redis or a Sentinel, without the connection: orders and bytes in, bytes and events out.
///
/// First it says who it is and asks whether the server is a primary, then it is ready. Commands are answered in their
/// order; a subscriber's connection takes subscriptions only, since Redis allows nothing else there in version 2 of
/// the protocol. Source: Redis's pages "RESP protocol specification" and "Redis Pub/Sub".
package final class RedisConversation {
  /// What the connection is for.
  package enum Role: Sendable, Equatable {
    case commands
    case subscriber
    /// Questions for a Sentinel, which is neither primary nor replica.
    case sentinel
  }

  package enum Event: Equatable {
    /// Commands and subscriptions may be sent.
    case ready
    /// The answer to the oldest command that has none.
    case reply(RedisReply)
    /// The oldest subscription that was neither is confirmed.
    case subscribed([UInt8])
    /// The oldest subscription that was neither is refused, with the words of the error.
    case refused([UInt8], String)
    case message(channel: [UInt8], payload: [UInt8])
  }

  /// What an answer belongs to.
  private enum Expectation {
    case preparation(RedisPreparation.Step)
    case reply
    case subscription([UInt8])
    case unsubscription([UInt8])
    case ping
  }

  /// What is to be sent; the owner sends it, and takes it out of there.
  package let output = ByteBuffer(capacity: 1024)

  private let role: Role
  /// The server, for errors.
  private let place: String
  private let secret: RedisPassword?
  private let policy: RedisPolicy
  private let reader: RedisReader
  private var isReady = false
  private var hasToldReady = false
  private var due = Fifo<(what: Expectation, sent: Instant)>()
  /// When something whole came last; at first when the connection was made.
  private var lastReply: Instant

  /// Begins with what the server has to know; the connection stands.
  package init(
    _ role: Role, at place: String, settings: RedisSettings, policy: RedisPolicy,
    identifies: Bool = true, now: Instant
  ) {
    self.role = role
    self.place = place
    self.policy = policy
    secret = settings.password
    reader = RedisReader(limits: policy.replies)
    lastReply = now
    for step in RedisPreparation.steps(role, settings, identifies: identifies) {
      step.command.write(to: output)
      due.append((.preparation(step), now))
    }
    isReady = due.isEmpty
  }

  /// How many answers are due.
  package var dueCount: Int { due.count }

  // MARK: Orders

  /// Sends a command, once ready and on a connection that is not a subscriber's.
  package func send(_ command: RedisCommand, at now: Instant) throws(RedisFailure) {
    precondition(isReady && role != .subscriber, "no connection for commands")
    try order(command, .reply, at: now)
  }

  /// Asks for the messages of a channel, once ready and on a subscriber's connection.
  package func subscribe(_ channel: [UInt8], at now: Instant) throws(RedisFailure) {
    precondition(isReady && role == .subscriber, "no connection for subscriptions")
    try order(RedisCommand([Array("SUBSCRIBE".utf8), channel]), .subscription(channel), at: now)
  }

  /// Asks for no more messages of a channel; the answer is no event.
  package func unsubscribe(_ channel: [UInt8], at now: Instant) throws(RedisFailure) {
    precondition(isReady && role == .subscriber, "no connection for subscriptions")
    let command = RedisCommand([Array("UNSUBSCRIBE".utf8), channel])
    try order(command, .unsubscription(channel), at: now)
  }

  private func order(
    _ command: RedisCommand, _ what: Expectation, at now: Instant
  ) throws(RedisFailure) {
    guard due.count < policy.outstanding else {
      throw .overloaded("more than \(policy.outstanding) answers are due")
    }
    guard output.count + command.size <= policy.queuedBytes else {
      throw .overloaded("more than \(policy.queuedBytes >> 20) MiB are to be sent")
    }
    command.write(to: output)
    due.append((what, now))
  }

  // MARK: Time

  /// When to call ``tick(at:)``.
  package var deadline: Instant {
    guard let oldest = due.first else { return lastReply.advanced(by: policy.heartbeat) }
    return max(oldest.sent, lastReply).advanced(by: policy.answerTime)
  }

  /// Asks a silent server whether it is there; throws when it was asked and gave no answer.
  package func tick(at now: Instant) throws(RedisFailure) {
    guard now >= deadline else { return }
    guard due.isEmpty else { throw .noAnswer(place, policy.answerTime) }
    RedisCommand("PING").write(to: output)
    due.append((.ping, now))
  }

  // MARK: Answers

  /// Takes bytes, ``RedisReader/portion`` at most; ask ``next(at:)`` for all events before the next call.
  package func receive(_ bytes: ByteView) {
    reader.feed(bytes)
  }

  /// The next event; `nil` when more bytes are needed.
  ///
  /// An error is the end of the connection.
  package func next(at now: Instant) throws(RedisFailure) -> Event? {
    if isReady, !hasToldReady {
      hasToldReady = true
      return .ready
    }
    while let reply = try read() {
      lastReply = now
      if let event = try isReady ? answer(reply) : prepare(reply) { return event }
    }
    return nil
  }

  private func read() throws(RedisFailure) -> RedisReply? {
    do throws(RedisReader.Failure) {
      return try reader.next()
    } catch {
      switch error {
      case .violation(let what): throw .violation(place, what)
      case .limit(let what): throw .limit(place, what)
      }
    }
  }

  private func prepare(_ reply: RedisReply) throws(RedisFailure) -> Event? {
    guard case .preparation(let step)? = due.popFirst()?.what else { throw unasked(reply) }
    try step.check(reply, at: place, secret)
    guard due.isEmpty else { return nil }
    isReady = true
    hasToldReady = true
    return .ready
  }

  private func answer(_ reply: RedisReply) throws(RedisFailure) -> Event? {
    if role == .subscriber { return try push(reply) }
    switch due.popFirst()?.what {
    case .reply: return .reply(reply)
    case .ping:
      try checkPong(reply)
      return nil
    case .preparation, .subscription, .unsubscription, nil: throw unasked(reply)
    }
  }

  /// What comes on a subscriber's connection: messages at any time, and answers in their order.
  private func push(_ reply: RedisReply) throws(RedisFailure) -> Event? {
    guard case .array(let parts) = reply, let kind = parts.first?.content else {
      return try plainAnswer(reply)
    }
    switch (String(decoding: kind, as: UTF8.self), parts.count) {
    case ("message", 3):
      guard let channel = parts[1].content, let payload = parts[2].content else { break }
      return .message(channel: channel, payload: payload)
    case ("subscribe", 3):
      guard case .subscription(let channel)? = due.popFirst()?.what, parts[1].content == channel
      else { break }
      return .subscribed(channel)
    case ("unsubscribe", 3):
      guard case .unsubscription(let channel)? = due.popFirst()?.what,
        parts[1].content == channel
      else { break }
      return nil
    case ("pong", 2):
      guard case .ping? = due.popFirst()?.what else { break }
      return nil
    default: break
    }
    throw unasked(reply)
  }

  /// An answer as other connections get them: a refusal, or a pong while nothing is subscribed.
  private func plainAnswer(_ reply: RedisReply) throws(RedisFailure) -> Event? {
    switch due.popFirst()?.what {
    case .ping:
      try checkPong(reply)
      return nil
    case .subscription(let channel):
      guard case .error = reply else { throw unasked(reply) }
      return .refused(channel, reply.words(without: secret))
    case .unsubscription:
      guard case .error = reply else { throw unasked(reply) }
      throw .refused(place, command: "UNSUBSCRIBE", error: reply.words(without: secret))
    case .preparation, .reply, nil: throw unasked(reply)
    }
  }

  /// An error is an answer too, such as that of a server that lets this user send no PING.
  private func checkPong(_ reply: RedisReply) throws(RedisFailure) {
    switch reply {
    case .status, .error: return
    case .integer, .bytes, .null, .array: throw unasked(reply)
    }
  }

  private func unasked(_ reply: RedisReply) -> RedisFailure {
    // An error that comes unasked says why the server ends the connection, such as too many clients.
    if case .error = reply {
      return .refused(place, command: "the connection", error: reply.words(without: secret))
    }
    return .violation(place, "it sent an answer that fits no question")
  }
}
