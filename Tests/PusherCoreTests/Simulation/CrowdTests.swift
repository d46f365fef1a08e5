import PusherCluster
import PusherCore
import PusherServer
import SimulationModel
import TestSupport
import Testing

/// Many members enter Redis without passing its limits, whatever breaks meanwhile.
@Suite("Crowds of members that meet in Redis", .timeLimit(.minutes(10))) struct CrowdTests {
  struct Load: CustomTestStringConvertible {
    let channels: Int
    let users: Int
    let bytes: Int
    var testDescription: String { "\(channels) channels of \(users) members of \(bytes) bytes" }
  }

  private static let loads = [
    Load(channels: 1, users: 100, bytes: 100), Load(channels: 60, users: 10, bytes: 3000),
    Load(channels: 20, users: 100, bytes: 300), Load(channels: 1, users: 2000, bytes: 100),
    Load(channels: 2, users: 500, bytes: 3000),
  ]

  private static func filled(_ load: Load, nodes: Int = 1) throws -> CrowdRig {
    let rig = CrowdRig(nodes: nodes)
    rig.join(0, channels: load.channels, users: load.users, bytes: load.bytes)
    let total = load.channels * load.users
    try #require(rig.play { rig.nodes[0].answers == total } != nil, "\(rig.nodes[0].answers)")
    return rig
  }

  @Test(arguments: loads)
  func `a server is back in 5 seconds after its link, or Redis too, was lost`(load: Load) throws {
    let rig = try Self.filled(load)
    for isEmptied in [false, true] {
      if isEmptied { rig.redis.flushAll() }
      rig.cut(0)
      let time = try #require(rig.play { rig.isWell })
      #expect(time <= .seconds(5) && rig.overflows == 0, "\(time), \(rig.mostBytes) bytes at once")
    }
  }

  @Test func `a link that is lost at any step of registering is no harm`() throws {
    let rig = try Self.filled(Load(channels: 10, users: 20, bytes: 1000), nodes: 2)
    for step in 1...40 {
      rig.cut(0)
      for _ in 0..<step where !rig.isWell { rig.playRound() }
      rig.cut(0)
      let time = try #require(rig.play { rig.isWell }, "step \(step)")
      #expect(time <= .seconds(5) && rig.overflows == 0, "step \(step): \(time)")
    }
  }

  @Test(arguments: loads)
  func `all sockets may join a second server at once`(load: Load) throws {
    let rig = try Self.filled(load, nodes: 2)
    rig.join(1, channels: load.channels, users: load.users, bytes: load.bytes)
    let time = rig.play { !rig.isWell || rig.nodes[1].answers == load.channels * load.users }
    #expect(time != nil && rig.isWell && rig.overflows == 0, "\(rig.mostBytes) bytes at once")
    #expect(rig.nodes[1].listed == 2 * load.users)
  }

  @Test func `many connections of one user are no harm`() throws {
    let rig = try Self.filled(Load(channels: 20, users: 100, bytes: 300), nodes: 2)
    rig.join(1, channels: 20, users: 40, bytes: 3000, as: "one")
    #expect(rig.play { !rig.isWell || rig.nodes[1].answers == 800 } != nil)
    #expect(rig.isWell && rig.mostBytes < 8 << 20, "\(rig.mostBytes) bytes at once")
    #expect(rig.nodes[1].listed == 101)
  }

  @Test func `registering for long keeps the lease`() throws {
    let rig = try Self.filled(Load(channels: 20, users: 500, bytes: 300))
    let former = rig.calls
    rig.cut(0)
    try #require(rig.play { rig.isWell } != nil)
    // A second registration would take as many calls again.
    #expect(rig.calls - former < 3000, "\(rig.calls - former)")
  }

  /// Redis' work must not grow with what is there already.
  @Test func `no message grows with the number of members`() throws {
    let rig = try Self.filled(Load(channels: 1, users: 200, bytes: 1000))
    rig.join(0, channels: 1, users: 1, bytes: 1000, as: "last")
    #expect(rig.redis.takePublished().isEmpty)
    #expect(rig.play { rig.nodes[0].answers == 201 } != nil)
    #expect(rig.mostBytes < 1 << 20)
  }
}

