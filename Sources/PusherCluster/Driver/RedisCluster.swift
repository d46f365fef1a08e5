package import PusherCore
package import PusherServer

/// Connects a server's apps to other processes: moves orders and answers between a
/// ``RedisMemberGroup`` and a ``RedisLink``.
///
/// It belongs to its loop's thread.
package final class RedisCluster: Cluster {
  private var group: RedisMemberGroup
  private let link: RedisLink
  private let loop: EventLoop
  private var isFlushing = false
  private lazy var timer = LoopTimer(deadline: nil) { [weak self] in
    guard let self else { return }
    group.tick(at: loop.now)
  }

  /// Starts to dial; `webhookDelay` is the delay of the webhooks for departures.
  package init(
    _ settings: RedisSettings, trust: TLSEnvironment, webhookDelay: Duration, loop: EventLoop
  ) {
    var policy = RedisPolicy()
    policy.trust = trust
    self.loop = loop
    link = RedisLink(settings: settings, policy: policy, loop: loop)
    group = RedisMemberGroup(
      database: settings.database, secret: settings.password, webhookDelay: webhookDelay,
      random: SecureRandom.generator, at: loop.now)
    link.onMessage = { [weak self] channel, payload in
      guard let self else { return }
      group.take(channel, payload, at: self.loop.now)
    }
    link.onChange = { [weak self] state in
      guard let self else { return }
      switch state {
      case .up: group.linkUp(at: loop.now)
      case .down(let reason, _): group.linkLost("\(reason)", at: loop.now)
      }
    }
    link.isUseful = { [weak self] in self?.group.failure == nil }
    loop.add(timer)
    timer.deadline = group.deadline
    link.start()
  }

  package func flush(at now: Instant) {
    isFlushing = true
    while let order = group.nextOrder() { send(order) }
    isFlushing = false
    link.flush()
    timer.deadline = group.deadline
  }

  private func send(_ order: RedisMemberGroup.Order) {
    let take = { [weak self] (result: RedisResult) in
      guard let self else { return }
      group.receive(result, for: order, at: loop.now)
      // The hubs have already had their turn when an immediate failure makes news.
      if isFlushing { loop.wakeUp.signal() }
    }
    switch order.action {
    case .call(let call): link.run(call, take)
    case .command(let words): link.send(RedisCommand(words), take)
    case .subscribe(let channel): link.subscribe(channel) { take($0.map { RedisReply.null }) }
    case .unsubscribe(let channel): link.unsubscribe(channel)
    }
  }

  package func place(for setup: AppSetup) -> any ClusterMember {
    group.place(for: setup, at: loop.now)
  }

  package func giveUp(_ place: any ClusterMember) { group.giveUp(place, at: loop.now) }
  package var failure: String? { group.failure }
  package var isSettled: Bool { group.isSettled }
  package func takeLog() -> [ServerLogEvent] { group.takeLog() }
  package func resign(at now: Instant) { group.resign(at: now) }
  package var hasResigned: Bool { group.hasResigned }

  package func close() {
    loop.remove(timer)
    link.close()
  }
}
