#if Redis
  import PusherCluster
  import PusherCore
  import PusherServer
  import SimulationModel
  import TestSupport
  import Testing

  /// Late calls to Redis change nothing: other nodes may have removed all entries of the node by
  /// then.
  @Suite(
    "Redis: leases and former connections, with a real server", .runsPrograms,
    .timeLimit(.minutes(10)), .enabled(if: RedisServer.isInstalled))
  struct RedisLeaseTests {
    private static let keys =
      ["nodes", "users", "members", "connections", "event"].map { "{c}:\($0)" }
      + ["departed", "order"]

    private func begin(_ test: LinkHarness) throws -> Int64 {
      try integer(
        test.run(
          ClusterCall(
            "begin", keys: ["lease", "nodes"],
            ["content": "7", "milliseconds": "60000", "node": "node"])))
    }

    private func beat(_ test: LinkHarness, milliseconds: Int = 60_000, leaseEnd: Int64) throws
      -> Int64
    {
      try integer(
        test.run(
          ClusterCall(
            "beat", keys: ["lease"],
            ["content": "8", "milliseconds": "\(milliseconds)", "leaseEnd": "\(leaseEnd)"])))
    }

    private func integer(_ reply: RedisReply) throws -> Int64 {
      guard case .integer(let number) = reply else { throw RedisFailure.down }
      return number
    }

    private func join(_ test: LinkHarness, leaseEnd: Int64, connections: Int = 1) throws
      -> RedisReply
    {
      try test.run(
        ClusterCall(
          "join", keys: Self.keys + ["nodes"],
          [
            "node": "node", "answers": "answers", "request": "1", "bus": "bus", "channel": "c",
            "socket": "1.1", "isMember": "1", "user": "ann", "member": "{}",
            "limit": "100", "before": "", "after": "",
            "connections": "\(connections)", "has": "0", "leaseEnd": "\(leaseEnd)",
          ]))
    }

    private func leave(_ test: LinkHarness, leaseEnd: Int64) throws -> RedisReply {
      try test.run(
        ClusterCall(
          "leave", keys: Self.keys,
          [
            "node": "node", "bus": "bus", "channel": "c", "isMember": "1", "user": "ann",
            "before": "", "after": "", "leaseEnd": "\(leaseEnd)", "delay": "",
          ]))
    }

    @Test func `a lease ends when Redis' clock says so, unless it is renewed before`() throws {
      let server = try RedisServer()
      let test = try LinkHarness(to: server)
      try test.comeUp()
      let end = try begin(test)
      #expect(try server.cli("GET", "lease") == "7\n")
      let later = try beat(test, leaseEnd: end)
      #expect(later >= end)
      #expect(try server.cli("GET", "lease") == "8\n")
      #expect(try beat(test, leaseEnd: 1) == 0)
      try server.cli("DEL", "lease")
      #expect(try beat(test, leaseEnd: later) == 0)
    }

    @Test func `a long lease is not made shorter by its renewal`() throws {
      let server = try RedisServer()
      let test = try LinkHarness(to: server)
      try test.comeUp()
      let end = try begin(test)
      let later = try beat(test, milliseconds: 6000, leaseEnd: end)
      #expect(later > end - 10_000)
    }

    @Test func `who comes after the lease is not counted in`() throws {
      let server = try RedisServer()
      let test = try LinkHarness(to: server)
      try test.comeUp()
      #expect(
        try join(test, leaseEnd: 1) == .array([.integer(0), .integer(0), .integer(1)]))
      #expect(try server.cli("DBSIZE") == "0\n")
      let end = try begin(test)
      #expect(
        try join(test, leaseEnd: end) == .array([.integer(1), .integer(1), .integer(0)]))
      #expect(try server.cli("HGET", "{c}:nodes", "node") == "1\n")
    }

    @Test func `who leaves after the lease is not counted out, nor where nothing is known`() throws
    {
      let server = try RedisServer()
      let test = try LinkHarness(to: server)
      try test.comeUp()
      let unknown = RedisReply.array([.integer(0), .integer(0), .integer(-1)])
      let end = try begin(test)
      #expect(try leave(test, leaseEnd: end) == unknown)
      #expect(try server.cli("EXISTS", "{c}:nodes") == "0\n")
      _ = try join(test, leaseEnd: end)
      #expect(try leave(test, leaseEnd: 1) == unknown)
      #expect(try server.cli("HGET", "{c}:nodes", "node") == "1\n")
      #expect(
        try leave(test, leaseEnd: end) == .array([.integer(1), .integer(1), .integer(0)]))
      #expect(try server.cli("KEYS", "{c}*") == "\n")
    }

    @Test func `sign-ins keep to the lease as well`() throws {
      let server = try RedisServer()
      let test = try LinkHarness(to: server)
      try test.comeUp()
      let end = try begin(test)
      func signIn(_ end: Int64) throws -> RedisReply {
        try test.run(
          ClusterCall(
            "signIn", keys: ["users", "own", "nodes"],
            [
              "node": "node", "answers": "answers", "request": "1", "bus": "bus", "user": "ann",
              "socket": "1.1",
              "came": "online", "connections": "1", "leaseEnd": "\(end)",
            ]))
      }
      func signOut(_ end: String) throws -> RedisReply {
        try test.run(
          ClusterCall(
            "signOut", keys: ["users", "own"],
            ["bus": "bus", "user": "ann", "left": "offline", "connections": "1", "leaseEnd": end]))
      }
      #expect(try signIn(1) == .integer(-1))
      #expect(try server.cli("EXISTS", "users") == "0\n")
      #expect(try signIn(end) == .integer(1))
      #expect(try signOut("1") == .integer(-1))
      #expect(try server.cli("HGET", "users", "ann") == "1\n")
      // The node that cleans up for another one has no lease of that node.
      #expect(try signOut("") == .integer(1))
      #expect(try signOut("") == .integer(-1))
      #expect(try server.cli("EXISTS", "users") == "0\n")
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
      let server = try RedisServer()
      let test = try LinkHarness(to: server)
      let fence = FenceDriver(test)
      try test.comeUp()
      #expect(try fence.raise())
      #expect(try !server.cli("INFO", "commandstats").contains("cmdstat_client|kill"))
      try server.cli("CLIENT", "KILL", "TYPE", "normal")
      _ = try test.loss()
      try test.comeUp()
      #expect(try fence.raise())
      // One call by this test, one by the fence.
      #expect(try server.cli("INFO", "commandstats").contains("cmdstat_client|kill:calls=2"))
    }

    @Test func `where that is not allowed, it is told`() throws {
      let server = try RedisServer("user low on >p ~* &* +@all -@admin -@dangerous +role")
      let url = "redis://low:p@127.0.0.1:\(server.port)"
      let test = try LinkHarness(RedisSettings(parsing: url))
      let fence = FenceDriver(test)
      try test.comeUp()
      // Nothing came earlier.
      #expect(try fence.raise())
      try server.cli("CLIENT", "KILL", "TYPE", "normal")
      _ = try test.loss()
      try test.comeUp()
      #expect(try !fence.raise())
    }

    @Test func `another process has nothing of the former one`() throws {
      let server = try RedisServer()
      let test = try LinkHarness(to: server)
      let fence = FenceDriver(test)
      try test.comeUp()
      #expect(try fence.raise())
      server.stop()
      _ = try test.loss()
      #expect(try server.start())
      try test.comeUp()
      #expect(try fence.raise())
      #expect(try !server.cli("INFO", "commandstats").contains("cmdstat_client|kill"))
    }
  }
#endif
