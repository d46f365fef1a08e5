internal import PusherCore

/// What a connection begins with: who we are, the database, and whether the server is a primary.
enum RedisPreparation {
  enum Step {
    case identify(RedisCommand)
    case name
    case select(database: Int)
    case role
    case ping
  }

  /// The steps, sent at once and answered in this order.
  ///
  /// - Parameter identifies: Whether the server gets the password; a Sentinel gets it only when it asks.
  static func steps(
    _ role: RedisConversation.Role, _ settings: RedisSettings, identifies: Bool
  ) -> [Step] {
    var steps: [Step] = []
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
}

extension RedisPreparation.Step {
  var command: RedisCommand {
    switch self {
    case .identify(let command): command
    case .name: RedisCommand("CLIENT", "SETNAME", "pusher-cli")
    case .select(let database): RedisCommand("SELECT", "\(database)")
    case .role: RedisCommand("ROLE")
    case .ping: RedisCommand("PING")
    }
  }

  /// Throws when the connection cannot be used after this answer.
  func check(
    _ reply: RedisReply, at place: String, _ secret: RedisPassword?
  ) throws(RedisFailure) {
    if reply.isError("NOAUTH") { throw .credentials(place, code: "NOAUTH") }
    switch self {
    case .identify:
      guard case .error = reply else { return }
      throw .credentials(place, code: reply.codeWord)
    case .name:
      // A name only helps people who look at the list of clients.
      return
    case .select(let database):
      guard case .error = reply else { return }
      let words = reply.words(without: secret)
      throw .refused(place, command: "SELECT \(database)", error: words)
    case .role: try checkRole(reply, at: place, secret)
    case .ping:
      // A server that loads its data from disk tells so here.
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
          error: "it is a Sentinel, which a URL of redis+sentinel names")
      default: throw .violation(place, "its answer to ROLE names no role")
      }
    // Where the user may not ask, a replica shows itself by refusing to write.
    case .error where reply.isError("NOPERM"): return
    case .error: throw .refused(place, command: "ROLE", error: reply.words(without: secret))
    case .status, .integer, .bytes, .null:
      throw .violation(place, "its answer to ROLE names no role")
    }
  }
}

extension RedisReply {
  /// The code of an error as it may stand in a message; a code has upper-case letters only.
  fileprivate var codeWord: String {
    guard let code = errorCode, code.utf8.allSatisfy({ (0x41...0x5A).contains($0) }) else {
      return "ERR"
    }
    return code
  }
}
