#if Redis
  internal import PusherCore

  /// The way of a server's apps to nodes on other threads and machines, over one link to Redis.
  ///
  /// It belongs to its loop's thread.
  final class RedisCluster: NodeLink {
    private let nodes: [RedisNode]
    private(set) var failure: String?
    private let link: RedisLink
    private let loop: EventLoop
    private let log: (ServerLogEvent) -> Void
    private var hasTold = false
    private lazy var timer = LoopTimer(deadline: nil) { [weak self] in self?.beat() }

    init(
      _ setups: [AppSetup], _ settings: RedisSettings, trust: TLSEnvironment, loop: EventLoop,
      log: @escaping (ServerLogEvent) -> Void
    ) {
      var policy = RedisPolicy()
      policy.trust = trust
      let link = RedisLink(settings: settings, policy: policy, loop: loop)
      (self.link, self.loop, self.log) = (link, loop, log)
      var random = SecureRandom.generator
      nodes = setups.map { setup in
        RedisNode(
          setup, link: link, database: settings.database, loop: loop,
          newID: {
            String(random.next(), radix: 16) + String(random.next(), radix: 16)
          }, log: log)
      }
      failure = "not connected yet"
      link.onMessage = { [weak self] channel, payload in self?.take(channel, payload) }
      link.onChange = { [weak self] in self?.changed($0) }
      loop.add(timer)
      timer.deadline = loop.now.advanced(by: RedisNode.beat)
      link.start()
    }

    var places: [any HubNode] { nodes }

    private func take(_ channel: [UInt8], _ payload: [UInt8]) {
      for node in nodes where node.keys.has(channel) { return node.take(payload) }
    }

    private func changed(_ state: RedisLink.State) {
      switch state {
      case .up:
        failure = nil
        hasTold = false
        for node in nodes { node.register() }
        log(.busBack)
      case .down(let reason, _):
        failure = "\(reason)"
        for node in nodes { node.lose() }
        if !hasTold { log(.busLost(reason: "\(reason)")) }
        hasTold = true
      }
    }

    private func beat() {
      let now = loop.now
      for node in nodes { node.giveSign(at: now) }
      timer.deadline = now.advanced(by: RedisNode.beat)
    }

    /// Takes leave of the other nodes, and calls `done` when Redis has heard it, at once where it is not there.
    func resign(_ done: @escaping () -> Void) {
      for node in nodes { node.resign() }
      link.send(RedisCommand("PING")) { _ in done() }
    }

    func close() {
      loop.remove(timer)
      link.close()
    }
  }
#endif
