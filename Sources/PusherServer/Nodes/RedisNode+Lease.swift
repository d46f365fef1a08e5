#if Redis
  internal import PusherCore

  // Signs of life, and those who give none.
  extension RedisNode {
    static var memoryText: [UInt8] {
      Array("\(memory.wholeNanoseconds / 1_000_000)".utf8)
    }

    private static var leaseText: [UInt8] { Array("\(lease.wholeNanoseconds / 1_000_000)".utf8) }

    func send(_ name: String, _ words: [[UInt8]]) {
      let generation = generation
      link.send(RedisCommand([Array(name.utf8)] + words)) { [weak self] in
        self?.check($0, to: name, since: generation)
      }
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
        guard let self, let end = number(result, of: "the lease", since: generation) else { return }
        if end > 0, self.generation == generation {
          leaseEnd = end
          lastTold = nil
        }
        // The others have counted this node as gone, and told its members so; or Redis was emptied.
        if end == 0 { noticeLoss(since: generation) }
      }
      lookForOthers()
    }

    /// Asks who the others are, and whether they are alive.
    func lookForOthers() {
      let generation = generation
      link.send(RedisCommand([Array("SMEMBERS".utf8), keys.nodes])) { [weak self] result in
        guard let self, self.generation == generation else { return }
        guard case .success(.array(let values)) = result else {
          return check(result, to: "SMEMBERS", since: generation)
        }
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
      let generation = generation
      link.send(RedisCommand([Array("MGET".utf8)] + others.map(keys.lease))) { [weak self] result in
        guard let self else { return }
        guard case .success(.array(let leases)) = result, leases.count == others.count else {
          return check(result, to: "MGET", since: generation)
        }
        var (connections, count) = (0, 1)
        for (node, lease) in zip(others, leases) {
          if let content = lease.content {
            connections += Self.connections(content)
            count += 1
          } else {
            reap(node)
          }
        }
        (otherConnections, nodeCount) = (connections, count)
      }
    }

    /// The number of sockets in a lease; 0 for a content that no server writes.
    private static func connections(_ lease: [UInt8]) -> Int {
      let count = Int(String(decoding: lease, as: UTF8.self)) ?? 0
      return (0...connectionLimit).contains(count) ? count : 0
    }

    /// Maximum number of sockets that a lease may name.
    private static let connectionLimit = 1 << 24

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
      hasLeft = true
      guard isRegistered else { return }
      let isAllCounted = isReady && requests.isEmpty && departures.isEmpty
      (isRegistered, isReady) = (false, false)
      guard isAllCounted else {
        // What is counted for sockets that have left meanwhile is left to another node.
        return send("DEL", [keys.lease(id)])
      }
      if nodeCount == 1 { takeDepartures(all: true) }
      send("DEL", [keys.lease(id), keys.channels(of: id), keys.users(of: id)])
      for set in [keys.nodes, keys.enrolled] { send("SREM", [set, Array(id.utf8)]) }
    }
  }
#endif
