#if Redis
  internal import PusherCore

  // What Redis refuses. A node whose place among the others depends on it takes no part until a new registration succeeds.
  extension RedisNode {
    /// Checks an answer that the node depends on: a refusal ends the registration.
    ///
    /// - Parameters:
    ///   - what: What was asked, without names that change with each registration: a reason is told once in a row.
    ///   - generation: The registration in which it was asked; a later one does not depend on it.
    func check(
      _ result: Result<RedisReply, RedisFailure>, to what: @autoclosure () -> String,
      since generation: Int
    ) {
      guard let words = link.refusal(in: result) else { return }
      refuse(RedisRefusal.words(what(), error: words), since: generation)
    }

    /// Checks the answer to a subscription likewise.
    func checkSubscription(_ result: Result<Void, RedisFailure>, since generation: Int) {
      check(result.map { RedisReply.null }, to: "SUBSCRIBE", since: generation)
    }

    /// The number that answers a question; another answer is a refusal.
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

    /// Checks the answer to a call: where the user lacks a right, all calls fail; else this call alone.
    func checkCall(_ result: Result<RedisReply, RedisFailure>, to what: @autoclosure () -> String) {
      guard let words = link.refusal(in: result) else { return }
      let reason = RedisRefusal.words(what(), error: words)
      if RedisRefusal.isOfRights(words) {
        refuse(reason, since: generation)
      } else {
        tell(reason)
      }
    }

    /// Tells of an error that concerns one call, or a node that is gone.
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

    /// Tries what the node will do, so that everything that its user lacks is told at once.
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

    /// Names under which something may stand in Redis before it must be cleaned up first.
    static let formerLimit = 16

    /// Cleans up what failed registrations have left, before another one adds to it.
    func cleanUpFirst() {
      for former in formerIDs { cleanUp(after: former, on: channels.names) }
      refuse("the removal of earlier registrations", since: generation)
    }
  }
#endif
