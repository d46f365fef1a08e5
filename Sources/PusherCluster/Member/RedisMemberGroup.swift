package import PusherCore
package import PusherServer

/// The members of a server's apps, over one link to Redis.
///
/// It does no input or output: events of the link and the time come in; orders, the log and a
/// deadline go out.
package struct RedisMemberGroup {
  /// An order, with the part that takes its answer.
  package enum Order {
    case member(RedisMember, ClusterOrder)
    case fence([[UInt8]], Fence.Step, link: Int)
    case farewell

    package var action: ClusterOrder.Action {
      switch self {
      case .member(_, let order): order.action
      case .fence(let words, _, _): .command(words)
      case .farewell: .command([Array("PING".utf8)])
      }
    }
  }

  private var members: [RedisMember] = []
  private var leaving: [RedisMember] = []
  private var fence = Fence()
  private var orders = Fifo<Order>()
  private var log: [ServerLogEvent] = []
  /// Reason of the lost link; `nil` while there is one.
  private var loss: String? = "not connected yet"
  private var hasToldLoss = false
  /// True if the link and all members work, as last logged.
  private var isWell = false
  package private(set) var isSettled = false
  private var resignation = Resignation.none
  private var nextSign: Instant
  private let random: any RandomNumberGenerator
  private let database: Int
  private let secret: RedisPassword?
  private let webhookDelay: Duration

  private enum Resignation {
    case none
    case begun
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
    if loss == nil, fence.isRaised { member.register(isFenced: true, at: now) }
    return member
  }

  package mutating func giveUp(_ place: any ClusterMember, at now: Instant) {
    for member in members where member === place {
      member.resign(at: now)
      member.stopListening()
      leaving.append(member)
    }
    members.removeAll { $0 === place }
  }

  /// Reason for being cut off from the other nodes; `nil` while connected.
  package var failure: String? {
    if let reason = loss ?? members.lazy.compactMap(\.refusal).first { return reason }
    if members.contains(where: \.isGathering) { return "waiting for the other servers" }
    return members.allSatisfy(\.isActive) ? nil : "registering"
  }

  // MARK: The link

  package mutating func linkUp(at now: Instant) {
    (loss, hasToldLoss) = (nil, false)
    add(fence.raise())
    checkWell()
  }

  package mutating func linkLost(_ reason: String, at now: Instant) {
    isWell = false
    loss = reason
    fence.lower()
    for member in members + leaving { member.lose(at: now) }
    if !hasToldLoss { log.append(.busLost(reason: reason)) }
    hasToldLoss = true
    isSettled = true
  }

  package mutating func take(_ channel: [UInt8], _ payload: [UInt8], at now: Instant) {
    guard let member = members.first(where: { $0.keys.has(channel) }) else { return }
    member.take(payload, from: channel, at: now)
    check(member)
  }

  package mutating func receive(_ result: RedisResult, for order: Order, at now: Instant) {
    switch order {
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
      orders.append(.fence(words, step, link: fence.link))
    }
  }

  private mutating func check(_ member: RedisMember) {
    for reason in member.takeRefusals() {
      isWell = false
      if let reason { log.append(.busRefused(reason: reason)) }
      isSettled = true
    }
    checkWell()
    if case .begun = resignation { leaveCluster() }
  }

  private mutating func checkWell() {
    guard !isWell, loss == nil, members.allSatisfy(\.isActive) else { return }
    log.append(.busBack)
    isWell = true
    isSettled = true
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
    leaving.removeAll(where: \.isGone)
  }

  private mutating func gatherOrders(of members: [RedisMember]) {
    for member in members {
      while let order = member.nextOrder() {
        orders.append(.member(member, order))
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
    orders.append(.farewell)
  }
}

/// Ends the earlier connections of a link, so that none of their orders reaches Redis later.
///
/// Orders on a lost connection may still be on their way. If Redis is the same process, the fence
/// kills its earlier connections there. Another process never receives them.
package struct Fence {
  package enum Step: Sendable {
    case process
    case connection
    case kill
  }

  private enum State {
    case lowered
    case asking(process: [UInt8]?)
    /// Kills the former connections.
    case ending(process: [UInt8], own: Int64, missing: Int, isFenced: Bool)
    case raised
  }

  private var state = State.lowered
  private var process: [UInt8]?
  private var connections: [Int64] = []
  /// True if the number of an earlier connection is unknown.
  private var hasUnknown = false
  package private(set) var link = 0

  package init() {}

  var isRaised: Bool { if case .raised = state { true } else { false } }

  package mutating func lower() {
    link += 1
    state = .lowered
  }

  package mutating func raise() -> [([[UInt8]], Step)] {
    lower()
    state = .asking(process: nil)
    return [
      (["INFO", "server"].map(\.redisBytes), .process),
      (["CLIENT", "ID"].map(\.redisBytes), .connection),
    ]
  }

  package enum Outcome {
    case nothing
    case orders([([[UInt8]], Step)])
    /// The fence is raised; `isFenced` is true if the former connections are known to be closed.
    case raised(isFenced: Bool)
  }

  package mutating func receive(
    _ result: RedisResult, for step: Step, ofLink number: Int
  ) -> Outcome {
    guard number == link else { return .nothing }
    switch (state, step) {
    case (.asking, .process):
      if case .success(let reply) = result {
        state = .asking(process: Self.process(in: reply.content ?? []))
      }
      return .nothing
    case (.asking(let met), .connection):
      guard case .success(let reply) = result else { return .nothing }
      return learned(met, reply)
    case (.ending(let met, let own, let missing, let isFenced), .kill):
      let isOver = if case .success(.integer) = result { isFenced } else { false }
      guard missing == 1 else {
        state = .ending(process: met, own: own, missing: missing - 1, isFenced: isOver)
        return .nothing
      }
      return end(isFenced: isOver, own: own, met: met)
    default: return .nothing
    }
  }

  private mutating func learned(_ met: [UInt8]?, _ reply: RedisReply) -> Outcome {
    guard let met, case .integer(let own) = reply else {
      // The user may lack the right to ask; then this connection also stays unknown the next time.
      return end(isFenced: connections.isEmpty && !hasUnknown, own: nil, met: met)
    }
    if let process, process != met { (connections, hasUnknown) = ([], false) }
    guard !connections.isEmpty else { return end(isFenced: !hasUnknown, own: own, met: met) }
    state = .ending(process: met, own: own, missing: connections.count, isFenced: !hasUnknown)
    return .orders(
      connections.map { (["CLIENT", "KILL", "ID", "\($0)"].map(\.redisBytes), .kill) })
  }

  private mutating func end(isFenced: Bool, own: Int64?, met: [UInt8]?) -> Outcome {
    state = .raised
    process = met
    connections = own.map { [$0] } ?? []
    hasUnknown = own == nil || !isFenced
    return .raised(isFenced: isFenced)
  }

  private static func process(in info: [UInt8]) -> [UInt8]? {
    let name = Array("run_id:".utf8)
    return info.split(whereSeparator: { $0 == 0x0A || $0 == 0x0D })
      .first { $0.starts(with: name) }.map { Array($0.dropFirst(name.count)) }
  }
}
