#if Redis
  internal import PusherCore

  extension RedisNode: Bus {
    var isAvailable: Bool { isReady }

    func publish(_ event: ChannelEvent, at now: Instant) -> Int? {
      guard isReady else { return nil }
      let message = RedisFields.encode([
        "m", event.channel, event.isFromClient ? "2" : "1", event.excluded ?? "",
        setup.text.event(event),
      ])
      guard event.isKept else {
        publish(RedisCommand([Array("PUBLISH".utf8), keys.bus(event.channel), message]))
        return nil
      }
      let kept = CachedEvents.Event(name: event.name, data: event.data ?? .null, expiry: nil)
      let time = setup.limits.cacheLifetime.map { "\($0.wholeNanoseconds / 1_000_000)" } ?? ""
      notePublished()
      let generation = generation
      link.run(
        RedisScripts.keep, keys: [keys.event(event.channel)],
        arguments: [
          Array(kept.stored.utf8), Array(time.utf8), keys.bus(event.channel), message,
        ]
      ) { [weak self] in self?.noteAnswer($0, since: generation) }
      return nil
    }

    func terminate(userID: String, at now: Instant) {
      guard isReady else { return }
      publish(
        RedisCommand([
          Array("PUBLISH".utf8), keys.usersBus, RedisFields.encode(["t", userID]),
        ]))
    }
  }

  extension RedisNode: Registry {
    func join(
      _ request: JoinRequest, at now: Instant, _ answer: @escaping (JoinAnswer, Instant) -> Void
    ) {
      if request.isSecond, !request.isAgain {
        leave(request.channel, userID: request.formerUserID, at: now)
      }
      ask(.join(request, answer))
    }

    func leave(_ name: String, userID: String?, at now: Instant) {
      guard let channel = channels[name] else { return }
      let member = userID.flatMap { channel.members[$0]?.member }
      channel.remove(userID)
      let departure = RedisDepartures.Subscription(channel: name, member: member)
      if isReady {
        countOut(departure)
      } else {
        departures.subscriptions.append(departure)
      }
      forgetIfEmpty(name)
    }

    /// Counts a connection out.
    func countOut(_ departure: RedisDepartures.Subscription) {
      let name = departure.channel
      let userID = departure.member?.userID
      let (before, after) = countText(name)
      let generation = generation
      unansweredDepartures += 1
      link.run(
        RedisScripts.leave, keys: keys.channel(name),
        arguments: [Array(id.utf8), keys.bus(name)]
          + [
            name, userID == nil ? "0" : "1", userID ?? "", before, after, "\(leaseEnd)", delayText,
          ].map { Array($0.utf8) }
      ) { [weak self] result in
        guard let self else { return }
        defer { unansweredDepartures -= 1 }
        guard case .success(.array(let values)) = result, values.count == 3 else {
          check(result, to: "the departure from \(name)", since: generation)
          // Nobody knows whether it was counted; where it was not, the former id is cleaned up.
          return departures.subscriptions.append(departure)
        }
        if values[2] == .integer(-1) {
          departures.subscriptions.append(departure)
          return noticeLoss(since: generation)
        }
        if self.generation == generation { noteCountedOut(name) }
        if let userID {
          noteDeparture(.init(.memberRemoved, name, userID: userID), RedisChange(values[1]))
        }
        noteDeparture(.init(.channelVacated, name), RedisChange(values[0]))
        if case .integer(let count) = values[2] { noteCount(name, Int(count)) }
      }
    }

    func signIn(
      _ user: SignedInUser, socketID: String, at now: Instant,
      _ answer: @escaping (NameSet, Instant) -> Void
    ) {
      users[user.id, default: 0] += 1
      ask(.signIn(user, socketID: socketID, answer))
    }

    func signOut(_ userID: String, at now: Instant) {
      guard let count = users[userID] else { return }
      users[userID] = count == 1 ? nil : count - 1
      if isReady {
        signOut(userID)
      } else {
        departures.users.append(userID)
      }
    }

    /// Counts a connection of a user out.
    func signOut(_ userID: String) {
      let generation = generation
      unansweredDepartures += 1
      link.run(
        RedisScripts.signOut, keys: [keys.users, keys.users(of: id)],
        arguments: signOutWords(userID, connections: 1, leaseEnd: "\(leaseEnd)")
      ) { [weak self] result in
        guard let self else { return }
        defer { unansweredDepartures -= 1 }
        guard case .success(.integer(let change)) = result else {
          check(result, to: "a sign-out", since: generation)
          return departures.users.append(userID)
        }
        guard change < 0 else { return }
        departures.users.append(userID)
        noticeLoss(since: generation)
      }
    }

    /// What ``RedisScripts/signOut`` is told; an empty `leaseEnd` where a node is cleaned up after.
    func signOutWords(_ userID: String, connections: Int, leaseEnd: String) -> [[UInt8]] {
      [keys.usersBus]
        + [
          userID, setup.text.watchlist(offline: [userID]), "\(connections)", leaseEnd,
        ].map { Array($0.utf8) }
    }

    func admit(
      events: Int, bytes: Int, at now: Instant, _ answer: @escaping (Admission) -> Void
    ) {
      guard isReady else { return answer(.unavailable) }
      let limits = setup.application.limits
      guard limits.eventsPerSecond != nil || limits.bytesPerSecond != nil else {
        return answer(.admitted)
      }
      let texts = [
        "\(events)", "\(bytes)", limits.eventsPerSecond.map { "\($0)" } ?? "",
        limits.bytesPerSecond.map { "\($0)" } ?? "",
      ]
      let generation = generation
      link.run(
        RedisScripts.admit, keys: keys.quotas, arguments: texts.map { Array($0.utf8) }
      ) { [weak self] result in
        self?.check(result, to: "the count of events", since: generation)
        switch result {
        case .success(.integer(1)):
          answer(.overQuota(limits.refusal(ofEvents: true)))
        case .success(.integer(2)):
          answer(.overQuota(limits.refusal(ofEvents: false)))
        case .success(.integer): answer(.admitted)
        default: answer(.unavailable)
        }
      }
    }

    func facts(
      of channels: [String], at now: Instant, _ answer: @escaping ([ChannelFacts]?) -> Void
    ) {
      guard isReady else { return answer(nil) }
      guard !channels.isEmpty else { return answer([]) }
      var all: [ChannelFacts] = []
      var isKnown = true
      for name in channels {
        link.run(RedisScripts.facts, keys: keys.channel(name), arguments: []) {
          [weak self] result in
          self?.checkCall(result, to: "the facts of \(name)")
          let facts = ChannelFacts(name: name, result)
          isKnown = isKnown && facts != nil
          all.append(facts ?? ChannelFacts(name: name))
          // Answers come in the order of the questions.
          if all.count == channels.count { answer(isKnown ? all : nil) }
        }
      }
    }

    func occupiedChannels(prefix: String, _ answer: @escaping ([String]?) -> Void) {
      guard isReady else { return answer(nil) }
      link.send(RedisCommand([Array("SMEMBERS".utf8), keys.nodes])) { [weak self] result in
        guard let self, case .success(.array(let nodes)) = result, !nodes.isEmpty else {
          self?.checkCall(result, to: "SMEMBERS")
          return answer(nil)
        }
        let sets = nodes.compactMap(\.content).map {
          self.keys.channels(of: String(decoding: $0, as: UTF8.self))
        }
        link.send(RedisCommand([Array("SUNION".utf8)] + sets)) { [weak self] result in
          guard let self, case .success(.array(let values)) = result else {
            self?.checkCall(result, to: "SUNION")
            return answer(nil)
          }
          let names = values.compactMap(\.content).map { String(decoding: $0, as: UTF8.self) }
            .filter { $0.begins(with: prefix) }.sorted()
          // A node may have listed a channel that nobody is subscribed to any more, or not yet.
          facts(of: names, at: loop.now) { facts in
            answer(facts?.filter { $0.subscriptions > 0 }.map(\.name))
          }
        }
      }
    }

    func tick(at now: Instant) {
      tellDueCounts(at: now)
    }
  }

  extension ChannelFacts {
    /// What ``RedisScripts/facts`` returns.
    fileprivate init?(name: String, _ result: Result<RedisReply, RedisFailure>) {
      guard case .success(.array(let values)) = result, values.count >= 3,
        case .integer(let count) = values[0], case .integer(let timeLeft) = values[2]
      else { return nil }
      self.init(name: name)
      subscriptions = Int(count)
      let texts = values.map { String(decoding: $0.content ?? [], as: UTF8.self) }
      if let event = CachedEvents.Event(stored: texts[1]) {
        cached = CachedFacts(
          name: event.name, data: event.data.text ?? JSONWriter.text(event.data),
          timeLeft: timeLeft > 0 ? .milliseconds(timeLeft) : nil)
      }
      members = MemberList(
        stored: stride(from: 3, to: texts.count - 1, by: 2).map { (texts[$0], texts[$0 + 1]) })
    }
  }
#endif
