#if Redis
  internal import PusherCore

  /// The steps that remove one node's entries.
  ///
  /// They are done after the last answer.
  private final class RedisCleaning {
    private var missing = 0
    private var isRefused = false
    private let done: () -> Void

    /// - Parameter done: Called after the last answer, unless something was refused or the link was lost.
    init(_ done: @escaping () -> Void) { self.done = done }

    /// Adds a step.
    ///
    /// `take` handles the answer and returns whether the step succeeded.
    func step(_ take: @escaping (RedisReply) -> Bool) -> (Result<RedisReply, RedisFailure>) -> Void
    {
      missing += 1
      return { [self] result in
        if case .success(let reply) = result, take(reply) {} else { isRefused = true }
        missing -= 1
        if missing == 0, !isRefused { done() }
      }
    }
  }

  // Removal of the entries of dead nodes.
  extension RedisNode {
    /// Cleans up after a node that gives no signs; of several that see it mostly one does.
    func reap(_ node: String) {
      let words = ["NX", "PX", "\(Self.beat.components.seconds * 1000)"].map { Array($0.utf8) }
      link.send(
        RedisCommand([Array("SET".utf8), keys.reaping(node), Array(id.utf8)] + words)
      ) { [weak self] result in
        guard let self, case .success(let reply) = result, isTaken(reply) else { return }
        if case .status = reply { cleanUp(after: node) }
      }
    }

    /// Returns false for an error and logs it; the node's entries are then removed later.
    private func isTaken(_ reply: RedisReply) -> Bool {
      guard case .error = reply else { return true }
      tell(RedisRefusal.words("to clean up after a server", error: link.words(of: reply)))
      return false
    }

    /// Counts out all that a node had, also one's own under a former id, whether or not the lease still runs.
    ///
    /// Each step changes nothing where another node has come first. The node is forgotten last of all, so that another node
    /// begins again where this one was stopped, or was refused something.
    ///
    /// - Parameter names: Channels that it may have had beside those that Redis knows of.
    func cleanUp(after node: String, on names: [String] = []) {
      let cleaning = RedisCleaning { [weak self] in self?.forget(node) }
      // Comes first: a node that returns learns from this key that its members were reported as gone.
      link.send(
        RedisCommand([
          Array("SET".utf8), keys.gone(node), Array(id.utf8), Array("PX".utf8), Self.memoryText,
        ]),
        cleaning.step { [weak self] reply in
          guard let self, isTaken(reply) else { return false }
          link.send(RedisCommand([Array("DEL".utf8), keys.lease(node)]), cleaning.step(isTaken))
          for name in names { reap(node, on: name, cleaning) }
          reapChannels(of: node, cleaning)
          reapUsers(of: node, cleaning)
          return true
        })
    }

    /// Removes a node's ID after all of its entries are gone.
    private func forget(_ node: String) {
      send("DEL", [keys.channels(of: node), keys.users(of: node)])
      send("SREM", [keys.enrolled, Array(node.utf8)])
      send("SREM", [keys.nodes, Array(node.utf8)])
      formerIDs.removeAll { $0.isSame(as: node) }
    }

    private func reapChannels(of node: String, _ cleaning: RedisCleaning) {
      link.send(
        RedisCommand([Array("SMEMBERS".utf8), keys.channels(of: node)]),
        cleaning.step { [weak self] reply in
          guard let self, isTaken(reply), case .array(let values) = reply else { return false }
          for name in values.compactMap(\.content) {
            reap(node, on: String(decoding: name, as: UTF8.self), cleaning)
          }
          return true
        })
    }

    private func reap(_ node: String, on name: String, _ cleaning: RedisCleaning) {
      let (before, after) = countText(name)
      link.run(
        RedisScripts.reap, keys: keys.channel(name),
        arguments: [Array(node.utf8), keys.bus(name)]
          + [name, before, after, delayText].map { Array($0.utf8) },
        cleaning.step { [weak self] reply in
          guard let self, isTaken(reply), case .array(let values) = reply else { return false }
          reaped(name, values)
          return true
        })
    }

    private func reaped(_ name: String, _ values: [RedisReply]) {
      for index in stride(from: 1, to: values.count - 1, by: 2) {
        guard let userID = values[index].content else { continue }
        noteDeparture(
          .init(.memberRemoved, name, userID: String(decoding: userID, as: UTF8.self)),
          RedisChange(values[index + 1]))
      }
      if let vacated = values.first {
        noteDeparture(.init(.channelVacated, name), RedisChange(vacated))
      }
    }

    private func reapUsers(of node: String, _ cleaning: RedisCleaning) {
      link.send(
        RedisCommand([Array("HGETALL".utf8), keys.users(of: node)]),
        cleaning.step { [weak self] reply in
          guard let self, isTaken(reply), case .array(let values) = reply else { return false }
          let texts = values.compactMap(\.content).map { String(decoding: $0, as: UTF8.self) }
          for index in stride(from: 0, to: texts.count - 1, by: 2) {
            // Our nodes write numbers only.
            guard let connections = Int32(texts[index + 1]) else { continue }
            link.run(
              RedisScripts.signOut, keys: [keys.users, keys.users(of: node)],
              arguments: signOutWords(texts[index], connections: Int(connections), leaseEnd: ""),
              cleaning.step(isTaken))
          }
          return true
        })
    }
  }
#endif
