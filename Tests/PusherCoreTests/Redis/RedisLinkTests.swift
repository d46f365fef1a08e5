import PusherCluster
import PusherCore
import PusherServer
import TestSupport
import Testing

@Suite(.runsProgramsFirst, .timeLimit(.minutes(10)), .enabled(if: RedisServer.isInstalled))
struct `Redis: the link, with a real server` {
  @Test func `ten thousand commands at once are answered in their order`() throws {
    let test = try LinkHarness.up()
    #expect(test.states == [.up] && test.link.primary == test.server.endpoint)
    var numbers: [RedisReply] = []
    for _ in 0..<10_000 {
      test.link.send(RedisCommand("INCR", "n")) {
        if case .success(let n) = $0 { numbers.append(n) }
      }
    }
    #expect(test.run { numbers.count == 10_000 })
    #expect(numbers == (1...10_000).map { .integer($0) })
    // The commands were written at once and are read at once: redis-server counts its reads.
    let reads = try #require(
      test.server.cli("INFO", "stats").split(whereSeparator: \.isNewline).first {
        $0.hasPrefix("total_reads_processed:")
      }.flatMap { Int($0.split(separator: ":")[1]) })
    #expect(reads < 1000)
    #expect(try test.server.cli("CLIENT", "LIST").contains("name=pusher-cli"))
  }

  @Test func `messages come in the order in which they were published`() throws {
    let test = try LinkHarness.up()
    for channel in ["a", "b"] { try test.subscribe(channel) }
    for number in 0..<1000 {
      test.link.send(RedisCommand("PUBLISH", number % 2 == 0 ? "a" : "b", "\(number)")) { _ in }
    }
    #expect(test.run { test.messages.count == 1000 })
    #expect(test.messages.map(\.payload) == (0..<1000).map { "\($0)" })
    test.link.unsubscribe(Array("a".utf8))
    test.turn()
    try test.server.wait(["PUBSUB", "CHANNELS"]) { $0 == "b\n" }
  }

  @Test func `nothing is sent while the link is not up`() throws {
    let test = try LinkHarness()
    var failures: [RedisFailure] = []
    func note<Value>(_ result: Result<Value, RedisFailure>) {
      if case .failure(let failure) = result { failures.append(failure) }
    }
    test.link.send(RedisCommand("PING"), note)
    test.link.subscribe([0x61], note)
    #expect(failures == [.down, .down])
    try test.comeUp()
    test.link.send(RedisCommand("PING"), note)
    test.link.subscribe([0x61], note)
    test.link.close()
    test.link.send(RedisCommand("PING"), note)
    #expect(failures == [.down, .down, .closed, .closed, .closed])
    #expect(test.states == [.up])
  }

  @Test func `a closed link leaves no connection at the server`() throws {
    let test = try LinkHarness.up()
    let isOurs = { (clients: String) in clients.contains("name=pusher-cli") }
    #expect(try isOurs(test.server.cli("CLIENT", "LIST")))
    test.link.close()
    test.turn()
    try test.server.wait(["CLIENT", "LIST"]) { !isOurs($0) }
  }

  // MARK: Credentials and names

  @Test func `a user of an access control list and a database are used`() throws {
    let server = try RedisServer("user ann on >sesame ~* &* +@all")
    let test = try LinkHarness.up(to: server, "redis://ann:sesame@127.0.0.1:PORT/3")
    #expect(try test.ask("ACL", "WHOAMI").text == "ann")
    #expect(try test.ask("SET", "k", "v") == .status("OK"))
    #expect(try server.cli("-n", "3", "GET", "k") == "v\n")
    #expect(try server.cli("GET", "k") == "\n")
  }

  @Test(arguments: ["ann:wrongword@", ":wrongword@"])
  func `a wrong password is told without it, and tried again`(user: String) throws {
    let server = try RedisServer("requirepass sesame", "user ann on >sesame ~* &* +@all")
    let test = try LinkHarness(to: server, "redis://\(user)127.0.0.1:PORT")
    #expect(test.run { test.states.count == 2 })
    let failure = RedisFailure.credentials(server.place, code: "WRONGPASS")
    for state in test.states {
      guard case .down(let told, _) = state else { continue }
      #expect(told == failure && !"\(told)".contains("wrongword"))
    }
  }

  // MARK: TLS

  private func tlsServer() throws -> RedisServer {
    let certificates = TestCertificates.shared
    return try RedisServer(
      "tls-port PORT", "tls-auth-clients no",
      "tls-cert-file \"\(certificates.certificate("localhost"))\"",
      "tls-key-file \"\(certificates.key("localhost"))\"",
      "tls-ca-cert-file \"\(certificates.authority)\"")
  }

  @Test func `rediss speaks TLS with a server whose certificate is trusted`() throws {
    let test = try LinkHarness.up(to: tlsServer(), "rediss://localhost:PORT") {
      $0.tls = TLSConfiguration(caFile: TestCertificates.shared.authority)
      $0.families = [.ipv4]
    }
    try test.subscribe("a")
    let text = String(repeating: "x", count: 300_000)
    #expect(try test.ask("PUBLISH", "a", text) == .integer(1))
    #expect(test.run { test.messages.map(\.payload) == [text] })
  }

  @Test func `rediss refuses a server whose certificate is not trusted`() throws {
    let test = try LinkHarness(to: tlsServer(), "rediss://127.0.0.1:PORT") {
      $0.tls = TLSConfiguration(caFile: TestCertificates.shared.otherAuthority)
    }
    guard case .transport(_, .tls(.unknownAuthority)) = try test.loss() else {
      Issue.record("\(test.states)")
      return
    }
  }

  // MARK: Scripts

  @Test func `a script runs by name, and again after the server has forgotten it`() throws {
    let test = try LinkHarness.up()
    let script = RedisScript("return redis.call('INCRBY', KEYS[1], ARGV[1])")
    #expect(try test.run(script, "n", "2") == .integer(2))
    #expect(try test.server.cli("SCRIPT", "EXISTS", script.sha1) == "1\n")
    #expect(try test.run(script, "n", "3") == .integer(5))
    #expect(try test.ask("SCRIPT", "FLUSH") == .status("OK"))
    #expect(try test.run(script, "n", "4") == .integer(9))
    let counts = try test.server.cli("INFO", "commandstats")
    #expect(counts.contains("cmdstat_eval:calls=2,"), "\(counts)")
    #expect(counts.contains("cmdstat_evalsha:calls=2,"), "\(counts)")
  }

  // MARK: Losses

  @Test(arguments: ["normal", "pubsub"])
  func `a killed connection takes the whole link down, and it comes up again`(type: String) throws {
    let test = try LinkHarness.up()
    try test.subscribe("a")
    // The answer never comes.
    var failures: [RedisFailure] = []
    test.link.send(RedisCommand("BLPOP", "empty", "0")) {
      if case .failure(let failure) = $0 { failures.append(failure) }
    }
    test.turn()
    try test.server.wait(["INFO", "clients"]) { $0.contains("blocked_clients:1") }
    try test.server.cli("CLIENT", "KILL", "TYPE", type)
    let loss = try test.loss()
    #expect(failures == [loss])
    try test.comeUp()
    #expect(try test.ask("PING") == .status("PONG"))
    // The link does not subscribe again. Redis may see the end of the other connection later.
    try test.server.wait(["PUBSUB", "CHANNELS"]) { $0 == "\n" }
  }

  @Test func `a server that is started anew is found again`() throws {
    let test = try LinkHarness.up()
    test.server.stop()
    _ = try test.loss()
    let place = test.server.place
    let refused = { (state: RedisLink.State) in
      if case .down(.transport(place, .connect), _) = state { true } else { false }
    }
    #expect(test.run { test.states.contains(where: refused) })
    #expect(try test.server.start())
    try test.comeUp()
    #expect(try test.ask("PING") == .status("PONG"))
  }

  @Test func `a server that hangs is given up`() throws {
    let test = try LinkHarness.up { $0.answerTime = .seconds(1) }
    let count = test.states.count
    var failure: RedisFailure?
    test.link.send(RedisCommand("DEBUG", "SLEEP", "60")) {
      if case .failure(let reason) = $0 { failure = reason }
    }
    #expect(try test.loss(since: count) == .noAnswer(test.server.place, .seconds(1)))
    #expect(failure == .noAnswer(test.server.place, .seconds(1)))
  }

  @Test func `a link that is closed from inside a callback calls nobody any more`() throws {
    let test = try LinkHarness.up()
    var results = 0
    for _ in 0..<100 {
      test.link.send(RedisCommand("PING")) { [link = test.link] _ in
        results += 1
        if results == 3 { link.close() }
      }
    }
    #expect(test.run { results == 100 })
    #expect(test.states == [.up])
  }

  // MARK: Replicas and Sentinel

  @Test func `a replica is not used before it is a primary`() throws {
    let primary = try RedisServer()
    let replica = try RedisServer("replicaof 127.0.0.1 \(primary.port)")
    let test = try LinkHarness(to: replica)
    #expect(try test.loss() == .notPrimary(replica.place))
    try replica.cli("REPLICAOF", "NO", "ONE")
    try test.comeUp()
  }

  @Test func `a primary that takes no writes any more is left`() throws {
    let other = try RedisServer()
    let test = try LinkHarness.up()
    try test.server.cli("REPLICAOF", "127.0.0.1", "\(other.port)")
    #expect(try test.ask("SET", "k", "v").errorCode == "READONLY")
    #expect(try test.loss() == .notPrimary(test.server.place))
  }

  @Test func `a Sentinel leads to the primary, and after a failover to the new one`() throws {
    let first = try RedisServer()
    let second = try RedisServer("replicaof 127.0.0.1 \(first.port)")
    try second.wait(["INFO", "replication"]) { $0.contains("master_link_status:up") }
    let sentinel = try RedisServer.sentinel(
      of: first, "sentinel down-after-milliseconds mymaster 60000")
    try sentinel.wait(["SENTINEL", "replicas", "mymaster"]) {
      $0.contains("\(second.port)") && $0.contains("\nok\n")
    }
    // The first address does not answer.
    let gone = try LoopHarness().closedAddress().port
    let test = try LinkHarness.up(
      to: sentinel, "redis+sentinel://127.0.0.1:\(gone),127.0.0.1:PORT/mymaster")
    #expect(test.link.primary == first.endpoint)
    try sentinel.wait(["SENTINEL", "failover", "mymaster"]) { $0.hasPrefix("OK") }
    #expect(test.run { test.link.primary == second.endpoint })
    #expect(try test.ask("SET", "k", "v") == .status("OK"))
  }

  @Test func `Sentinels that do not know the name are told`() throws {
    let server = try RedisServer()
    let test = try LinkHarness(to: .sentinel(of: server), "redis+sentinel://127.0.0.1:PORT/another")
    let reason = "the Sentinel at \(test.server.place) does not know the name"
    #expect(try test.loss() == .noPrimary("another", reason: reason))
  }

  @Test func `a Sentinel gets the password when it asks for one`() throws {
    let server = try RedisServer("requirepass sesame")
    let sentinel = try RedisServer.sentinel(
      of: server, "requirepass sesame", "sentinel auth-pass mymaster sesame")
    let test = try LinkHarness.up(to: sentinel, "redis+sentinel://:sesame@127.0.0.1:PORT/mymaster")
    #expect(test.link.primary == server.endpoint)
  }
}
