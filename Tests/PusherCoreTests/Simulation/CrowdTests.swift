import PusherCluster
import PusherCore
import SimulationModel
import TestSupport
import Testing

@testable import PusherServer

/// Many members enter Redis without passing its limits, whatever breaks meanwhile.
@Suite("Crowds of members that meet in Redis", .timeLimit(.minutes(10)))
struct CrowdTests {
  struct Load: CustomTestStringConvertible {
    let channels: Int
    let users: Int
    let bytes: Int
    var testDescription: String { "\(channels) channels of \(users) members of \(bytes) bytes" }
  }

  private static let loads = [
    Load(channels: 1, users: 100, bytes: 100), Load(channels: 60, users: 10, bytes: 3000),
    Load(channels: 20, users: 100, bytes: 300), Load(channels: 1, users: 5000, bytes: 100),
    Load(channels: 2, users: 1000, bytes: 3000),
  ]

  private static func filled(_ load: Load, nodes: Int = 1) throws -> CrowdRig {
    let rig = CrowdRig(nodes: nodes)
    rig.join(0, channels: load.channels, users: load.users, bytes: load.bytes)
    let total = load.channels * load.users
    try #require(rig.play { rig.nodes[0].answers == total } != nil, "\(rig.nodes[0].answers)")
    return rig
  }

  @Test(arguments: loads, [false, true])
  func `a server that lost its link is back within five seconds, also to an emptied Redis`(
    load: Load, isEmptied: Bool
  ) throws {
    let rig = try Self.filled(load)
    if isEmptied { rig.redis.flushAll() }
    rig.cut(0)
    let time = try #require(rig.play { rig.isWell })
    #expect(time <= .seconds(5) && rig.overflows == 0, "\(time), \(rig.mostBytes) bytes at once")
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
    let total = load.channels * load.users
    let time = rig.play { !rig.isWell || rig.nodes[1].answers == total }
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
    let former = rig.redis.takePublished().count
    #expect(former == 0)
    #expect(rig.play { rig.nodes[0].answers == 201 } != nil)
    #expect(rig.mostBytes < 1 << 20)
  }
}

/// Servers on a model of Redis that takes time for its work, and closes a connection for messages
/// that has too much to carry.
final class CrowdRig {
  /// Redis' default of `client-output-buffer-limit pubsub`: at once, and for how long.
  static let hardLimit = 32 << 20
  static let softLimit = (bytes: 8 << 20, time: Duration.seconds(60))
  /// What happens in a round of 10 ms: calls of Redis, and bytes to each server.
  private static let round = (time: Duration.milliseconds(10), calls: 300, bytes: 1 << 20)

  final class Node {
    let server: SimulatedServer
    var softSince: Instant?
    /// Number of answered joins, and of the members that the last answer listed.
    private(set) var answers = 0
    private(set) var listed = 0

    init(_ server: SimulatedServer) { self.server = server }

    var isWell: Bool { server.connections != nil && server.failure == nil }

    /// Puts orders on their way, and counts the answers.
    func handOn() {
      server.handOn()
      for case (_, .joined(let joined)) in server.hub.takeAnswers() {
        answers += 1
        listed = joined.members?.count ?? 0
      }
    }
  }

  private(set) var nodes: [Node] = []
  var redis = RedisModel()
  private var now = Instant(nanoseconds: 1_000_000_000)
  private(set) var overflows = 0
  private(set) var calls = 0
  private(set) var mostBytes = 0
  private var sockets = 0

  init(nodes count: Int = 1) {
    var limits = ServerLimits()
    limits.presenceMembers = 20_000
    let setup = AppSetup(.forTests(), limits: limits, service: .pusher, dialect: .pusher)
    for index in 0..<count {
      let server = SimulatedServer(random: SeededGenerator(seed: UInt64(index + 1)))
      server.now = now
      server.linkUp(&redis)
      server.applications.renew([setup], in: server)
      nodes.append(Node(server))
    }
    _ = play { self.isWell }
  }

  var isWell: Bool { nodes.allSatisfy(\.isWell) }

  // MARK: What happens

  /// Breaks the link of a node.
  func cut(_ index: Int) {
    let server = nodes[index].server
    guard let connections = server.connections else { return }
    redis.close(connections.commands)
    redis.close(connections.messages)
    server.now = now
    _ = server.lose("cut")
    nodes[index].softSince = nil
  }

  /// Lets sockets of a node join channels, each as a user of its own, or all as one user.
  func join(_ index: Int, channels: Int, users: Int, bytes: Int, as one: String? = nil) {
    let info = JSONValue.string(String(repeating: "x", count: bytes))
    let hub = nodes[index].server.hub
    for user in 0..<users {
      sockets += 1
      let socket = "\(index).\(sockets)"
      hub.member.connect(socket)
      for channel in 0..<channels {
        let member = Member(userID: one ?? "\(index)-\(user)", info: info)
        let request = JoinRequest(channel: "presence-\(channel)", socketID: socket, member: member)
        _ = hub.ask(.join(request), at: now)
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
      node.server.now = now
      node.server.tick()
      node.handOn()
    }
    var rest = Self.round.calls
    while rest > 0 {
      let count = nodes.reduce(0) { $0 + run($1.server) }
      guard count > 0 else { break }
      rest -= count
    }
    for node in nodes { carry(node) }
  }

  /// Runs the next order on each connection, and returns their number.
  private func run(_ server: SimulatedServer) -> Int {
    let milliseconds = now.nanoseconds / 1_000_000
    var count = 0
    if server.sendCommand(&redis, at: milliseconds) { count += 1 }
    if server.sendSubscription(&redis, at: milliseconds) { count += 1 }
    calls += count
    for message in redis.takePublished() { publish(message) }
    return count
  }

  private func publish(_ message: RedisPublication) {
    let receivers = redis.receivers(of: message.channel)
    for (index, node) in nodes.enumerated()
    where receivers.contains(node.server.connections?.messages ?? 0) {
      node.server.publish(message.channel, message.payload)
      let bytes = node.server.messageBytes
      mostBytes = max(mostBytes, bytes)
      node.softSince = bytes > Self.softLimit.bytes ? node.softSince ?? now : nil
      let softTime = node.softSince?.duration(to: now) ?? .zero
      guard bytes > Self.hardLimit || softTime > Self.softLimit.time else { continue }
      overflows += 1
      cut(index)
    }
  }

  /// Brings replies and messages to a node, as many bytes as go in one round; it reconnects if its
  /// link is lost.
  private func carry(_ node: Node) {
    if node.server.connections == nil { node.server.linkUp(&redis) }
    while node.server.takeReply() {}
    node.handOn()
    let bytes = node.server.messageBytes
    while bytes - node.server.messageBytes < Self.round.bytes, node.server.takeMessage() {
      node.handOn()
    }
  }
}
