import PusherCluster
import PusherCore
import PusherServer
import SimulationModel
import TestSupport
import Testing

/// The model of Redis gives the same answers as a real server.
@Suite(.runsPrograms, .timeLimit(.minutes(10)), .enabled(if: RedisServer.isInstalled))
struct `Redis model: beside a real server` {
  /// Maximum difference of the two clocks, in milliseconds; a call may wait on a busy machine.
  private static let tolerance: Int64 = 20_000

  /// Sends steps in order, and reads Redis's clock before each; returns each time and answer.
  private func send(
    _ steps: [ClusterStep], _ test: LinkHarness
  ) throws -> [(time: Int64, answer: RedisReply)] {
    var times: [Int64] = []
    var answers: [RedisReply] = []
    for step in steps {
      test.link.send(RedisCommand("TIME")) { times.append(Self.milliseconds($0)) }
      switch step {
      case .operation(let call): test.link.run(call) { answers.append(Self.reply($0)) }
      case .command(let words):
        test.link.send(RedisCommand(words)) { answers.append(Self.reply($0)) }
      }
    }
    try #require(test.run { times.count == steps.count && answers.count == steps.count })
    return Array(zip(times, answers))
  }

  private static func reply(_ result: Result<RedisReply, RedisFailure>) -> RedisReply {
    switch result {
    case .success(let reply): reply
    case .failure(let failure): .error("\(failure)")
    }
  }

  private static func milliseconds(_ result: Result<RedisReply, RedisFailure>) -> Int64 {
    guard case .array(let values) = reply(result), values.count == 2,
      let seconds = values[0].text.flatMap({ Int64($0) }),
      let rest = values[1].text.flatMap({ Int64($0) })
    else { return -1 }
    return seconds * 1000 + rest / 1000
  }

  /// Returns true if both answers agree, except for elapsed time and the order of sets.
  private static func fit(_ step: ClusterStep, _ real: RedisReply, _ model: RedisReply) -> Bool {
    switch (step.name, real, model) {
    case ("begin", .integer(let left), .integer(let right)),
      ("beat", .integer(let left), .integer(let right)):
      return areNear(left, right)
    case ("facts", .array(var left), .array(var right)):
      guard left.count == right.count, left.count > 2, case .integer(let ttl) = left[2],
        case .integer(let other) = right[2]
      else { return false }
      (left[2], right[2]) = (.null, .null)
      return left == right && areNear(ttl, other)
    case ("takeDepartures", .array(let left), .array(let right)),
      ("SMEMBERS", .array(let left), .array(let right)),
      ("SUNION", .array(let left), .array(let right)):
      return sorted(left) == sorted(right)
    case ("replay", .array(let left), .array(let right)):
      // The third element is the time, and so is each second one of the events.
      return left.count == right.count
        && zip(left, right).enumerated().allSatisfy { place, pair in
          guard place > 1, place % 3 != 0, place % 3 != 2 || place == 2,
            case .integer(let time) = pair.0,
            case .integer(let other) = pair.1
          else { return pair.0 == pair.1 }
          return areNear(time, other)
        }
    default: return real == model
    }
  }

  private static func areNear(_ left: Int64, _ right: Int64) -> Bool {
    left > 0 && right > 0 ? abs(left - right) <= tolerance : left == right
  }

  private static func sorted(_ replies: [RedisReply]) -> [RedisName] {
    replies.map { RedisName($0.content ?? []) }.sorted()
  }

  @Test(arguments: 1...4 as ClosedRange<UInt64>)
  func `model and Redis answer the same calls alike, and publish the same`(seed: UInt64) throws {
    let test = try LinkHarness.up()
    var model = RedisModel()
    let listener = model.connect()
    for bus in DrawnCluster.buses + ["end"] {
      try test.subscribe(bus)
      model.subscribe(listener, to: RedisName(bus))
    }
    var draw = DrawnCluster(seed: seed)
    var heard = 0
    for round in 0..<60 {
      var steps = (0..<40).flatMap { _ in draw.next() }
      steps.append(.words("PUBLISH", "end", "\(round)"))
      let answers = try send(steps, test)
      for (step, (time, real)) in zip(steps, answers) {
        try compare(step, real, at: time, &model, &draw, "seed \(seed), round \(round)")
      }
      try #require(test.run { test.messages.last.map { $0 == ("end", "\(round)") } ?? false })
      let published = test.messages[heard...].map { [$0.channel, $0.payload] }
      heard = test.messages.count
      let modelled = model.takePublished().filter { !model.receivers(of: $0.channel).isEmpty }
        .map { [$0.channel, $0.payload].map { String(decoding: $0, as: UTF8.self) } }
      try #require(published == modelled, "seed \(seed), round \(round)")
    }
  }

