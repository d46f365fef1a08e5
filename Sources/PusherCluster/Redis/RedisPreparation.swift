internal import PusherCore

/// The first commands of a connection: credentials, name, database and the server's role.
enum RedisPreparation {
  enum Step {
    case identify(RedisCommand)
    case name
    case select(database: Int)
    case role
    case ping
  }

  /// Returns the steps, which are sent at once; a Sentinel gets the password only after it asks.
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
