#if Redis
  internal import PusherCore

  // Refusals of Redis. After a refusal that affects its registration, a node serves nothing until it has registered again.
  extension RedisNode {
    /// Ends the registration if the answer is a refusal.
    ///
    /// - Parameters:
    ///   - what: The command, without names that change with each registration, so that repeated reasons are logged once.
    ///   - generation: The registration that sent the command; an answer for an earlier registration is ignored.
    func check(
      _ result: Result<RedisReply, RedisFailure>, to what: @autoclosure () -> String,
      since generation: Int
    ) {
      guard let words = link.refusal(in: result) else { return }
      refuse(RedisRefusal.words(what(), error: words), since: generation)
    }

    /// Does the same for the answer to a subscription.
    func checkSubscription(_ result: Result<Void, RedisFailure>, since generation: Int) {
      check(result.map { RedisReply.null }, to: "SUBSCRIBE", since: generation)
    }

    /// Returns the number in the answer; any other answer is a refusal.
    func number(
      _ result: Result<RedisReply, RedisFailure>, of what: String, since generation: Int
    ) -> Int64? {
      if case .success(.integer(let number)) = result { return number }
      if case .success(let reply) = result {
        refuse(RedisRefusal.words(what, error: link.words(of: reply)), since: generation)
      } else {
        check(result, to: what, since: generation)
      }
      return nil
    }

    /// Checks the answer to an API call.
    ///
    /// A missing right ends the registration; any other error fails this call alone.
    func checkCall(_ result: Result<RedisReply, RedisFailure>, to what: @autoclosure () -> String) {
      guard let words = link.refusal(in: result) else { return }
      let reason = RedisRefusal.words(what(), error: words)
      if RedisRefusal.isOfRights(words) {
        refuse(reason, since: generation)
      } else {
        tell(reason)
      }
    }

    /// Logs an error that affects one call, or the entries of a dead node.
    func tell(_ reason: String) {
      if isNews(reason) { log(.busError(reason: reason)) }
    }

    private func isNews(_ reason: String) -> Bool {
      guard lastTold.map({ !$0.isSame(as: reason) }) ?? true else { return false }
      lastTold = reason
      return true
    }

    func refuse(_ reason: String, since generation: Int) {
      guard !hasLeft else { return tell(reason) }
      guard self.generation == generation else { return }
      lose()
      refusal = "refuses \(reason)"
      wantsRetry = true
      onRefusal(isNews(reason) ? reason : nil)
    }

    /// Tries every command that the node needs, so that all missing rights are logged together.
    func probe() {
      let generation = generation
      link.run(
        RedisScripts.probe,
        keys: [keys.probe(id), keys.nodes, keys.enrolled, keys.users, keys.departed],
        arguments: [keys.usersBus]
      ) { [weak self] result in
        guard let self else { return }
        guard case .success(.array(let values)) = result else {
          return check(result, to: "a script", since: generation)
        }
        let errors = values.compactMap(\.content).map { String(decoding: $0, as: UTF8.self) }
        guard !errors.isEmpty else { return }
        refuse(
          RedisRefusal.words(errors.map { link.words(of: .error($0)) }), since: generation)
      }
      probeQuotas(since: generation)
    }

    private func probeQuotas(since generation: Int) {
      let limits = setup.application.limits
      guard limits.eventsPerSecond != nil || limits.bytesPerSecond != nil else { return }
      link.run(
        RedisScripts.admit, keys: keys.quotas, arguments: ["0", "0", "", ""].map { Array($0.utf8) }
      ) { [weak self] in self?.check($0, to: "the count of events", since: generation) }
    }

    /// Maximum number of former IDs; above it they are removed before another registration.
    static let formerLimit = 16

    /// Removes the entries of failed registrations before another registration adds more.
    func cleanUpFirst() {
      for former in formerIDs { cleanUp(after: former, on: channels.names) }
      refuse("the removal of earlier registrations", since: generation)
    }
  }
#endif
