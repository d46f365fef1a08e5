package import PusherCore

/// The protocol of one connection to a Redis or a Sentinel: orders and bytes in, bytes and events
/// out.
///
/// It first sends credentials and asks for the server's role, then it is ready. Redis answers
/// commands in their order. A subscriber's connection takes subscriptions only, because version 2
/// of the protocol allows nothing else there. Source: Redis's pages "RESP protocol specification"
/// and "Redis Pub/Sub".
package final class RedisConversation {
  package enum Role: Sendable, Equatable {
    case commands
    case subscriber
    case sentinel
  }

  package enum Event: Equatable {
    case ready
    case reply(RedisReply)
    case subscribed([UInt8])
    /// Redis refused the oldest pending subscription; with the text of the error.
    case refused([UInt8], String)
    case message(channel: [UInt8], payload: [UInt8])
  }

  private enum Expectation {
    case preparation(RedisPreparation)
    case reply
    case subscription([UInt8])
    case unsubscription([UInt8])
    case ping
  }

  /// Bytes to send; the owner removes the sent bytes.
  package let output = ByteBuffer(capacity: 1024)

  private let role: Role
  private let place: String
  private let secret: RedisPassword?
  private let policy: RedisPolicy
  private let reader: RedisReader
  private var isReady = false
  private var due = Fifo<(what: Expectation, sent: Instant)>()
  /// Time of the last whole reply; at first, the time of the connection.
  private var lastReply: Instant

  package init(
    _ role: Role, at place: String, settings: RedisSettings, policy: RedisPolicy,
    identifies: Bool = true, now: Instant
  ) {
    (self.role, self.place, self.policy) = (role, place, policy)
    secret = settings.password
    reader = RedisReader(of: place, limits: policy.replies)
    lastReply = now
    for step in RedisPreparation.steps(role, settings, identifies: identifies) {
      step.command.write(to: output)
      due.append((.preparation(step), now))
    }
  }

  package var dueCount: Int { due.count }

  // MARK: Orders

  /// Sends a command; the connection must be ready and not a subscriber's.
  package func send(_ command: RedisCommand, at now: Instant) throws(RedisFailure) {
    precondition(isReady && role != .subscriber, "no connection for commands")
    try order(command, .reply, at: now)
  }

  /// Subscribes to a channel; the connection must be ready and a subscriber's.
  package func subscribe(_ channel: [UInt8], at now: Instant) throws(RedisFailure) {
    precondition(isReady && role == .subscriber, "no connection for subscriptions")
    try order(RedisCommand([Array("SUBSCRIBE".utf8), channel]), .subscription(channel), at: now)
  }

  /// Unsubscribes from a channel; its answer is no event.
  package func unsubscribe(_ channel: [UInt8], at now: Instant) throws(RedisFailure) {
    precondition(isReady && role == .subscriber, "no connection for subscriptions")
    let command = RedisCommand([Array("UNSUBSCRIBE".utf8), channel])
    try order(command, .unsubscription(channel), at: now)
  }

  private func order(
    _ command: RedisCommand, _ what: Expectation, at now: Instant
  ) throws(RedisFailure) {
    guard due.count < policy.outstanding else {
      throw .overloaded("more than \(policy.outstanding) answers are pending")
    }
    guard output.count + command.size <= policy.queuedBytes else {
      throw .overloaded("more than \(policy.queuedBytes >> 20) MiB wait to be sent")
    }
    command.write(to: output)
    due.append((what, now))
  }

  // MARK: Time

  package var deadline: Instant {
    guard let oldest = due.first else { return lastReply.advanced(by: policy.heartbeat) }
    return max(oldest.sent, lastReply).advanced(by: policy.answerTime)
  }

  /// Sends a PING to a silent server; throws an error if an answer is overdue.
  package func tick(at now: Instant) throws(RedisFailure) {
    guard now >= deadline else { return }
    guard due.isEmpty else { throw .noAnswer(place, policy.answerTime) }
    RedisCommand("PING").write(to: output)
    due.append((.ping, now))
  }

  // MARK: Answers

  /// Takes at most ``RedisReader/portion`` bytes; ``next(at:)`` must return all events in between.
  package func receive(_ bytes: ByteView) { reader.feed(bytes) }

  /// Returns the next event; `nil` if more bytes are needed.
  ///
  /// An error ends the connection.
  package func next(at now: Instant) throws(RedisFailure) -> Event? {
    while let reply = try reader.next() {
      lastReply = now
      if let event = try isReady ? answer(reply) : prepare(reply) { return event }
    }
    return nil
  }

  private func prepare(_ reply: RedisReply) throws(RedisFailure) -> Event? {
    guard case .preparation(let step)? = due.popFirst()?.what else { throw unasked(reply) }
    try step.check(reply, at: place, secret)
    guard due.isEmpty else { return nil }
    isReady = true
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

  /// Handles a reply on a subscriber's connection: messages come at any time, answers in order.
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
      guard case .unsubscription(let channel)? = due.popFirst()?.what, parts[1].content == channel
      else { break }
      return nil
    case ("pong", 2):
      guard case .ping? = due.popFirst()?.what else { break }
      return nil
    default: break
    }
    throw unasked(reply)
  }

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

  /// An error is an answer too, for example from a server that forbids PING to this user.
  private func checkPong(_ reply: RedisReply) throws(RedisFailure) {
    switch reply {
    case .status, .error: return
    case .integer, .bytes, .null, .array: throw unasked(reply)
    }
  }

  private func unasked(_ reply: RedisReply) -> RedisFailure {
    // The error explains why the server ends the connection, for example too many clients.
    if case .error = reply {
      return .refused(place, command: "the connection", error: reply.words(without: secret))
    }
    return .violation(place, "it sent an unexpected answer")
  }
}

