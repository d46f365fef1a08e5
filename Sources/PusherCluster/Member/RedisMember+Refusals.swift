internal import PusherCore
internal import PusherServer

// Refusals of Redis. A refusal that affects the registration makes the member inactive until it has
// registered again.
extension RedisMember {
  /// Text of a refusal; `nil` for other answers and for a lost link.
  func refusal(in result: RedisResult) -> String? {
    switch result {
    case .success(let reply): reply.errorCode == nil ? nil : words(of: reply)
    case .failure(.refused(_, _, let words)), .failure(.overloaded(let words)): words
    case .failure: nil
    }
  }

  func words(of reply: RedisReply) -> String { reply.words(without: secret) }

  /// Ends the registration if the answer is a refusal; answers for an earlier registration are
  /// ignored.
  ///
  /// - Parameter what: The command, without names that change, so that repeated reasons are logged
  ///   once.
  func check(_ result: RedisResult, to what: @autoclosure () -> String, since registration: Int) {
    guard let words = refusal(in: result) else { return }
    refuse(RedisRefusal.words(what(), error: words), since: registration)
  }

  /// Returns the number in the answer; any other answer is a refusal.
  func number(_ result: RedisResult, of what: String, since registration: Int) -> Int64? {
    if case .success(.integer(let number)) = result { return number }
    if case .success(let reply) = result {
      refuse(RedisRefusal.words(what, error: words(of: reply)), since: registration)
    } else {
      check(result, to: what, since: registration)
    }
    return nil
  }

  /// Checks the answer to an API call; only a missing right ends the registration.
  func checkCall(_ result: RedisResult, to what: @autoclosure () -> String) {
    guard let words = refusal(in: result) else { return }
    let reason = RedisRefusal.words(what(), error: words)
    if RedisRefusal.isPermissionError(words) {
      refuse(reason, since: identity.registration)
    } else {
      log(reason)
    }
  }

  /// Logs an error that affects one call, or the entries of a dead node.
  func log(_ reason: String) {
    if isNew(reason) { outbox.add(.log(.busError(reason: reason))) }
  }

  private func isNew(_ reason: String) -> Bool {
    guard trouble.lastTold.map({ !$0.isSame(as: reason) }) ?? true else { return false }
    trouble.lastTold = reason
    return true
  }

  func refuse(_ reason: String, since registration: Int) {
    guard !hasLeft else { return log(reason) }
    guard isCurrent(registration) else { return }
    stop()
    state = .lost(retries: true)
    trouble.refusal = "refuses \(reason)"
    outbox.addRefusal(isNew(reason) ? reason : nil)
  }

  /// Tries every command that the member needs, so that all missing rights are logged together.
  func probe() {
    call(
      "probe", [keys.probe(identity.id), keys.nodes, keys.enrolled, keys.users, keys.departed],
      ["bus": keys.usersBus], for: .registration(.probe))
    if hasQuota { countEvents(0, bytes: 0, isTrial: true, for: .check("the count of events")) }
  }

  func probed(_ result: RedisResult, since registration: Int) {
    guard case .success(.array(let values)) = result else {
      return check(result, to: "a script", since: registration)
    }
    let errors = values.compactMap(\.content).map { String(decoding: $0, as: UTF8.self) }
    guard !errors.isEmpty else { return }
    refuse(RedisRefusal.words(errors.map { words(of: .error($0)) }), since: registration)
  }

  /// Maximum number of former names before their entries must be removed.
  static let formerLimit = 16

  func cleanUpFirst() {
    for former in identity.formerIDs { cleanUp(after: former, on: roster.channels.names) }
    refuse("the removal of earlier registrations", since: identity.registration)
  }
}
