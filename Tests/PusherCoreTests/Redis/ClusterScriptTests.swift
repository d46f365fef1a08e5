import Foundation
import PusherCluster
import PusherCore
import PusherServer
import SimulationModel
import TestSupport
import Testing

struct `Cluster script: its table of operations` {
  /// The script part of each operation, by operation name.
  private static let parts: [String: String] = {
    var parts: [String: String] = [:]
    let pieces = ClusterCall.script.text.components(separatedBy: "\nif operation == '")
    for piece in pieces.dropFirst() {
      let name = String(piece.prefix { $0 != "'" })
      parts[name] = piece.components(separatedBy: "\nend\n")[0]
    }
    return parts
  }()

  /// Returns the names that a text reads from a table of the script, such as `channel` in
  /// `a.channel`.
  private static func names(in text: String, of table: Character) throws -> Set<String> {
    let use = try Regex("\\b\(table)\\.([A-Za-z]+)", as: (Substring, Substring).self)
    return Set(text.matches(of: use).map { String($0.output.1) })
  }

  @Test func `each operation of the table has a part of the script, and no part lacks a row`() {
    #expect(Set(ClusterCall.signatures.keys) == Set(Self.parts.keys))
    #expect(Self.parts.count == 18)
  }

  @Test(arguments: ClusterCall.signatures.keys.sorted())
  func `an operation reads no name that its row lacks`(operation: String) throws {
    let signature = try #require(ClusterCall.signature(of: operation))
    let part = try #require(Self.parts[operation])
    #expect(try Self.names(in: part, of: "a").isSubset(of: signature.arguments))
    #expect(try Self.names(in: part, of: "k").isSubset(of: signature.keys))
  }

  @Test func `each name of the table is read somewhere`() throws {
    let signatures = ClusterCall.signatures.values
    let text = ClusterCall.script.text
    #expect(try Set(signatures.flatMap(\.arguments)) == Self.names(in: text, of: "a"))
    #expect(try Set(signatures.flatMap(\.keys)) == Self.names(in: text, of: "k"))
  }

  @Test func `a call fits when its names stand in the order of the row`() {
    let swapped = ClusterCall(
      "beat", keys: ["lease"], ["milliseconds": "1", "content": "7", "leaseEnd": "9"])
    #expect(ClusterCall.usual("beat").fitsSignature)
    #expect(!swapped.fitsSignature)
    #expect(!ClusterCall.of("beat", and: ["more"], value: { _ in "7" }).fitsSignature)
    #expect(!ClusterCall("dance", keys: [String]()).fitsSignature)
  }
}

