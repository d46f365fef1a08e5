#if Redis
  internal import PusherCore

  /// Sees to it that nothing more comes to Redis from the connections that a link had before.
  ///
  /// What was sent on a connection that is lost may still be on its way. If Redis is the same, the former connection is
  /// ended there. Another process than before gets nothing that was meant for the former one. It belongs to its loop's thread.
  package final class RedisFence {
    private let link: RedisLink
    /// The process that was met last.
    private var process: [UInt8]?
    /// The link's connections to it, this one among them.
    private var connections: [Int64] = []
    private(set) var isRaised = false
    /// Counts the links, so that answers to an earlier one are told apart.
    private var generation = 0

    package init(_ link: RedisLink) {
      self.link = link
    }

    /// The link is lost.
    package func lower() {
      generation += 1
      isRaised = false
    }

    /// Ends the former connections, once the link is up again.
    ///
    /// - Parameter done: Told whether they are known to be over; not called when the link is lost meanwhile.
    package func raise(_ done: @escaping (_ isFenced: Bool) -> Void) {
      lower()
      let generation = generation
      var met: [UInt8]?
      link.send(RedisCommand("INFO", "server")) { result in
        if case .success(let reply) = result { met = Self.process(in: reply.content ?? []) }
      }
      link.send(RedisCommand("CLIENT", "ID")) { [weak self] result in
        guard let self, self.generation == generation, case .success(let reply) = result else {
          return
        }
        guard let met, case .integer(let own) = reply else {
          // It may not be asked, so that nothing is known of the connection the next time either.
          return end(isFenced: connections.isEmpty && !hasUnknown, own: nil, met: met, done)
        }
        if let process, process != met { (connections, hasUnknown) = ([], false) }
        endFormer(generation) { [weak self] in self?.end(isFenced: $0, own: own, met: met, done) }
      }
    }

    private func endFormer(_ generation: Int, _ done: @escaping (Bool) -> Void) {
      guard !connections.isEmpty else { return done(!hasUnknown) }
      var left = connections.count
      var isFenced = !hasUnknown
      for connection in connections {
        link.send(RedisCommand("CLIENT", "KILL", "ID", "\(connection)")) { [weak self] result in
          guard let self, self.generation == generation else { return }
          if case .success(.integer) = result {} else { isFenced = false }
          left -= 1
          if left == 0 { done(isFenced) }
        }
      }
    }

    /// Whether there was a connection whose number was not told.
    private var hasUnknown = false

    private func end(
      isFenced: Bool, own: Int64?, met: [UInt8]?, _ done: (Bool) -> Void
    ) {
      isRaised = true
      process = met
      connections = own.map { [$0] } ?? []
      hasUnknown = own == nil || !isFenced
      done(isFenced)
    }

    /// The `run_id` of what `INFO server` tells.
    private static func process(in info: [UInt8]) -> [UInt8]? {
      let name = Array("run_id:".utf8)
      return info.split(whereSeparator: { $0 == 0x0A || $0 == 0x0D })
        .first { $0.starts(with: name) }.map { Array($0.dropFirst(name.count)) }
    }
  }
#endif
