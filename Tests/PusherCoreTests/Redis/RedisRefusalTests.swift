import PusherCluster
import PusherCore
import PusherServer
import TestSupport
import Testing

/// A server whose Redis refuses commands at random moments reports the error and registers once
/// Redis recovers.
@Suite("Redis: refusals and odd answers at each moment", .ownThread, .timeLimit(.minutes(10)))
struct RedisRefusalTests {
  private final class Node {
    let redis: ScriptedRedis
    let server: Server
    private let log: TestLog
    var told: [String] { log.told }
    var refusals = 0
    var refused = ""

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
      self.log = log
      server = try Server(
        options: options, cluster: cluster, random: SeededGenerator(seed: 5), loop: harness.loop
      ) { if $0.isProblem { log.told.append($0.description) } }
    }
  }

  private final class TestLog { var told: [String] = [] }

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

  @Test func `an error in place of any answer is told, then the server registers`() throws {
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
        node.refused = command[0]
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
        "answer \(number): \(node.refused) \(node.told), \(node.server.ailment ?? "well")")
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

  @Test func `an answer of Redis with any number or kind of value traps nowhere`() throws {
    let harness = try LoopHarness()
    let nodes = try (1...8).map { seed -> Node in
      let node = try Node(harness)
      var random = SeededGenerator(seed: UInt64(seed))
      node.redis.answer = { [unowned node] count, command in
        let isSubscription = command[0].uppercased().hasSuffix("SUBSCRIBE")
        // The first few answers belong to the link.
        guard count > 8, node.refusals < 20, !isSubscription, random.below(3) == 0 else {
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
          $0.redis.answers > 30 && ($0.refusals == 20 || $0.server.ailment == nil)
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

/// A Redis on the test's loop that gives scripted answers.
///
/// It stores nothing: it answers like an empty Redis unless ``answer`` decides otherwise.
final class ScriptedRedis {
  /// Overrides a command's answer, by the number of earlier answers; `nil` for the usual one.
  var answer: (_ number: Int, _ command: [String]) -> [UInt8]? = { _, _ in nil }
  private(set) var answers = 0
  private(set) var channels: [String] = []
  private let loop: EventLoop
  private var listener: Listener?
  private var connections: [Connection] = []

  init(_ loop: EventLoop) throws {
    self.loop = loop
    listener = try Listener(loop: loop, host: "127.0.0.1", port: 0) {
      [unowned self] descriptor, peer, _ in
      connections.append(Connection(self, loop, descriptor, peer))
    }
  }

  deinit {
    close()
  }

  func close() {
    listener?.close()
    listener = nil
    for connection in connections { connection.close() }
    connections = []
  }

  var settings: RedisSettings {
    RedisSettings(endpoints: [Route(host: "127.0.0.1", port: listener?.address.port ?? 0)])
  }

  func publish(_ payload: [UInt8], on channel: String) {
    for connection in connections where connection.channels.contains(channel) {
      connection.send(
        Array("*3\r\n$7\r\nmessage\r\n".utf8) + Self.bulk(Array(channel.utf8))
          + Self.bulk(payload))
    }
  }

  static func bulk(_ bytes: [UInt8]) -> [UInt8] {
    Array("$\(bytes.count)\r\n".utf8) + bytes + [0x0D, 0x0A]
  }

  fileprivate func take(_ command: [String], from connection: Connection) {
    let name = command.first?.uppercased() ?? ""
    defer { answers += 1 }
    if let told = answer(answers, command) { return connection.send(told) }
    guard ["SUBSCRIBE", "UNSUBSCRIBE"].contains(name), command.count == 2 else {
      return connection.send(Array((usual(name, command) + "\r\n").utf8))
    }
    if name == "SUBSCRIBE" {
      connection.channels.insert(command[1])
      channels.append(command[1])
    }
    let kind = Array(name.lowercased().utf8)
    connection.send(
      Array("*3\r\n".utf8) + Self.bulk(kind) + Self.bulk(Array(command[1].utf8))
        + Array(":1\r\n".utf8))
  }

  /// Returns the answer without its last line end.
  private func usual(_ name: String, _ command: [String]) -> String {
    switch name {
    case "ROLE": return "*3\r\n$6\r\nmaster\r\n:0\r\n*0"
    case "INFO": return "$11\r\nrun_id:abcd"
    case "PING": return "+PONG"
    case "CLIENT": return command.count == 2 ? ":7" : "+OK"
    case "SMEMBERS", "HGETALL", "MGET": return "*0"
    case "SET": return "+OK"
    case "HSCAN": return "*2\r\n$1\r\n0\r\n*0"
    case "EVAL", "EVALSHA": return usualResult(of: command)
    case "PUBSUB": return "*2\r\n$1\r\nx\r\n:1"
    default: return ":1"
    }
  }

  private func usualResult(of command: [String]) -> String {
    let script = ClusterCall.script
    guard command.count > 2, [script.text, script.sha1].contains(command[1]),
      let keys = Int(command[2]), command.indices.contains(3 + keys)
    else { return ":0" }
    switch command[3 + keys] {
    case "begin", "beat": return ":9000000000000"
    case "probe": return "*0"
    case "join", "leave": return "*3\r\n:0\r\n:0\r\n:0"
    default: return ":0"
    }
  }

  fileprivate final class Connection: SocketStreamDelegate {
    private unowned let owner: ScriptedRedis
    private var stream: SocketStream?
    private let reader = RedisReader(of: "r")
    private let input = ByteBuffer()
    private let output = ByteBuffer()
    var channels: Set<String> = []

    init(_ owner: ScriptedRedis, _ loop: EventLoop, _ descriptor: Int32, _ peer: SocketAddress?) {
      self.owner = owner
      stream = SocketStream.adopt(loop: loop, descriptor: descriptor, peer: peer, delegate: self)
    }

    func close() {
      stream?.close()
      stream = nil
    }

    func send(_ bytes: [UInt8]) {
      output.append(bytes)
      do throws(TransportError) {
        try stream?.write(from: output)
      } catch {
        close()
      }
    }

    func streamOpened(_ stream: SocketStream, at now: Instant) {}
    func streamWritable(_ stream: SocketStream, at now: Instant) {}
    func streamFailed(_ stream: SocketStream, _ error: TransportError, at now: Instant) { close() }

    func streamReadable(_ stream: SocketStream, at now: Instant) {
      do {
        guard case .bytes = try stream.read(into: input, atMost: 65_536) else { return }
        while !input.isEmpty {
          let count = min(input.count, RedisReader.portion)
          reader.feed(input.view[0..<count])
          input.consume(count)
          while let reply = try reader.next() {
            guard case .array(let words) = reply else { continue }
            owner.take(words.map { $0.text ?? "" }, from: self)
          }
        }
      } catch {
        close()
      }
    }
  }
}
