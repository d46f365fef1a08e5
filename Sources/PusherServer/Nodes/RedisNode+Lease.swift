#if Redis
  internal import PusherCore

  // Registration: what a node does when Redis is there, and to stay known.
  extension RedisNode {
    /// Redis cannot be reached: sockets stay, and what they ask for waits.
    func lose() {
      generation += 1
      isReady = false
      line = RedisQueue()
      for channel in channels.elements { channel.forgetLink() }
    }

    /// Registers everything anew, under a new id: what stands under the former one may be half done, or cleaned up.
    func register() {
      lose()
      formerIDs.append(id)
      id = newID()
      let names = channels.names
      var left = names.count + 2
      let generation = generation
      let heard = { [weak self] (result: Result<Void, RedisFailure>) in
        guard case .success = result, let self, self.generation == generation else { return }
        left -= 1
        if left == 0 { enrol() }
      }
      link.subscribe(keys.answers(id), heard)
      link.subscribe(keys.usersBus, heard)
      for name in names { link.subscribe(keys.bus(name), heard) }
    }

    /// Everything is listened to: from here on commands are taken in their order.
    private func enrol() {
      send(
        "SET",
        [keys.lease(id), Array("\(ownConnectionCount)".utf8), Array("PX".utf8), Self.leaseText])
      send("SADD", [keys.nodes, Array(id.utf8)])
      for name in channels.names {
        guard let channel = channels[name] else { continue }
        channel.noteFollowed()
        send("SADD", [keys.channels(of: id), Array(name.utf8)])
        guard !channel.members.isEmpty else {
          if channel.count > 0 {
            join(name, as: nil, socketID: "", request: 0, connections: channel.count)
          }
          continue
        }
        for entry in channel.members.elements {
          join(
            name, as: entry.member, socketID: "", request: 0, connections: entry.connections)
        }
      }
      for userID in users.names {
        // Those whose answer is due come with their request.
        let connections = (users[userID] ?? 0) - waitingSignIns(of: userID)
        guard connections > 0 else { continue }
        signIn(
          SignedInUser(member: Member(userID: userID), watchlist: []), socketID: "", request: 0,
          connections: connections)
      }
      isReady = true
      for (number, request) in requests.sorted(by: { $0.key < $1.key }) { send(request, number) }
      for former in formerIDs { reap(former) }
      formerIDs = []
      // By then all other nodes have registered too, or are counted as gone.
      comparesAt = loop.now.advanced(by: Self.lease + Self.beat)
    }

    private func waitingSignIns(of userID: String) -> Int {
      requests.values.count {
        if case .signIn(let user, _, _) = $0 { user.id.isSame(as: userID) } else { false }
      }
    }

    private static var leaseText: [UInt8] { Array("\(lease.wholeNanoseconds / 1_000_000)".utf8) }

    private func send(_ name: String, _ words: [[UInt8]]) {
      link.send(RedisCommand([Array(name.utf8)] + words)) { [weak self] in self?.check($0) }
    }

    // MARK: Signs of life

    /// Tells that it is alive, and looks who is not.
    func giveSign(at now: Instant) {
      guard isReady else { return }
      if let time = comparesAt, time <= now {
        comparesAt = nil
        askForMembers()
      }
      let generation = generation
      link.run(
        RedisScripts.beat, keys: [keys.lease(id)],
        arguments: [Array("\(ownConnectionCount)".utf8), Self.leaseText]
      ) { [weak self] result in
        self?.check(result)
        // The others have counted this node as gone, and told its members so.
        if case .success(.integer(0)) = result, self?.generation == generation { self?.register() }
      }
      link.send(RedisCommand([Array("SMEMBERS".utf8), keys.nodes])) { [weak self] result in
        guard let self, case .success(.array(let values)) = result else { return }
        let others = values.compactMap(\.content).map { String(decoding: $0, as: UTF8.self) }
          .filter { $0 != self.id }
        look(at: others)
      }
    }

    private func look(at others: [String]) {
      guard !others.isEmpty else {
        otherConnections = 0
        return
      }
      link.send(RedisCommand([Array("MGET".utf8)] + others.map(keys.lease))) { [weak self] result in
        guard let self, case .success(.array(let leases)) = result, leases.count == others.count
        else { return }
        var connections = 0
        for (node, lease) in zip(others, leases) {
          if let content = lease.content {
            connections += Int(String(decoding: content, as: UTF8.self)) ?? 0
          } else {
            reap(node)
          }
        }
        otherConnections = connections
      }
    }

    /// The server ends, and all its sockets have left.
    func resign() {
      guard isReady else { return }
      isReady = false
      send("DEL", [keys.lease(id), keys.channels(of: id), keys.users(of: id)])
      send("SREM", [keys.nodes, Array(id.utf8)])
    }

    // MARK: Those that are gone

    /// Cleans up after a node; of several that see it one does.
    func reap(_ node: String) {
      let words = ["NX", "PX", "10000"].map { Array($0.utf8) }
      link.send(
        RedisCommand([Array("SET".utf8), keys.reaping(node), Array(id.utf8)] + words)
      ) { [weak self] result in
        guard let self, case .success(.status) = result else { return }
        // Whether or not the lease still runs: this is also how a node gives up its former id.
        send("DEL", [keys.lease(node)])
        reapChannels(of: node)
        reapUsers(of: node)
      }
    }

    private func reapChannels(of node: String) {
      link.send(RedisCommand([Array("SMEMBERS".utf8), keys.channels(of: node)])) {
        [weak self] result in
        guard let self, case .success(.array(let values)) = result else { return }
        for name in values.compactMap(\.content).map({ String(decoding: $0, as: UTF8.self) }) {
          let (before, after) = countText(name)
          link.run(
            RedisScripts.reap, keys: keys.channel(name),
            arguments: [Array(node.utf8), keys.bus(name)]
              + [name, before, after].map { Array($0.utf8) }
          ) { [weak self] in self?.reaped(name, $0) }
        }
        // Last, so that another node begins again where this one was stopped.
        send("DEL", [keys.channels(of: node)])
        send("SREM", [keys.nodes, Array(node.utf8)])
      }
    }

    private func reaped(_ name: String, _ result: Result<RedisReply, RedisFailure>) {
      check(result)
      guard case .success(.array(let values)) = result else { return }
      for userID in values.dropFirst().compactMap(\.content) {
        note(.init(.memberRemoved, name, userID: String(decoding: userID, as: UTF8.self)))
      }
      if values.first == .integer(1) { note(.init(.channelVacated, name)) }
    }

    private func reapUsers(of node: String) {
      link.send(RedisCommand([Array("HGETALL".utf8), keys.users(of: node)])) { [weak self] result in
        guard let self, case .success(.array(let values)) = result else { return }
        let texts = values.compactMap(\.content).map { String(decoding: $0, as: UTF8.self) }
        for index in stride(from: 0, to: texts.count - 1, by: 2) {
          signOut(texts[index], connections: Int(texts[index + 1]) ?? 0, from: node)
        }
        send("DEL", [keys.users(of: node)])
      }
    }

    // MARK: After a loss

    /// Asks for the members of all channels; the answers are compared with what the sockets here know.
    private func askForMembers() {
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
#endif
