#if Redis
  import PusherCluster
  import PusherCore
  import PusherServer
  import TestSupport
  import Testing

  /// A server whose Redis refuses commands at random moments reports the error and registers once
  /// Redis recovers.
  @Suite(
    "Redis: refusals and odd answers at each moment", .ownThread, .timeLimit(.minutes(10)))
  struct RedisRefusalTests {
    private final class Node {
      let redis: ScriptedRedis
      let server: Server
      var told: [String] = []
      var refusals = 0

      init(_ harness: LoopHarness) throws {
        redis = try ScriptedRedis(harness.loop)
        var application = Application.forTests()
        application.limits.eventsPerSecond = 1000
        var options = ServerOptions(applications: [application])
        options.listen.port = 0
        let cluster = RedisCluster(
          redis.settings, trust: options.webhooks.trust, webhookDelay: options.webhooks.delay,
          loop: harness.loop)
        let log = TestLog()
        server = try Server(
          options: options, cluster: cluster, random: SeededGenerator(seed: 5), loop: harness.loop
        ) { log.note($0) }
        log.node = self
      }
    }

    private final class TestLog {
      weak var node: Node?
      func note(_ event: ServerLogEvent) {
        if event.isProblem { node?.told.append(event.description) }
      }
    }

    private static let errors = [
      "-OOM command not allowed when used memory > 'maxmemory'.",
      "-NOPERM this user has no permissions to run the 'x' command",
      "-WRONGTYPE Operation against a key holding the wrong kind of value",
      "-READONLY You can't write against a read only replica.",
      "-ERR The user executing the script can't run this command or subcommand",
      "-MISCONF Redis is configured to save RDB snapshots",
    ]

    private func run(_ harness: LoopHarness, until condition: @escaping () -> Bool) -> Bool {
      harness.loop.beforeWait { if condition() { harness.loop.stop() } }
      return harness.run()
    }

    @Test func `an error in place of any answer is told, and the server registers afterwards`()
      throws
    {
      let harness = try LoopHarness()
      let nodes = try (0..<32).map { number -> Node in
        let node = try Node(harness)
        let error = Array((Self.errors[number % Self.errors.count] + "\r\n").utf8)
        node.redis.answer = { [unowned node] count, command in
          // Errors of these commands only mean that the server may not ask. It can do without the
          // answer.
          let isOptional = ["CLIENT", "INFO", "ROLE", "PING"].contains(command[0].uppercased())
          guard count >= number, node.refusals == 0, !isOptional else { return nil }
          node.refusals += 1
          return error
        }
        return node
      }
      // The error may still be unread: the server reports it first.
      let isOver = run(harness) {
        nodes.allSatisfy { $0.refusals == 1 && !$0.told.isEmpty && $0.server.ailment == nil }
      }
      for (number, node) in nodes.enumerated() {
        #expect(
          isOver && node.told.contains { $0.hasPrefix("redis ") },
          "answer \(number): \(node.told), \(node.server.ailment ?? "well")")
        node.redis.close()
      }
    }

    @Test func `while all is refused the server is ill, and says so once for each reason`() throws {
      let harness = try LoopHarness()
      let node = try Node(harness)
      var count = 0
      node.redis.answer = { _, command in
        guard command[0].uppercased().hasPrefix("EVAL") else { return nil }
        count += 1
        return count <= 6 ? Array("-OOM command not allowed.\r\n".utf8) : nil
      }
      #expect(run(harness) { count >= 6 })
      #expect(node.server.ailment?.hasPrefix("redis: refuses ") == true)
      #expect(node.told.filter { $0.contains("OOM") }.count == 1, "\(node.told)")
      node.redis.close()
    }

    @Test func `numbers and kinds that no Redis sends trap nowhere`() throws {
      let harness = try LoopHarness()
      let nodes = try (1...4).map { seed -> Node in
        let node = try Node(harness)
        var random = SeededGenerator(seed: UInt64(seed))
        node.redis.answer = { [unowned node] count, command in
          let isSubscription = command[0].uppercased().hasSuffix("SUBSCRIBE")
          // The first few answers belong to the link.
          guard count > 8, node.refusals < 40, !isSubscription, random.below(3) == 0 else {
            return nil
          }
          node.refusals += 1
          if let channel = node.redis.channels.last {
            node.redis.publish(Self.message(&random), on: channel)
          }
          return Self.reply(&random, depth: 0)
        }
        return node
      }
      #expect(
        run(harness) {
          nodes.allSatisfy {
            $0.redis.answers > 60 && ($0.refusals == 40 || $0.server.ailment == nil)
          }
        })
      for node in nodes { node.redis.answer = { _, _ in nil } }
      #expect(run(harness) { nodes.allSatisfy { $0.server.ailment == nil } })
      for node in nodes { node.redis.close() }
    }

    private static let numbers = [
      "0", "-1", "1", "2147483648", "4294967296", "9007199254740992", "9223372036854775807",
      "-9223372036854775808",
    ]

    private static func pick(_ random: inout SeededGenerator) -> String {
      numbers[random.below(numbers.count)]
    }

    private static func reply(_ random: inout SeededGenerator, depth: Int) -> [UInt8] {
      switch random.below(depth > 2 ? 4 : 6) {
      case 0, 1: return Array(":\(pick(&random))\r\n".utf8)
      case 2: return ScriptedRedis.bulk(Array(pick(&random).utf8))
      case 3: return Array("$-1\r\n".utf8)
      default:
        let count = random.below(6)
        return (0..<count).reduce(Array("*\(count)\r\n".utf8)) { bytes, _ in
          bytes + reply(&random, depth: depth + 1)
        }
      }
    }

    /// Returns a message between servers with random numbers as lengths and fields.
    private static func message(_ random: inout SeededGenerator) -> [UInt8] {
      let kinds = ["j", "a", "r", "w", "n", "t", "s", "m"]
      var text = "1:\(kinds[random.below(kinds.count)])"
      for _ in 0..<random.below(9) {
        let field = pick(&random)
        let length = random.below(8) == 0 ? pick(&random) : "\(field.utf8.count)"
        text += "\(length):\(field)"
      }
      return Array(text.utf8)
    }
  }
#endif