/// The first commands of a connection: credentials, name, database and the server's role.
private enum RedisPreparation {
  case identify(RedisCommand)
  case name
  case select(database: Int)
  case role
  case ping

  /// Returns the steps, which are sent at once; a Sentinel gets the password only after it asks.
  static func steps(
    _ role: RedisConversation.Role, _ settings: RedisSettings, identifies: Bool
  ) -> [RedisPreparation] {
    var steps: [RedisPreparation] = []
    if identifies, let password = settings.password {
      let words = ["AUTH"] + (settings.user.map { [$0] } ?? []) + [password.text]
      steps.append(.identify(RedisCommand(words.map { Array($0.utf8) })))
    }
    steps.append(.name)
    if role == .sentinel { return steps }
    guard role == .commands else { return steps + [.role] }
    if settings.database != 0 { steps.append(.select(database: settings.database)) }
    return steps + [.role, .ping]
  }

  var command: RedisCommand {
    switch self {
    case .identify(let command): command
    case .name: RedisCommand("CLIENT", "SETNAME", "pusher-cli")
    case .select(let database): RedisCommand("SELECT", "\(database)")
    case .role: RedisCommand("ROLE")
    case .ping: RedisCommand("PING")
    }
  }

  func check(_ reply: RedisReply, at place: String, _ secret: RedisPassword?) throws(RedisFailure) {
    if reply.isError("NOAUTH") { throw .credentials(place, code: "NOAUTH") }
    switch self {
    case .identify:
      guard case .error = reply else { return }
      throw .credentials(place, code: reply.codeWord)
    case .name:
      // The name only helps people who read the list of clients, so a refusal does no harm.
      return
    case .select(let database):
      guard case .error = reply else { return }
      let words = reply.words(without: secret)
      throw .refused(place, command: "SELECT \(database)", error: words)
    case .role: try checkRole(reply, at: place, secret)
    case .ping:
      // A server that still loads its data from disk says so here.
      guard case .error = reply, !reply.isError("NOPERM") else { return }
      throw .refused(place, command: "PING", error: reply.words(without: secret))
    }
  }

  private func checkRole(
    _ reply: RedisReply, at place: String, _ secret: RedisPassword?
  ) throws(RedisFailure) {
    switch reply {
    case .array(let parts):
      switch parts.first?.content {
      case Array("master".utf8): return
      case Array("slave".utf8): throw .notPrimary(place)
      case Array("sentinel".utf8):
        throw .refused(
          place, command: "the connection",
          error: "it is a Sentinel, which needs a URL with redis+sentinel")
      default: throw .violation(place, "its answer to ROLE names no role")
      }
    // If the user may not send ROLE, a replica shows itself later by refusing writes.
    case .error where reply.isError("NOPERM"): return
    case .error: throw .refused(place, command: "ROLE", error: reply.words(without: secret))
    case .status, .integer, .bytes, .null:
      throw .violation(place, "its answer to ROLE names no role")
    }
  }
}

extension RedisReply {
  /// The code of an error, as a message may show it; a code has upper-case letters only.
  fileprivate var codeWord: String {
    guard let code = errorCode, code.utf8.allSatisfy({ (0x41...0x5A).contains($0) }) else {
      return "ERR"
    }
    return code
  }
}

package struct RedisCommand: Sendable, Equatable {
  private let words: [[UInt8]]

  package init(_ words: [[UInt8]]) {
    precondition(!words.isEmpty, "a command without a name")
    self.words = words
  }

  package init(_ words: String...) { self.init(words.map { Array($0.utf8) }) }

  /// Maximum size on the wire, in bytes: each word has a length and two line ends.
  package var size: Int { words.reduce(24) { $0 + $1.count + 24 } }

  /// Appends the wire form: an array of bulk strings.
  ///
  /// Source: Redis's page "RESP protocol specification".
  package func write(to output: ByteBuffer) {
    Self.write(UInt8(ascii: "*"), words.count, to: output)
    for word in words {
      Self.write(UInt8(ascii: "$"), word.count, to: output)
      output.append(word)
      output.append("\r\n")
    }
  }

  private static func write(_ type: UInt8, _ length: Int, to output: ByteBuffer) {
    output.append(type)
    output.append(decimal: length)
    output.append("\r\n")
  }
}