/// Members of servers on a model of Redis that takes time for its work, and closes a connection for
/// messages that has too much to carry.
final class CrowdRig {
  /// Redis' default of `client-output-buffer-limit pubsub`: at once, and for how long.
  static let hardLimit = 32 << 20
  static let softLimit = (bytes: 8 << 20, time: Duration.seconds(60))
  /// What happens in a round of 10 ms: calls of Redis, and bytes to and from each server.
  private static let round = (time: Duration.milliseconds(10), calls: 300, bytes: 1 << 20)

  final class Node {
    let member: RedisMember
    var connections: (commands: Int64, messages: Int64)?
    var commands: ArraySlice<ClusterOrder> = []
    var subscriptions: ArraySlice<ClusterOrder> = []
    var replies: [(order: ClusterOrder, reply: RedisReply)] = []
    var messages: [(order: ClusterOrder?, channel: [UInt8], payload: [UInt8])] = []
    var messageBytes = 0
    var softSince: Instant?
    var answers = 0
    var listed = 0

    init(_ member: RedisMember) { self.member = member }
  }

  private(set) var nodes: [Node] = []
  var redis = RedisModel()
  private(set) var now = Instant(nanoseconds: 1_000_000_000)
  private var nextBeat = Instant(nanoseconds: 3_000_000_000)
  private(set) var overflows = 0
  private(set) var calls = 0
  private(set) var mostBytes = 0
  private var sockets = 0

  init(nodes count: Int = 1) {
    var limits = ServerLimits()
    limits.presenceMembers = 20_000
    for index in 0..<count {
      let setup = AppSetup(
        Application.forTests(), limits: limits, service: .pusher, dialect: .pusher)
      let random = SeededGenerator(seed: UInt64(index + 1))
      let member = RedisMember(setup, database: 0, webhookDelay: .zero, random: random, at: now)
      nodes.append(Node(member))
    }
    for index in nodes.indices { connect(index) }
    _ = play { self.isWell }
  }

  var isWell: Bool { nodes.allSatisfy { $0.connections != nil && $0.member.isActive } }

  // MARK: What happens

  func connect(_ index: Int) {
    let node = nodes[index]
    node.connections = (redis.connect(), redis.connect())
    node.member.register(isFenced: true, at: now)
  }

  /// Breaks the link of a node.
  func cut(_ index: Int) {
    let node = nodes[index]
    guard let connections = node.connections else { return }
    redis.close(connections.commands)
    redis.close(connections.messages)
    node.connections = nil
    let orders =
      node.replies.map(\.order) + node.commands + node.messages.compactMap(\.order)
      + node.subscriptions
    (node.commands, node.subscriptions, node.replies, node.messages) = ([], [], [], [])
    (node.messageBytes, node.softSince) = (0, nil)
    for order in orders { node.member.receive(.failure(.ended("redis")), for: order, at: now) }
    node.member.lose(at: now)
  }

  /// Lets sockets of a node join channels, each as a user of its own, or all as one user.
  func join(_ index: Int, channels: Int, users: Int, bytes: Int, as one: String? = nil) {
    let info = JSONValue.string(String(repeating: "x", count: bytes))
    for user in 0..<users {
      sockets += 1
      let socket = "\(index).\(sockets)"
      nodes[index].member.connect(socket)
      for channel in 0..<channels {
        let member = Member(userID: one ?? "\(index)-\(user)", info: info)
        let request = JoinRequest(channel: "presence-\(channel)", socketID: socket, member: member)
        _ = nodes[index].member.ask(.join(request), at: now)
      }
    }
  }

  // MARK: Time