@Suite(.runsPrograms, .timeLimit(.minutes(10)), .enabled(if: RedisServer.isInstalled))
struct `Cluster script: with a real server` {
  private static let file = URL(filePath: #filePath)
    .appending(path: "../../../../Sources/PusherCluster/Lua/cluster.lua")
    .standardized.path

  @Test func `redis-cli runs the file as it stands`() throws {
    let server = try RedisServer()
    let answer = try server.cli(
      "--eval", Self.file, "lease", "nodes", ",", "begin", "7", "60000", "node")
    #expect(Int64(answer.trimmingCharacters(in: .whitespacesAndNewlines)) ?? 0 > 60_000)
    #expect(try server.cli("GET", "lease") == "7\n")
    #expect(try server.cli("SCRIPT", "EXISTS", ClusterCall.script.sha1) == "1\n")
  }

  @Test(
    arguments: [
      (["dance"], "unknown operation"), ([], "unknown operation"),
      (["facts", "more"], "wrong number of arguments for facts"),
      (["holdAgain", "c", "0", ""], "wrong number of arguments for holdAgain"),
      (
        ["signIn", "node", "answers", "1", "bus", "ann", "1.1", "on", "1"],
        "number of keys for signIn"
      ),
    ])
  func `an unknown call is an error and changes nothing`(words: [String], reason: String) throws {
    let test = try LinkHarness.up()
    let keys = try #require(ClusterCall.signature(of: "facts")).keys
    let script = ["EVAL", ClusterCall.script.text, "7"] + keys + words
    guard case .error(let text) = try test.result(script).get() else {
      Issue.record("no error")
      return
    }
    #expect(text.contains(reason))
    #expect(try test.server.cli("DBSIZE") == "0\n")
  }

  @Test func `departures come a hundred at a time, the earliest first`() throws {
    let test = try LinkHarness.up()
    var model = RedisModel()
    for number in 0..<150 {
      let delay = "\(number * 60_000 - 100_000_000)"
      let call = ClusterCall.usual("holdAgain", ["user": "\(150 - number)", "delay": delay])
      #expect(try test.run(call) == .integer(2))
      #expect(model.run(call, at: 1) == .integer(2))
    }
    let take = ClusterCall.usual("takeDepartures")
    for count in [100, 50, 0] {
      let answer = try test.run(take)
      guard case .array(let departures) = answer else { throw RedisFailure.down }
      #expect(departures.count == count)
      #expect(model.run(take, at: 1) == answer)
    }
  }

  // MARK: Leases
  // Late calls change nothing: other nodes may have removed all entries of the node by then.

  private func call(
    _ test: LinkHarness, _ operation: String, leaseEnd: Int64? = nil,
    _ changes: [String: String] = [:]
  ) throws -> RedisReply {
    let end = leaseEnd.map { "\($0)" } ?? ""
    return try test.run(.usual(operation, changes.merging(["leaseEnd": end]) { own, _ in own }))
  }

  private func begin(_ test: LinkHarness) throws -> Int64 {
    try #require(call(test, "begin").integer)
  }

  private func beat(_ test: LinkHarness, _ time: Int = 60_000, leaseEnd: Int64) throws -> Int64 {
    let changes = ["content": "8", "milliseconds": "\(time)"]
    return try #require(call(test, "beat", leaseEnd: leaseEnd, changes).integer)
  }

  @Test func `a lease ends when Redis' clock says so, unless it is renewed before`() throws {
    let test = try LinkHarness.up()
    let end = try begin(test)
    #expect(try test.server.cli("GET", "lease") == "7\n")
    let later = try beat(test, leaseEnd: end)
    #expect(later >= end)
    #expect(try test.server.cli("GET", "lease") == "8\n")
    #expect(try beat(test, leaseEnd: 1) == 0)
    // A long lease is not made shorter by its renewal.
    #expect(try beat(test, 6000, leaseEnd: later) > later - 10_000)
    try test.server.cli("DEL", "lease")
    #expect(try beat(test, leaseEnd: later) == 0)
  }

  @Test func `who comes after the lease is not counted in`() throws {
    let test = try LinkHarness.up()
    #expect(try call(test, "join", leaseEnd: 1) == .numbers(0, 0, 1))
    #expect(try test.server.cli("DBSIZE") == "0\n")
    let end = try begin(test)
    #expect(try call(test, "join", leaseEnd: end) == .numbers(1, 1, 0))
    #expect(try test.server.cli("HGET", "counts", "node") == "1\n")
  }

  @Test func `who leaves after the lease, or is unknown, is not counted out`() throws {
    let test = try LinkHarness.up()
    let unknown = RedisReply.numbers(0, 0, -1)
    let end = try begin(test)
    #expect(try call(test, "leave", leaseEnd: end) == unknown)
    #expect(try test.server.cli("EXISTS", "counts") == "0\n")
    _ = try call(test, "join", leaseEnd: end)
    #expect(try call(test, "leave", leaseEnd: 1) == unknown)
    #expect(try test.server.cli("HGET", "counts", "node") == "1\n")
    #expect(try call(test, "leave", leaseEnd: end) == .numbers(1, 1, 0))
    #expect(try test.server.cli("EXISTS", "counts", "users", "members", "byNode", "event") == "0\n")
  }

  @Test func `sign-ins keep to the lease as well`() throws {
    let test = try LinkHarness.up()
    let end = try begin(test)
    #expect(try call(test, "signIn", leaseEnd: 1) == .integer(-1))
    #expect(try test.server.cli("EXISTS", "users") == "0\n")
    #expect(try call(test, "signIn", leaseEnd: end) == .integer(1))
    #expect(try call(test, "signOut", leaseEnd: 1) == .integer(-1))
    #expect(try test.server.cli("HGET", "users", "ann") == "1\n")
    // The node that cleans up for another one has no lease of that node.
    #expect(try call(test, "signOut") == .integer(1))
    #expect(try call(test, "signOut") == .integer(-1))
    #expect(try test.server.cli("EXISTS", "users") == "0\n")
  }

  // MARK: Former connections

  /// A fence over a link.
  private final class FenceDriver {
    private var fence = Fence()
    private let test: LinkHarness
    private var said: Bool?

    init(_ test: LinkHarness) { self.test = test }

    /// Raises the fence; returns true if the former connections are closed.
    func raise() throws -> Bool {
      said = nil
      send(fence.raise())
      try #require(test.run { self.said != nil })
      return said ?? false
    }

    private func send(_ orders: [([[UInt8]], Fence.Step)]) {
      let link = fence.link
      for (words, step) in orders {
        test.link.send(RedisCommand(words)) { [unowned self] result in
          switch fence.receive(result, for: step, ofLink: link) {
          case .nothing: break
          case .orders(let orders): send(orders)
          case .raised(let isFenced): said = isFenced
          }
        }
      }
    }
  }

  @Test func `a connection that is given up is ended at Redis`() throws {
    let test = try LinkHarness.up()
    let fence = FenceDriver(test)
    #expect(try fence.raise())
    #expect(try !test.server.cli("INFO", "commandstats").contains("cmdstat_client|kill"))
    try test.server.cli("CLIENT", "KILL", "TYPE", "normal")
    _ = try test.loss()
    try test.comeUp()
    #expect(try fence.raise())
    // One call by this test, one by the fence.
    #expect(try test.server.cli("INFO", "commandstats").contains("cmdstat_client|kill:calls=2"))
  }

  @Test func `where Redis allows no CLIENT KILL, it is told`() throws {
    let server = try RedisServer("user low on >p ~* &* +@all -@admin -@dangerous +role")
    let test = try LinkHarness.up(to: server, "redis://low:p@127.0.0.1:PORT")
    let fence = FenceDriver(test)
    // Nothing came earlier.
    #expect(try fence.raise())
    try test.server.cli("CLIENT", "KILL", "TYPE", "normal")
    _ = try test.loss()
    try test.comeUp()
    #expect(try !fence.raise())
  }

  @Test func `another process has nothing of the former one`() throws {
    let test = try LinkHarness.up()
    let fence = FenceDriver(test)
    #expect(try fence.raise())
    test.server.stop()
    _ = try test.loss()
    #expect(try test.server.start())
    try test.comeUp()
    #expect(try fence.raise())
    #expect(try !test.server.cli("INFO", "commandstats").contains("cmdstat_client|kill"))
  }
}
