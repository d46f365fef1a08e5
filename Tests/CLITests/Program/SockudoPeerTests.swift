import Foundation
import PusherCore
import Testing

/// Protocol V2 with sockudo's own client and server library.
@Suite(
  "With sockudo's libraries", .serialized,
  .enabled(if: PythonPeer.isWanted, Comment(rawValue: PythonPeer.reason)), .runsProgramsFirst)
struct SockudoPeerTests {
  private static let channel = "private-orders"

  /// A server, its faults, and clients of sockudo's library.
  private struct Stage {
    let server: LocalServer

    init(_ options: String...) throws { server = try LocalServer(options: options) }

    func trigger(_ numbers: Range<Int>) throws {
      try PythonPeer.start(
        "sockudo_trigger.py",
        [
          server.port, LocalServer.appID, LocalServer.key, "local-secret",
          "\(numbers.lowerBound)", "\(numbers.count)", SockudoPeerTests.channel,
        ]
      ).result().expect(0)
    }

    func stage(_ fault: String) throws {
      try PusherCLI.tool(["curl", "-sS", "-d", fault, "http://127.0.0.1:\(server.port)/faults"])
        .expect(0)
    }

    /// A client after its subscription, which was at this serial.
    func listener(rewind: Int = 0, serial: Int = 0) throws -> ChildProgram {
      let client = try PythonPeer.start(
        "sockudo_listener.py",
        [server.port, LocalServer.key, "local-secret", "\(rewind)", SockudoPeerTests.channel],
        input: .pipe)
      try expect(client, "sockudo:subscription_succeeded", serial: serial)
      return client
    }

    func next(_ client: ChildProgram) throws -> JSONValue {
      try JSONParser.parse(try client.line())
    }

    @discardableResult
    func expect(_ client: ChildProgram, _ event: String, serial: Int? = nil) throws -> JSONValue {
      let line = try next(client)
      #expect(line["event"]?.text == event, "\(line)")
      if let serial { #expect(line["serial"]?.integer == serial, "\(line)") }
      return line["data"] ?? .null
    }

    func expect(_ client: ChildProgram, _ numbers: Range<Int>, serialOf first: Int) throws {
      for number in numbers {
        let data = try expect(client, "tick", serial: number - numbers.lowerBound + first)
        #expect(data == ["n": .integer(number)])
      }
    }

    func expect(_ client: ChildProgram, recovered: Int, failed: Int, replayed: Int?) throws {
      let data = try expect(client, "resume_success")
      #expect(data["recovered"]?.elements?.count == recovered, "\(data)")
      #expect(data["failed"]?.elements?.count == failed, "\(data)")
      #expect(data["recovered"]?.elements?.first?["replayed"]?.integer == replayed, "\(data)")
    }
  }

  @Test func `sockudo's triggers arrive at clients of both protocols on one channel`() throws {
    let stage = try Stage()
    let client = try stage.listener()
    let old = try stage.server.subscribe([Self.channel], "-L", "-n", "20")
    try stage.trigger(0..<20)
    try stage.expect(client, 0..<20, serialOf: 1)
    let result = try old.result()
    result.expect(0)
    #expect(
      try Jq.run("-r", ".data.n // empty", on: result.output).split(separator: "\n").count == 20)
  }

  @Test func `sockudo's client gets all events once through cut connections`() throws {
    let stage = try Stage()
    let client = try stage.listener()
    var sent = 0
    for round in 0..<5 {
      // The fault cuts the connection after the first event of the round; the others are missed.
      try stage.stage("drop:after=1,channel=\(Self.channel),times=1")
      try stage.trigger(sent..<sent + 10)
      try stage.expect(client, sent..<sent + 1, serialOf: sent + 1)
      var (numbers, answers) = ([Int](), 0)
      while numbers.count < 9 || answers < 1 {
        let line = try stage.next(client)
        if let number = line["data"]?["n"]?.integer { numbers.append(number) }
        if line["event"]?.text == "resume_success" { answers += 1 }
      }
      #expect(numbers == Array(sent + 1..<sent + 10), "round \(round)")
      sent += 10
    }
  }