  /// Plays until the condition holds, and returns the time that it took; `nil` after `limit`.
  func play(for limit: Duration = .seconds(60), until condition: () -> Bool) -> Duration? {
    let start = now
    while !condition() {
      guard start.duration(to: now) < limit else { return nil }
      playRound()
    }
    return start.duration(to: now)
  }

  func playRound() {
    now = now.advanced(by: Self.round.time)
    for node in nodes {
      if nextBeat <= now { node.member.beat(at: now) }
      node.member.look(at: now)
      takeOrders(node)
    }
    if nextBeat <= now { nextBeat = now.advanced(by: RedisMember.beat) }
    var rest = Self.round.calls
    while rest > 0, nodes.contains(where: { !$0.commands.isEmpty || !$0.subscriptions.isEmpty }) {
      for node in nodes { rest -= run(node) }
    }
    for (index, node) in nodes.enumerated() { carry(index, node) }
  }

  private func takeOrders(_ node: Node) {
    while let order = node.member.nextOrder() {
      guard node.connections != nil else {
        node.member.receive(.failure(.down), for: order, at: now)
        continue
      }
      switch order.action {
      case .call, .command: node.commands.append(order)
      case .subscribe, .unsubscribe: node.subscriptions.append(order)
      }
    }
  }

  /// Runs the next order on each connection, and returns their number.
  private func run(_ node: Node) -> Int {
    guard let connections = node.connections else { return 0 }
    var count = 0
    if !node.commands.isEmpty {
      let order = node.commands.removeFirst()
      node.replies.append((order, run(order, from: connections.commands)))
      count += 1
    }
    if !node.subscriptions.isEmpty {
      let order = node.subscriptions.removeFirst()
      _ = run(order, from: connections.messages)
      if case .subscribe = order.action { node.messages.append((order, [], [])) }
      count += 1
    }
    for message in redis.takePublished() { publish(message) }
    return count
  }

  private func run(_ order: ClusterOrder, from connection: Int64) -> RedisReply {
    calls += 1
    return redis.run(order.action, at: now.nanoseconds / 1_000_000, from: connection)
  }

  private func publish(_ message: RedisPublication) {
    let receivers = redis.receivers(of: message.channel)
    for (index, node) in nodes.enumerated()
    where receivers.contains(node.connections?.messages ?? 0) {
      node.messages.append((nil, message.channel, message.payload))
      node.messageBytes += message.payload.count
      mostBytes = max(mostBytes, node.messageBytes)
      if node.messageBytes <= Self.softLimit.bytes { node.softSince = nil }
      let since = node.softSince ?? now
      if node.messageBytes > Self.softLimit.bytes { node.softSince = since }
      guard node.messageBytes > Self.hardLimit || since.duration(to: now) > Self.softLimit.time
      else { continue }
      overflows += 1
      cut(index)
    }
  }

  /// Brings replies and messages to a node, as many bytes as go in one round; it reconnects if its
  /// link is lost.
  private func carry(_ index: Int, _ node: Node) {
    if node.connections == nil { connect(index) }
    let replies = node.replies
    node.replies = []
    for (order, reply) in replies { node.member.receive(.success(reply), for: order, at: now) }
    var bytes = 0
    var place = 0
    while place < node.messages.count, bytes < Self.round.bytes {
      let message = node.messages[place]
      place += 1
      bytes += message.payload.count
      if let order = message.order {
        node.member.receive(.success(.null), for: order, at: now)
      } else {
        node.member.take(message.payload, from: message.channel, at: now)
      }
      count(node)
      takeOrders(node)
    }
    node.messages.removeFirst(place)
    node.messageBytes -= bytes
    count(node)
    takeOrders(node)
  }

  private func count(_ node: Node) {
    for case .answer(_, .joined(let joined)) in node.member.takeNews() {
      node.answers += 1
      node.listed = joined.members?.count ?? 0
    }
  }
}
