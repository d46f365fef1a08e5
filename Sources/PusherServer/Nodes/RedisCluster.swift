#if Redis
  internal import PusherCore

  /// The way of a server's apps to nodes on other threads and machines, over one link to Redis.
  ///
  /// It belongs to its loop's thread.
  final class RedisCluster: NodeLink {
    private var nodes: [RedisNode] = []
    private var loss: String?
    private let link: RedisLink
    private let fence: RedisFence
    private let database: Int
    private var random = SecureRandom.generator
    private let loop: EventLoop
    private let log: (ServerLogEvent) -> Void
    private var hasTold = false
    /// Whether the way is open, as was logged last.
    private var isWell = false
    private let webhookDelay: Duration
    private var hasSettled = false
    private var waiting: [() -> Void] = []
    private var nextSign: Instant
    /// How often a node that waits for others looks for them.
    private static let gatheringPause = Duration.milliseconds(200)
    private lazy var timer = LoopTimer(deadline: nil) { [weak self] in self?.beat() }

    init(
      _ settings: RedisSettings, trust: TLSEnvironment, webhookDelay: Duration, loop: EventLoop,
      log: @escaping (ServerLogEvent) -> Void
    ) {
      var policy = RedisPolicy()
      policy.trust = trust
      self.webhookDelay = webhookDelay
      let link = RedisLink(settings: settings, policy: policy, loop: loop)
      (self.link, self.loop, self.log) = (link, loop, log)
      fence = RedisFence(link)
      database = settings.database
      nextSign = loop.now.advanced(by: RedisNode.beat)
      loss = "not connected yet"
      link.onMessage = { [weak self] channel, payload in self?.take(channel, payload) }
      link.onChange = { [weak self] in self?.changed($0) }
      loop.add(timer)
      timer.deadline = nextSign
      link.start()
    }

    var failure: String? {
      if let reason = loss ?? nodes.firstRefusal { return reason }
      if nodes.contains(where: { $0.gathering != nil }) { return "waiting for the other servers" }
      return nodes.allSatisfy(\.isReady) ? nil : "registering"
    }

    func place(for setup: AppSetup) -> any HubNode {
      let id = setup.application.id
      if let node = nodes.first(where: { $0.setup.application.id.isSame(as: id) }) {
        node.adopt(setup)
        return node
      }
      let node = RedisNode(
        setup, link: link, database: database, loop: loop, webhookDelay: webhookDelay,
        newID: { [unowned self] in
          String(random.next(), radix: 16) + String(random.next(), radix: 16)
        }, log: log)
      node.onGathering = { [weak self] in self?.hurry() }
      node.onReady = { [weak self] in self?.settleIfReady() }
      node.onHeld = { [weak self] in self?.hurry() }
      node.onRefusal = { [weak self] in self?.refused($0) }
      nodes.append(node)
      if link.isUp, fence.isRaised { node.register(isFenced: true) }
      return node
    }

    func giveUp(_ place: any HubNode) {
      // It is kept until it has taken leave.
      for node in nodes where node === place {
        node.resign { _ = node }
        // Others count who listens there.
        link.unsubscribe(node.keys.usersBus)
        link.unsubscribe(node.keys.answers(node.id))
      }
      nodes.removeAll { $0 === place }
    }

    private func take(_ channel: [UInt8], _ payload: [UInt8]) {
      for node in nodes where node.keys.has(channel) { return node.take(payload, from: channel) }
    }

    private func changed(_ state: RedisLink.State) {
      switch state {
      case .up:
        loss = nil
        hasTold = false
        fence.raise { [weak self] isFenced in
          for node in self?.nodes ?? [] { node.register(isFenced: isFenced) }
        }
        settleIfReady()
      case .down(let reason, _):
        isWell = false
        loss = "\(reason)"
        fence.lower()
        for node in nodes { node.lose() }
        if !hasTold { log(.busLost(reason: "\(reason)")) }
        hasTold = true
        settle()
      }
    }

    func whenSettled(_ done: @escaping () -> Void) {
      if hasSettled { done() } else { waiting.append(done) }
    }

    private func settleIfReady() {
      guard loss == nil, nodes.allSatisfy(\.isReady) else { return }
      if !isWell { log(.busBack) }
      isWell = true
      settle()
    }

    /// Redis refuses what a node needs; it is asked again with the next sign of life.
    private func refused(_ news: String?) {
      isWell = false
      if let news { log(.busRefused(reason: news)) }
      settle()
    }

    private func settle() {
      hasSettled = true
      let due = waiting
      waiting = []
      for done in due { done() }
    }

    private func beat() {
      let now = loop.now
      if nextSign <= now {
        nextSign = now.advanced(by: RedisNode.beat)
        for node in nodes {
          if node.wantsRetry { node.register(isFenced: node.isFenced) }
          node.giveSign(at: now)
          node.tellDepartures()
        }
      }
      for node in nodes {
        node.gather(at: now)
        node.tellDueDepartures(at: now)
      }
      hurry()
    }

    /// Sets the timer to what comes first: a sign of life, a look at the others that a node waits for, a departure to be told.
    private func hurry() {
      var deadline = nextSign
      for node in nodes {
        if node.gathering != nil {
          deadline = min(deadline, loop.now.advanced(by: Self.gatheringPause))
        }
        if let due = node.departureDue { deadline = min(deadline, due) }
      }
      timer.deadline = deadline
    }

    /// Takes leave of the other nodes, and calls `done` when Redis has heard it, at once where it is not there.
    func resign(_ done: @escaping () -> Void) {
      var left = nodes.count
      for node in nodes {
        node.resign { [link] in
          left -= 1
          if left == 0 { link.send(RedisCommand("PING")) { _ in done() } }
        }
      }
    }

    func close() {
      loop.remove(timer)
      link.close()
    }
  }

  extension [RedisNode] {
    /// What Redis refuses the first of those that it refuses something.
    fileprivate var firstRefusal: String? { lazy.compactMap(\.refusal).first }
  }
#endif
