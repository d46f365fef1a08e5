import PusherCluster
import PusherCore
import PusherServer
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

  @Test(arguments: loads)
  func `a server that lost its link is back within five seconds`(load: Load) throws {
    let rig = try Self.filled(load)
    rig.cut(0)
    let time = try #require(rig.play { rig.isWell })
    #expect(time <= .seconds(5) && rig.overflows == 0, "\(time), \(rig.mostBytes) bytes at once")
  }

  @Test(arguments: loads)
  func `a server is back within five seconds after Redis was emptied`(load: Load) throws {
    let rig = try Self.filled(load)
    rig.redis.flushAll()
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