  @Test func `sockudo's client subscribes anew after its window`() throws {
    let stage = try Stage(
      "--fault", "expire-window:times=1", "--fault", "drop:after=2,times=1,channel=*")
    let client = try stage.listener()
    try stage.trigger(0..<2)
    try stage.expect(client, 0..<2, serialOf: 1)
    try stage.expect(client, "sockudo:subscription_succeeded", serial: 2)
    let failure = try stage.expect(client, "resume_failed")
    #expect(failure["code"]?.text == "position_expired")
    try stage.expect(client, recovered: 0, failed: 1, replayed: nil)
    try stage.expect(client, "sockudo:subscription_succeeded", serial: 2)
    try stage.trigger(2..<3)
    try stage.expect(client, 2..<3, serialOf: 3)
  }

  @Test func `sockudo's client rewinds`() throws {
    let stage = try Stage("--recovery-limit", "5")
    let first = try stage.listener()
    try stage.trigger(0..<7)
    try stage.expect(first, 0..<7, serialOf: 1)
    let client = try stage.listener(rewind: 3, serial: 7)
    try stage.expect(client, 4..<7, serialOf: 5)
    let whole = try stage.expect(client, "sockudo:rewind_complete")
    #expect(whole["complete"] == true && whole["historical_count"]?.integer == 3)
    let other = try stage.listener(rewind: 6, serial: 7)
    try stage.expect(other, 2..<7, serialOf: 3)
    let cut = try stage.expect(other, "sockudo:rewind_complete")
    #expect(cut["complete"] == false && cut["truncated_by_limit"] == true)
  }

  @Test(.enabled(if: RedisProgram.isInstalled))
  func `a client of V2 resumes on another server of the same Redis`() throws {
    let redis = try RedisProgram()
    let stages = try (0..<3).map { _ in try Stage("--redis", redis.url) }
    func socket(_ stage: Stage) throws -> ChildProgram {
      let address = "ws://127.0.0.1:\(stage.server.port)/app/\(LocalServer.key)?protocol=2"
      let socket = try PythonPeer.start("websocket_pipe.py", [address], input: .pipe)
      // The extension and the greeting.
      _ = try socket.lines(2)
      return socket
    }
    func send(_ text: String, _ socket: ChildProgram) { socket.write(Array(text.utf8) + [0x0A]) }
    func trigger(_ stage: Stage, _ numbers: String) throws {
      for number in numbers {
        try stage.server.trigger("orders", "tick", "\(number)").expect(0)
      }
    }
    let subscribe = #"{"event":"sockudo:subscribe","data":{"channel":"orders"}}"#
    let first = try socket(stages[0])
    send(subscribe, first)
    let confirmation = try stages[0].next(first)
    #expect(confirmation["serial"]?.integer == 0)
    let stream = try #require(confirmation["stream_id"]?.text)
    try trigger(stages[1], "1")
    #expect(try stages[0].next(first)["serial"]?.integer == 1)
    try stages[0].server.kill()
    try trigger(stages[1], "23")
    try trigger(stages[2], "4")
    let second = try socket(stages[2])
    send(
      #"{"event":"sockudo:resume","data":{"channel_positions":{"orders":{"stream_id":"#
        + #""\#(stream)","serial":1}}}}"#, second)
    send(subscribe, second)
    let lines = try (0..<5).map { _ in try stages[2].next(second) }
    #expect(lines.map { $0["serial"]?.integer } == [4, 2, 3, 4, nil])
    #expect(lines.compactMap { $0["stream_id"]?.text } == Array(repeating: stream, count: 4))
    #expect(lines[4]["data"]?.text?.contains(#""replayed":3"#) == true)
  }
}
