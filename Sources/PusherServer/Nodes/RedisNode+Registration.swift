#if Redis
  internal import PusherCore

  // Registration: what a node does when Redis is there, and there again.
  extension RedisNode {
    /// What has become of what stood in Redis under the former id.
    enum Remains {
      /// It stands there still, so that what the node has now is no news.
      case intact
      /// Another node has told it as gone, so that all of it is news.
      case cleanedUp
      /// Redis was emptied: nobody was told that anything is gone.
      case lost
    }

    /// Redis cannot be reached: sockets stay, and what they ask for waits.
    func lose() {
      generation += 1
      (isRegistered, isReady) = (false, false)
      gathering = nil
      line = RedisQueue()
      dropAbandoned()
      for channel in channels.elements { channel.forgetLink() }
    }

    /// Registers everything anew, under a new id: what stands under the former one may be half done, or cleaned up.
    ///
    /// - Parameter isFenced: Whether nothing more can come to Redis that was sent under a former id. Else what stands there
    ///   under it stays until that lease is over.
    func register(isFenced: Bool) {
      lose()
      self.isFenced = isFenced
      wantsRetry = false
      link.unsubscribe(keys.answers(id))
      if hasBegun { formerIDs.append(id) }
      hasBegun = false
      id = newID()
      let names = channels.names
      var left = names.count + 2
      let generation = generation
      let heard = { [weak self] (result: Result<Void, RedisFailure>) in
        guard let self, self.generation == generation else { return }
        guard case .success = result else { return checkSubscription(result, since: generation) }
        left -= 1
        if left == 0 { askForRemains() }
      }
      link.subscribe(keys.answers(id), heard)
      for name in names { link.subscribe(keys.bus(name), heard) }
      // Last, since others count the nodes that listen to it.
      link.subscribe(keys.usersBus, heard)
    }

    /// What Redis has answered shows that the lease is over, or that it was emptied: the node registers anew, unless it
    /// has meanwhile.
    func noticeLoss(since generation: Int) {
      // What was sent under the former id has come before this answer.
      if self.generation == generation { register(isFenced: true) }
    }

    /// Everything is listened to; what it means depends on what Redis still knows.
    private func askForRemains() {
      let generation = generation
      guard !isFenced || formerIDs.count < Self.formerLimit else { return cleanUpFirst() }
      probe()
      var remains = Remains.intact
      if let registeredID {
        let words = [Array("SISMEMBER".utf8), keys.nodes, Array(registeredID.utf8)]
        link.send(RedisCommand(words)) { [weak self] result in
          if self?.number(result, of: "SISMEMBER", since: generation) == 0 { remains = .lost }
        }
        link.send(RedisCommand([Array("EXISTS".utf8), keys.gone(registeredID)])) {
          [weak self] result in
          if self?.number(result, of: "EXISTS", since: generation) == 1 { remains = .cleanedUp }
        }
      }
      // What many connections need may take long to put into Redis.
      let size = channels.elements.reduce(users.count) { $0 + 1 + $1.members.count }
      let lease = Self.lease + .milliseconds(size)
      link.run(
        RedisScripts.begin, keys: [keys.lease(id), keys.nodes],
        arguments: [
          "\(ownConnectionCount)", "\(lease.wholeNanoseconds / 1_000_000)", id,
        ].map { Array($0.utf8) }
      ) { [weak self] result in
        guard let self, let end = number(result, of: "the lease", since: generation),
          self.generation == generation
        else { return }
        leaseEnd = end
        begin(remains)
      }
    }

    private func begin(_ remains: Remains) {
      // An emptied Redis may have forgotten channels that sockets joined since; who left at the lease's end may be counted still
      // on a channel that needed no cleaning up.
      let names =
        (remains == .lost ? channels.names : []) + departures.subscriptions.map(\.channel)
      dropAbandoned()
      let generation = generation
      // Comes after the answers to all that is put into Redis.
      enrol(remains) { [weak self] result in
        guard let self, self.generation == generation,
          number(result, of: "PUBLISH", since: generation) != nil
        else { return }
        enrolled(remains, names)
      }
    }

    /// What the node has stands in Redis.
    private func enrolled(_ remains: Remains, _ names: [String]) {
      let isFirst = registeredID == nil
      registeredID = id
      // Each until it is done, since the link may be lost meanwhile.
      if isFenced { for former in formerIDs { cleanUp(after: former, on: names) } }
      if remains == .lost { holdAgain() }
      if isFirst { return takePart() }
      // Where Redis was emptied, only this node knows how many there were.
      gathering = RedisGathering(
        until: loop.now.advanced(by: Self.lease), count: remains == .lost ? nodeCount : nil)
      gather(at: loop.now)
      onGathering()
    }

    /// Puts what the node has into Redis.
    ///
    /// - Parameter done: Called with the last answer.
    private func enrol(
      _ remains: Remains, _ done: @escaping (Result<RedisReply, RedisFailure>) -> Void
    ) {
      hasBegun = true
      for name in channels.names { enrol(name, remains) }
      for userID in users.names {
        // Those whose answer is due come with their request.
        let connections = (users[userID] ?? 0) - waitingSignIns(of: userID)
        if connections > 0 { enrol(userID: userID, connections, remains) }
      }
      enrolDepartures(remains)
      send("SADD", [keys.enrolled, Array(id.utf8)])
      link.send(
        RedisCommand([Array("PUBLISH".utf8), keys.usersBus, RedisFields.encode(["n", id])]), done)
      isRegistered = true
    }

    private func enrol(_ name: String, _ remains: Remains) {
      guard let channel = channels[name] else { return }
      channel.noteFollowed()
      send("SADD", [keys.channels(of: id), Array(name.utf8)])
      if channel.members.isEmpty, channel.count > 0 {
        rejoin(name, as: nil, connections: channel.count, remains)
      }
      for entry in channel.members.elements {
        rejoin(name, as: entry.member, connections: entry.connections, remains)
      }
    }

    private func enrol(userID: String, _ connections: Int, _ remains: Remains) {
      signIn(
        SignedInUser(member: Member(userID: userID), watchlist: []), socketID: "", request: 0,
        connections: connections, isNews: remains != .lost)
    }

    /// Puts those into Redis who left while it could not be told.
    ///
    /// Where it was emptied they are counted in once more, and out when all nodes are back: then it is known who was the
    /// last one. Else they are counted out with the former id.
    private func enrolDepartures(_ remains: Remains) {
      guard remains == .lost else {
        departures = RedisDepartures()
        return
      }
      for departure in departures.subscriptions {
        send("SADD", [keys.channels(of: id), Array(departure.channel.utf8)])
        rejoin(departure.channel, as: departure.member, connections: 1, remains)
      }
      for userID in departures.users { enrol(userID: userID, 1, remains) }
    }

    private func rejoin(
      _ name: String, as member: Member?, connections: Int, _ remains: Remains
    ) {
      join(name, as: member, socketID: "", request: 0, connections: connections) {
        [weak self] result in
        // Where nobody was told that they had gone, nobody is told that they have come.
        guard remains == .cleanedUp, let self, case .success(.array(let values)) = result,
          values.count == 3
        else { return }
        noteJoined(
          name, as: member, isFirst: RedisChange(values[0]), isNew: RedisChange(values[1]))
      }
    }

    private func waitingSignIns(of userID: String) -> Int {
      requests.values.count {
        if case .signIn(let user, _, _) = $0 { user.id.isSame(as: userID) } else { false }
      }
    }

    // MARK: The others

    /// Looks whether the others are back after a loss; before, nothing is published that they would miss, and nobody is
    /// told how things stand.
    func gather(at now: Instant) {
      guard let gathering else { return }
      let generation = generation
      var counts: [Int] = []
      let note = { [weak self] (result: Result<RedisReply, RedisFailure>) in
        guard let self, self.generation == generation, self.gathering != nil else { return }
        guard link.refusal(in: result) == nil else {
          return check(result, to: "a count of the servers", since: generation)
        }
        counts.append(result.count)
        guard counts.count == 3 else { return }
        let wanted = gathering.count ?? counts[0]
        if counts[1...].allSatisfy({ $0 >= wanted }) || gathering.end <= now { takePart() }
      }
      link.send(RedisCommand([Array("SCARD".utf8), keys.nodes]), note)
      link.send(RedisCommand([Array("SCARD".utf8), keys.enrolled]), note)
      link.send(
        RedisCommand([Array("PUBSUB".utf8), Array("NUMSUB".utf8), keys.usersBus]), note)
    }

    /// From here on sockets get answers, and events are published.
    private func takePart() {
      gathering = nil
      isReady = true
      refusal = nil
      dropAbandoned()
      settle()
      for (number, request) in requests.sorted(by: { $0.key < $1.key }) { send(request, number) }
      onReady()
    }

    /// Counts out who left meanwhile, and asks for the members of all channels, to compare them with what the sockets
    /// here know.
    private func settle() {
      let left = departures
      departures = RedisDepartures()
      for departure in left.subscriptions { countOut(departure) }
      for userID in left.users { signOut(userID) }
      for name in channels.names where channels[name]?.known != nil {
        join(name, as: Member(userID: ""), socketID: "", request: -1, connections: 0)
      }
    }

    /// Tells the sockets here how the members differ from what they were told before Redis was lost.
    func compare(_ fields: [String], _ channel: RedisChannel, at now: Instant) {
      guard fields.count >= 7, let known = channel.known else { return }
      let name = fields[1]
      let present = Self.members(fields)
      for member in present.members where !known.contains(member.userID) {
        channel.known?.insert(member.userID)
        receiver?.deliver(
          .channel(
            name, SharedFrame(setup.text.memberAdded(channel: name, member: member)), except: nil),
          at: now)
      }
      for userID in known.sorted where present[userID] == nil {
        removed(
          userID, from: name,
          setup.text.memberRemoved(channel: name, userID: .string(userID)), at: now)
      }
    }
  }

  /// A node's wait for the others, after a loss.
  struct RedisGathering {
    /// Who is not back by then is gone.
    let end: Instant
    /// How many nodes are wanted; `nil` for those that Redis knows.
    let count: Int?

    init(until end: Instant, count: Int?) {
      (self.end, self.count) = (end, count)
    }
  }

  extension Result<RedisReply, RedisFailure> {
    /// A number, or the one that stands last in a list.
    fileprivate var count: Int {
      switch self {
      case .success(.integer(let count)): Int(count)
      case .success(.array(let values)):
        if case .integer(let count)? = values.last { Int(count) } else { 0 }
      case .success, .failure: 0
      }
    }
  }
#endif