  private func compare(
    _ step: ClusterStep, _ real: RedisReply, at time: Int64, _ model: inout RedisModel,
    _ draw: inout DrawnCluster, _ place: String
  ) throws {
    // Only the real server pauses.
    if step.name == "DEBUG" { return #expect(real == .status("OK")) }
    let answer =
      switch step {
      case .command(let words): model.run(words, at: time)
      case .operation(let call): model.run(call, at: time)
      }
    try #require(Self.fit(step, real, answer), "\(place): \(step): \(real), \(answer)")
    if step.name == "begin", case .operation(let call) = step, case .integer(let end) = real,
      end > time + 1000
    {
      draw.leaseEnds[String(decoding: call.words[3], as: UTF8.self)] = end
    }
  }

  @Test func `quotas are the same within a second`() throws {
    let test = try LinkHarness.up()
    var model = RedisModel()
    var random = SeededGenerator(seed: 7)
    var compared = 0
    for round in 0..<200 {
      let steps = (0..<5).map { _ in
        ClusterStep.operation(
          .of(
            "admit", key: { "\($0):\(round)" },
            value: { name in
              switch name {
              case "events": "\(random.below(4))"
              case "bytes": "\(random.below(20))"
              case "eventLimit": ["", "5"][random.below(2)]
              default: ["", "30"][random.below(2)]
              }
            }))
      }
      let answers = try send(steps + [.words("PING")], test)
      guard let first = answers.first?.time, let last = answers.last?.time else { continue }
      // A new second began in between and reset the counter.
      guard first / 1000 == last / 1000 else { continue }
      compared += 1
      for (step, (time, real)) in zip(steps, answers) {
        guard case .operation(let call) = step else { continue }
        #expect(model.run(call, at: time) == real, "round \(round): \(step)")
      }
    }
    #expect(compared > 0)
  }
}

@Suite("Redis model: time, faults and connections") struct RedisModelTests {
  private func words(_ words: String...) -> [[UInt8]] { words.map { Array($0.utf8) } }

  private let begin = ClusterCall.usual("begin", ["milliseconds": "100"])

  private func beat(leaseEnd: Int64) -> ClusterCall {
    .usual("beat", ["milliseconds": "100", "leaseEnd": "\(leaseEnd)"])
  }

  @Test func `a key lives until its time, and is gone a millisecond later`() {
    var model = RedisModel()
    #expect(model.run(begin, at: 1000) == .integer(1100))
    #expect(model.run(words("GET", "lease"), at: 1100) == .bytes([0x37]))
    #expect(model.run(words("GET", "lease"), at: 1101) == .null)
    #expect(model.run(words("SMEMBERS", "nodes"), at: 1101) == .array([.bytes(Array("node".utf8))]))
  }

  @Test func `a lease is renewed before its end, and not at its end`() {
    var model = RedisModel()
    _ = model.run(begin, at: 1000)
    #expect(model.run(beat(leaseEnd: 1100), at: 1099) == .integer(1199))
    #expect(model.run(beat(leaseEnd: 1199), at: 1199) == .integer(0))
  }

  @Test func `an event without a time stays, also where an earlier one had a time`() {
    var model = RedisModel()
    for (event, time) in [("a", "10"), ("b", "")] {
      let call = ClusterCall.usual("keep", ["event": event, "milliseconds": time])
      #expect(model.run(call, at: 1) == .integer(0))
    }
    #expect(model.run(words("GET", "event"), at: 1000) == .bytes([0x62]))
  }

  @Test func `a quota begins anew with each second`() {
    var model = RedisModel()
    let call = ClusterCall.usual("admit", ["events": "3", "bytes": "1", "eventLimit": "5"])
    #expect(model.run(call, at: 1000) == .integer(0))
    #expect(model.run(call, at: 1999) == .integer(1))
    #expect(model.run(call, at: 2000) == .integer(0))
  }

  @Test func `a departure is due at its time`() {
    var model = RedisModel()
    let hold = ClusterCall.usual("holdAgain", ["isMember": "0", "delay": "50"])
    let take = ClusterCall.usual("takeDepartures")
    #expect(model.run(hold, at: 100) == .integer(2))
    #expect(model.run(take, at: 149) == .array([]))
    #expect(model.run(take, at: 150) == .array([.bytes(Array("1:c1:v0:".utf8))]))
    #expect(model.run(take, at: 151) == .array([]))
  }

  @Test(arguments: [false, true])
  func `an emptied Redis keeps connections and name, another process neither`(isReplaced: Bool) {
    var model = RedisModel()
    let (connection, name) = (model.connect(), model.runID)
    model.subscribe(connection, to: RedisName("bus"))
    _ = model.run(begin, at: 1)
    if isReplaced { model.replace() } else { model.flushAll() }
    #expect(model.run(words("EXISTS", "lease"), at: 2) == .integer(0))
    #expect(model.isOpen(connection) == !isReplaced)
    #expect(model.receivers(of: Array("bus".utf8)) == (isReplaced ? [] : [connection]))
    #expect((model.runID == name) == !isReplaced && model.runID.utf8.count == 40)
    let info = "# Server\r\nrun_id:\(model.runID)\r\n"
    #expect(model.run(words("INFO", "server"), at: 2) == .bytes(Array(info.utf8)))
  }

  @Test func `a killed connection hears nothing more, and cannot be killed again`() {
    var model = RedisModel()
    let (first, second) = (model.connect(), model.connect())
    for connection in [first, second] {
      _ = model.run(words("SUBSCRIBE", "bus"), at: 1, from: connection)
    }
    #expect(model.run(words("CLIENT", "ID"), at: 1, from: first) == .integer(first))
    #expect(model.run(words("PUBLISH", "bus", "a"), at: 1) == .integer(2))
    let kill = words("CLIENT", "KILL", "ID", "\(first)")
    #expect(model.run(kill, at: 1, from: second) == .integer(1))
    #expect(model.run(kill, at: 1, from: second) == .integer(0))
    #expect(model.receivers(of: Array("bus".utf8)) == [second])
    #expect(model.run(words("PUBLISH", "bus", "b"), at: 1) == .integer(1))
    #expect(model.takePublished().map(\.payload) == [Array("a".utf8), Array("b".utf8)])
    #expect(model.takePublished() == [])
  }
}
