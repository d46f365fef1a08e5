#if Redis
  import PusherCore
  import PusherServer
  import TestSupport
  import Testing

  /// What comes to Redis too late changes nothing: others may have counted out everything that a node had.
  @Suite(
    "Redis: leases and former connections, with a real server", .runsPrograms,
    .timeLimit(.minutes(5)), .enabled(if: RedisServer.isInstalled))
  struct RedisLeaseTests {
    private static let keys =
      ["nodes", "users", "members", "connections", "event", "order"].map { "{c}:\($0)" }
      + ["departed"]

    /// What a script answers.
    private func run(
      _ script: RedisScript, _ keys: [String], _ arguments: [String], _ test: LinkHarness
    ) throws -> RedisReply {
      var answer: Result<RedisReply, RedisFailure>?
      test.link.run(
        script, keys: keys.map { Array($0.utf8) }, arguments: arguments.map { Array($0.utf8) }
      ) { answer = $0 }
      try #require(test.run { answer != nil })
      return try #require(answer).get()
    }

    private func integer(_ reply: RedisReply) throws -> Int64 {
      guard case .integer(let number) = reply else { throw RedisFailure.down }
      return number
    }

    /// A user's connection is counted in, with a lease that ends then.
    private func join(_ test: LinkHarness, leaseEnd: Int64, connections: Int = 1) throws
      -> RedisReply
    {
      try run(
        RedisScripts.join, Self.keys,
        [
          "node", "answers", "1", "bus", "c", "1.1", "1", "ann", "{}", "added", "removed", "100",
          "", "", "\(connections)", "0", "\(leaseEnd)",
        ], test)
    }

    private func leave(_ test: LinkHarness, leaseEnd: Int64) throws -> RedisReply {
      try run(
        RedisScripts.leave, Self.keys,
        ["node", "bus", "c", "1", "ann", "", "", "\(leaseEnd)", ""], test)
    }

    @Test func `a lease ends when Redis' clock says so, unless it is renewed before`() throws {
      let server = try RedisServer()
      let test = try LinkHarness(to: server)
      try test.comeUp()
      let end = try integer(
        run(RedisScripts.begin, ["lease", "nodes"], ["7", "60000", "node"], test))
      #expect(try server.cli("GET", "lease") == "7\n")
      let later = try integer(
        run(RedisScripts.beat, ["lease"], ["8", "60000", "\(end)"], test))
      #expect(later >= end)
      #expect(try server.cli("GET", "lease") == "8\n")
      #expect(try run(RedisScripts.beat, ["lease"], ["8", "60000", "1"], test) == .integer(0))
      try server.cli("DEL", "lease")
      #expect(
        try run(RedisScripts.beat, ["lease"], ["8", "60000", "\(later)"], test) == .integer(0))
    }

    @Test func `a long lease is not made shorter by its renewal`() throws {
      let server = try RedisServer()
      let test = try LinkHarness(to: server)
      try test.comeUp()
      let end = try integer(
        run(RedisScripts.begin, ["lease", "nodes"], ["7", "60000", "node"], test))
      let later = try integer(run(RedisScripts.beat, ["lease"], ["8", "6000", "\(end)"], test))
      #expect(later > end - 10_000)
    }

    @Test func `who comes after the lease is not counted in`() throws {
      let server = try RedisServer()
      let test = try LinkHarness(to: server)
      try test.comeUp()
      #expect(
        try join(test, leaseEnd: 1) == .array([.integer(0), .integer(0), .integer(1)]))
      #expect(try server.cli("DBSIZE") == "0\n")
      let end = try integer(
        run(RedisScripts.begin, ["lease", "nodes"], ["7", "60000", "node"], test))
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
      let end = try integer(
        run(RedisScripts.begin, ["lease", "nodes"], ["7", "60000", "node"], test))
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
      let end = try integer(
        run(RedisScripts.begin, ["lease", "nodes"], ["7", "60000", "node"], test))
      func signIn(_ end: Int64) throws -> RedisReply {
        try run(
          RedisScripts.signIn, ["users", "own"],
          ["answers", "1", "bus", "ann", "1.1", "online", "1", "\(end)"], test)
      }
      func signOut(_ end: String) throws -> RedisReply {
        try run(RedisScripts.signOut, ["users", "own"], ["bus", "ann", "offline", "1", end], test)
      }
      #expect(try signIn(1) == .integer(-1))
      #expect(try server.cli("EXISTS", "users") == "0\n")
      #expect(try signIn(end) == .integer(1))
      #expect(try signOut("1") == .integer(-1))
      #expect(try server.cli("HGET", "users", "ann") == "1\n")
      // Who cleans up after a node has no lease of that node.
      #expect(try signOut("") == .integer(1))
      #expect(try signOut("") == .integer(-1))
      #expect(try server.cli("EXISTS", "users") == "0\n")
    }

    // MARK: Former connections

    /// Raises the fence, and answers what it says.
    private func raise(_ fence: RedisFence, _ test: LinkHarness) throws -> Bool {
      var said: Bool?
      fence.raise { said = $0 }
      try #require(test.run { said != nil })
      return said ?? false
    }

    @Test func `a connection that is given up is ended at Redis`() throws {
      let server = try RedisServer()
      let test = try LinkHarness(to: server)
      let fence = RedisFence(test.link)
      try test.comeUp()
      #expect(try raise(fence, test))
      #expect(try !server.cli("INFO", "commandstats").contains("cmdstat_client|kill"))
      try server.cli("CLIENT", "KILL", "TYPE", "normal")
      _ = try test.loss()
      try test.comeUp()
      #expect(try raise(fence, test))
      // The one of this test, and the fence's.
      #expect(try server.cli("INFO", "commandstats").contains("cmdstat_client|kill:calls=2"))
    }

    @Test func `where that is not allowed, it is told`() throws {
      let server = try RedisServer("user low on >p ~* &* +@all -@admin -@dangerous +role")
      let url = "redis://low:p@127.0.0.1:\(server.port)"
      let test = try LinkHarness(RedisSettings(parsing: url))
      let fence = RedisFence(test.link)
      try test.comeUp()
      // Nothing came before.
      #expect(try raise(fence, test))
      try server.cli("CLIENT", "KILL", "TYPE", "normal")
      _ = try test.loss()
      try test.comeUp()
      #expect(try !raise(fence, test))
    }

    @Test func `another process has nothing of the former one`() throws {
      let server = try RedisServer()
      let test = try LinkHarness(to: server)
      let fence = RedisFence(test.link)
      try test.comeUp()
      #expect(try raise(fence, test))
      server.stop()
      _ = try test.loss()
      #expect(try server.start())
      try test.comeUp()
      #expect(try raise(fence, test))
      #expect(try !server.cli("INFO", "commandstats").contains("cmdstat_client|kill"))
    }
  }
#endif
