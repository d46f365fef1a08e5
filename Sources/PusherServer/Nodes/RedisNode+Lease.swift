#if Redis
  internal import PusherCore

  // Signs of life, and those who give none.
  extension RedisNode {
    private static var memoryText: [UInt8] {
      Array("\(memory.wholeNanoseconds / 1_000_000)".utf8)
    }

    private static var leaseText: [UInt8] { Array("\(lease.wholeNanoseconds / 1_000_000)".utf8) }

    func send(_ name: String, _ words: [[UInt8]]) {
      link.send(RedisCommand([Array(name.utf8)] + words)) { [weak self] in self?.check($0) }
    }

    // MARK: Signs of life

    /// Tells that it is alive, and looks who is not.
    func giveSign(at now: Instant) {
      guard isRegistered else { return }
      let generation = generation
      link.run(
        RedisScripts.beat, keys: [keys.lease(id)],
        arguments: [
          Array("\(ownConnectionCount)".utf8), Self.leaseText, Array("\(leaseEnd)".utf8),
        ]
      ) { [weak self] result in
        self?.check(result)
        if case .success(.integer(let end)) = result, end > 0, self?.generation == generation {
          self?.leaseEnd = end
        }
        // The others have counted this node as gone, and told its members so; or Redis was emptied.
        if case .success(.integer(0)) = result { self?.noticeLoss(since: generation) }
      }
      lookForOthers()
    }

    /// Asks who the others are, and whether they are alive.
    func lookForOthers() {
      let generation = generation
      link.send(RedisCommand([Array("SMEMBERS".utf8), keys.nodes])) { [weak self] result in
        guard let self, case .success(.array(let values)) = result, self.generation == generation
        else { return }
        let others = values.compactMap(\.content).map { String(decoding: $0, as: UTF8.self) }
          .filter { $0 != self.id }
        // Others may have cleaned up after a former id of this node.
        formerIDs.removeAll { former in !others.contains { $0.isSame(as: former) } }
        look(at: others)
      }
    }

    private func look(at others: [String]) {
      guard !others.isEmpty else {
        (otherConnections, nodeCount) = (0, 1)
        return
      }
      link.send(RedisCommand([Array("MGET".utf8)] + others.map(keys.lease))) { [weak self] result in
        guard let self, case .success(.array(let leases)) = result, leases.count == others.count
        else { return }
        var (connections, count) = (0, 1)
        for (node, lease) in zip(others, leases) {
          if let content = lease.content {
            connections += Int(String(decoding: content, as: UTF8.self)) ?? 0
            count += 1
          } else {
            reap(node)
          }
        }
        (otherConnections, nodeCount) = (connections, count)
      }
    }

    /// All sockets have left for good; calls `done` when Redis has been told, or cannot be.
    func resign(_ done: @escaping () -> Void) {
      onLeave = done
      if unansweredDepartures == 0 { takeLeave() }
    }

    /// Takes leave of the others, if it is to, once all departures are answered.
    func takeLeave() {
      guard let done = onLeave else { return }
      onLeave = nil
      defer { done() }
      // Nothing that is answered from now on makes it register again.
      generation += 1
      gathering = nil
      guard isRegistered else { return }
      let isAllCounted = isReady && requests.isEmpty && departures.isEmpty
      (isRegistered, isReady) = (false, false)
      guard isAllCounted else {
        // What is counted for sockets that have left meanwhile is left to another node.
        return send("DEL", [keys.lease(id)])
      }
      send("DEL", [keys.lease(id), keys.channels(of: id), keys.users(of: id)])
      for set in [keys.nodes, keys.enrolled] { send("SREM", [set, Array(id.utf8)]) }
    }

    // MARK: Those that are gone

    /// Cleans up after a node that gives no signs; of several that see it mostly one does.
    private func reap(_ node: String) {
      let words = ["NX", "PX", "\(Self.beat.components.seconds * 1000)"].map { Array($0.utf8) }
      link.send(
        RedisCommand([Array("SET".utf8), keys.reaping(node), Array(id.utf8)] + words)
      ) { [weak self] result in
        if case .success(.status) = result { self?.cleanUp(after: node) }
      }
    }

    /// Counts out all that a node had, also one's own under a former id, whether or not the lease still runs.
    ///
    /// Each step changes nothing where another node has come first.
    ///
    /// - Parameter names: Channels that it may have had beside those that Redis knows of.
    func cleanUp(after node: String, on names: [String] = []) {
      send("DEL", [keys.lease(node)])
      // First of all, so that the node knows that its members were told as gone, if it comes back.
      send("SET", [keys.gone(node), Array(id.utf8), Array("PX".utf8), Self.memoryText])
      for name in names { reap(node, on: name) }
      reapChannels(of: node)
      reapUsers(of: node)
    }

    private func reapChannels(of node: String) {
      link.send(RedisCommand([Array("SMEMBERS".utf8), keys.channels(of: node)])) {
        [weak self] result in
        guard let self, case .success(.array(let values)) = result else { return }
        for name in values.compactMap(\.content).map({ String(decoding: $0, as: UTF8.self) }) {
          reap(node, on: name)
        }
        // Last, so that another node begins again where this one was stopped.
        send("DEL", [keys.channels(of: node)])
        send("SREM", [keys.enrolled, Array(node.utf8)])
        link.send(RedisCommand([Array("SREM".utf8), keys.nodes, Array(node.utf8)])) {
          [weak self] result in
          if case .success = result { self?.formerIDs.removeAll { $0.isSame(as: node) } }
        }
      }
    }

    private func reap(_ node: String, on name: String) {
      let (before, after) = countText(name)
      link.run(
        RedisScripts.reap, keys: keys.channel(name),
        arguments: [Array(node.utf8), keys.bus(name)]
          + [name, before, after].map { Array($0.utf8) }
      ) { [weak self] in self?.reaped(name, $0) }
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
  }
#endif
