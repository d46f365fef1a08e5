package import PusherCore
package import PusherServer

/// The members of a server's apps, over one link to Redis.
///
/// It does no input or output: events of the link and the time come in; orders, the log and a
/// deadline go out.
package struct RedisMemberGroup {
  package struct Order {
    fileprivate let recipient: Recipient

    package var action: ClusterOrder.Action {
      switch recipient {
      case .member(_, let order): order.action
      case .fence(let words, _, _): .command(words)
      case .farewell: .command([Array("PING".utf8)])
      }
    }
  }

  fileprivate enum Recipient {
    case member(RedisMember, ClusterOrder)
    case fence([[UInt8]], Fence.Step, link: Int)
    case farewell
  }

  private var members: [RedisMember] = []
  /// Members of removed apps, until their membership has ended.
  private var leaving: [RedisMember] = []
  private var fence = Fence()
  private var orders = Fifo<Order>()
  private var log: [ServerLogEvent] = []
  private var link = Link()
  private var resignation = Resignation.none
  private var nextSign: Instant
  private let random: any RandomNumberGenerator
  private let database: Int
  private let secret: RedisPassword?
  private let webhookDelay: Duration

  private struct Link {
    var loss: String? = "not connected yet"
    var hasToldLoss = false
    /// True if the link and all members work, as last logged.
    var isWell = false
    var isSettled = false
  }

  private enum Resignation {
    case none
    case begun
    /// The members have ended, and a PING waits for its answer.
    case asked
    case done
  }

  package init(
    database: Int, secret: RedisPassword?, webhookDelay: Duration,
    random: any RandomNumberGenerator, at now: Instant
  ) {
    (self.database, self.secret, self.webhookDelay) = (database, secret, webhookDelay)
    self.random = random
    nextSign = now.advanced(by: RedisMember.beat)
  }

  // MARK: Members

  package mutating func place(for setup: AppSetup, at now: Instant) -> RedisMember {
    let id = setup.application.id
    if let member = members.first(where: { $0.setup.application.id.isSame(as: id) }) {
      member.adopt(setup)
      return member
    }
    let member = RedisMember(
      setup, database: database, secret: secret, webhookDelay: webhookDelay,
      random: random, at: now)
    members.append(member)
    if link.loss == nil, fence.isRaised { member.register(isFenced: true, at: now) }
    return member
  }

  package mutating func giveUp(_ place: any ClusterMember, at now: Instant) {
    for member in members where member === place {
      member.resign(at: now)
      // Other nodes count the subscribers of these channels.
      member.order(.unsubscribe(member.keys.usersBus), .nothing)
      member.order(.unsubscribe(member.keys.answers(member.identity.id)), .nothing)
      leaving.append(member)
    }
    members.removeAll { $0 === place }
  }

  /// Reason for being cut off from the other nodes; `nil` while connected.
  package var failure: String? {
    if let reason = link.loss ?? members.lazy.compactMap(\.trouble.refusal).first { return reason }
    if members.contains(where: \.isGathering) { return "waiting for the other servers" }
    return members.allSatisfy(\.isActive) ? nil : "registering"
  }

  package var isSettled: Bool { link.isSettled }

  // MARK: The link

  package mutating func linkUp(at now: Instant) {
    (link.loss, link.hasToldLoss) = (nil, false)
    add(fence.raise())
    checkWell()
  }

  package mutating func linkLost(_ reason: String, at now: Instant) {
    link.isWell = false
    link.loss = reason
    fence.lower()
    for member in members + leaving { member.lose(at: now) }
    if !link.hasToldLoss { log.append(.busLost(reason: reason)) }
    link.hasToldLoss = true
    link.isSettled = true
  }

  package mutating func take(_ channel: [UInt8], _ payload: [UInt8], at now: Instant) {
    guard let member = members.first(where: { $0.keys.has(channel) }) else { return }
    member.take(payload, from: channel, at: now)
    check(member)
  }

  package mutating func receive(_ result: RedisResult, for order: Order, at now: Instant) {
    switch order.recipient {
    case .member(let member, let order):
      member.receive(result, for: order, at: now)
      check(member)
    case .fence(_, let step, let link):
      switch fence.receive(result, for: step, ofLink: link) {
      case .nothing: break
      case .orders(let orders): add(orders)
      case .raised(let isFenced):
        for member in members { member.register(isFenced: isFenced, at: now) }
      }
    case .farewell: resignation = .done
    }
  }

  private mutating func add(_ commands: [([[UInt8]], Fence.Step)]) {
    for (words, step) in commands {
      orders.append(Order(recipient: .fence(words, step, link: fence.link)))
    }
  }

  private mutating func check(_ member: RedisMember) {
    for reason in member.outbox.takeRefusals() {
      link.isWell = false
      if let reason { log.append(.busRefused(reason: reason)) }
      link.isSettled = true
    }
    checkWell()
    if case .begun = resignation { leaveCluster() }
  }

  private mutating func checkWell() {
    guard !link.isWell, link.loss == nil, members.allSatisfy(\.isActive) else { return }
    log.append(.busBack)
    link.isWell = true
    link.isSettled = true
  }

  // MARK: Output

  /// Returns the next order for Redis; the orders of one member keep their sequence.
  package mutating func nextOrder() -> Order? {
    if orders.isEmpty { gatherOrders() }
    return orders.popFirst()
  }

  private mutating func gatherOrders() {
    gatherOrders(of: members)
    guard !leaving.isEmpty else { return }
    gatherOrders(of: leaving)
    leaving.removeAll { $0.hasLeft && $0.departures.unanswered == 0 }
  }

  private mutating func gatherOrders(of members: [RedisMember]) {
    for member in members {
      while let order = member.nextOrder() {
        orders.append(Order(recipient: .member(member, order)))
      }
    }
  }

  package mutating func takeLog() -> [ServerLogEvent] { log.takeAll() }

  package var deadline: Instant { members.lazy.compactMap(\.deadline).reduce(nextSign, min) }

  package mutating func tick(at now: Instant) {
    if nextSign <= now {
      nextSign = now.advanced(by: RedisMember.beat)
      for member in members { member.beat(at: now) }
    }
    for member in members {
      member.look(at: now)
      check(member)
    }
  }

  // MARK: Shutdown

  package mutating func resign(at now: Instant) {
    guard case .none = resignation else { return }
    resignation = .begun
    for member in members { member.resign(at: now) }
    leaveCluster()
  }

  /// True if Redis has answered the last order, or the link is lost.
  package var hasResigned: Bool { if case .done = resignation { true } else { false } }

  private mutating func leaveCluster() {
    guard members.allSatisfy(\.hasLeft) else { return }
    resignation = .asked
    // The answer to PING comes after the answers to the members' last orders.
    gatherOrders(of: members)
    orders.append(Order(recipient: .farewell))
  }
}
