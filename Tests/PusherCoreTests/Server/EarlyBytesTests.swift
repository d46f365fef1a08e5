import PusherCore
import PusherServer
import TestSupport
import Testing

/// A client sends bytes before it has the answer to its handshake.
///
/// RFC 6455 section 4.1 forbids that, TCP does not.
@Suite("Bytes that come early") struct EarlyBytesTests {
  private static let mask: UInt32 = 0x1234_5678

  private static func handshake(_ line: String = ServerHarness.socketLine) -> [UInt8] {
    Array(ServerHarness.upgrade(line).utf8)
  }

  private static let stream = console("events")

  private static func console(_ target: String) -> String {
    ServerHarness.request("GET /console/\(target)", ["Host: localhost", ConsoleHarness.bearer])
  }

  private static func subscribe(_ channel: String) -> [UInt8] {
    textFrame(#"{"event":"pusher:subscribe","data":{"channel":"\#(channel)"}}"#, mask: mask)
  }

  private static func ping(_ payload: String) -> [UInt8] {
    frame(.ping, Array(payload.utf8), mask: mask)
  }

  /// Returns true if the server has no sockets and no subscriptions left.
  private static func isDeserted(_ server: Server) -> Bool {
    server.connectionCount == 0 && server.occupancy.allSatisfy { $0.channels == 0 }
  }

  // MARK: Handshake and frames

  @Test(arguments: Dialect.allCases.map { ($0, false) } + [(.pusher, true)])
  func `a handshake with frames right after it is read on, wherever the two reads are cut`(
    dialect: Dialect, isSecure: Bool
  ) throws {
    let test = try ServerHarness(isSecure: isSecure) { $0.dialect = dialect }
    let tls = try isSecure ? ServerHarness.trust() : nil
    let bytes = Self.handshake() + Self.subscribe("news") + Self.ping("early")
    for cut in 0..<bytes.count {
      let client = test.raw(tls: tls)
      try #require(test.run { client.isOpen })
      // The server reads the two pieces separately.
      for piece in [bytes[..<cut], bytes[cut...]] where !piece.isEmpty {
        client.send(Array(piece))
        test.goRound()
      }
      try #require(test.run { client.text.holds("early") }, "cut at \(cut)")
      #expect(client.text.holds("subscription_succeeded"), "cut at \(cut)")
      client.send(Self.ping("late"))
      try #require(test.run { client.text.holds("late") }, "cut at \(cut) and read no more")
      client.close()
      try #require(test.run { Self.isDeserted(test.server) }, "cut at \(cut) and never left")
    }
  }

  @Test func `a refused socket that has sent early is read until it takes its leave`() throws {
    let test = try ServerHarness { $0.limits.times.close = .seconds(3600) }
    let client = test.raw()
    try #require(test.run { client.isOpen })
    client.send(Self.handshake("GET /app/nobody") + Self.ping("early"))
    try #require(test.run { client.text.holds("4001") })
    client.send(frame(.close, [0x0F, 0xA1], mask: Self.mask))
    #expect(test.run { client.hasEnded })
  }

  @Test func `readers of the console's stream that have sent early leave their places`() throws {
    let console = try ConsoleHarness()
    for _ in 0..<ServerFeed.readerLimit {
      let client = console.test.raw(Self.stream + "early")
      try #require(console.test.run { client.text.holds("event: hello") })
      client.close()
    }
    // The server notices at once, before a heartbeat fails.
    console.test.goRound()
    _ = try console.stream()
  }

  // MARK: At random

  private struct Script {
    var bytes: [UInt8] = []
    var answers = 0
    var isSocket = false
    var isStream = false

    init(_ test: ServerHarness, _ random: inout SeededGenerator) throws {
      for _ in 0..<random.below(4) { try addRequest(test, &random) }
      switch random.below(6) {
      case 0: break
      case 1:
        bytes += Array((EarlyBytesTests.stream + "early").utf8)
        isStream = true
        answers += 1
      default:
        bytes += EarlyBytesTests.handshake()
        isSocket = true
        answers += 1
        for _ in 0..<random.below(6) { addFrame(&random) }
        bytes += EarlyBytesTests.ping("the last")
      }
    }

    private mutating func addRequest(_ test: ServerHarness, _ random: inout SeededGenerator) throws
    {
      answers += 1
      switch random.below(5) {
      case 0: bytes += Array(ServerHarness.request("GET /nothing").utf8)
      case 1: bytes += Array(ServerHarness.request("HEAD /").utf8)
      // The answer follows after all nodes have answered.
      case 2: bytes += Array(EarlyBytesTests.console("connections?app=3").utf8)
      case 3: bytes += Array(EarlyBytesTests.console("channels?app=3").utf8)
      default:
        let data = String(repeating: "x", count: random.below(9000))
        bytes += try test.call("e", ["channel-0"], data: data)
      }
    }

    private mutating func addFrame(_ random: inout SeededGenerator) {
      switch random.below(4) {
      case 0: bytes += EarlyBytesTests.subscribe("channel-\(random.below(3))")
      case 1: bytes += EarlyBytesTests.ping("one")
      case 2: bytes += frame(.pong, [], mask: EarlyBytesTests.mask)
      default:
        bytes += textFrame(#"{"event":"pusher:"#, isFinal: false, mask: EarlyBytesTests.mask)
        bytes += frame(.continuation, Array(#"ping","data":{}}"#.utf8), mask: EarlyBytesTests.mask)
      }
    }
  }

  @Test(arguments: 0..<60)
  func `all that a client sends is read, however cut, and nothing stays`(seed: Int) throws {
    var random = SeededGenerator(seed: UInt64(seed))
    let console = try ConsoleHarness()
    let test = console.test
    for number in 0..<10 {
      let script = try Script(test, &random)
      let client = test.raw()
      try #require(test.run { client.isOpen })
      var rest = script.bytes[...]
      while !rest.isEmpty {
        let count = random.below(3) == 0 ? rest.count : 1 + random.below(min(rest.count, 400))
        client.send(Array(rest.prefix(count)))
        rest = rest.dropFirst(count)
        if random.below(2) == 0 { test.goRound() }
      }
      let isAnswered = test.run {
        client.text.pieces(separatedBy: "HTTP/1.1 ").count - 1 == script.answers
          && (!script.isSocket || client.text.holds("the last"))
          && (!script.isStream || client.text.holds("event: hello"))
      }
      try #require(isAnswered, "client \(number): \(client.text)")
      client.close()
      let feed = test.server.feed
      let isGone = test.run { Self.isDeserted(test.server) && !feed.isOpen }
      try #require(isGone, "client \(number) is counted still")
    }
  }
}
