import PusherCore
import Testing

@testable import pusher_cli

struct `The settings of bench` {
  private func bench(
    _ line: String, _ environment: [String: String] = [:], files: [String: String] = [:]
  ) throws -> BenchSettings {
    try BenchSettings(
      arguments("bench " + line), environment: environment,
      files: PretendFiles(contents: files).access)
  }

  private func refused(_ line: String, files: [String: String] = [:]) -> String? {
    refusal { _ = try bench(line, files: files) }
  }

  @Test func `without options a small load goes to one channel`() throws {
    let settings = try bench("--local")
    #expect(settings.mode == .fanout && settings.api?.appID == "1")
    #expect(settings.load.subscribers == 100 && settings.load.channels == 1)
    #expect(settings.load.rate == 100 && settings.load.batch == 1 && settings.load.size == 200)
    #expect(settings.load.time == .seconds(10) && settings.load.ramp == .zero)
    #expect(settings.load.connectionRate == 500)
    #expect(try bench("connect --local --ramp 40s").load.connectionRate == 2.5)
    #expect(try bench("--local --ramp 5s --connections-per-second 9").load.connectionRate == 9)
    #expect(settings.subscription.channels == ["bench-1"])
    #expect(settings.subscription.webSocket.compressionOffer == nil)
    #expect(!settings.isJSON && !settings.isConfirmed && settings.conditions.isEmpty)
    #expect(settings.svgFile == nil)
  }

  @Test func `the mode decides on the kind of the channels`() throws {
    #expect(try bench("client --local").subscription.channels == ["private-bench-1"])
    #expect(try bench("presence --local").subscription.channels == ["presence-bench-1"])
    #expect(try bench("connect --local").api == nil)
    let named = try bench("--local -c private-load --channels 2").subscription
    #expect(named.channels == ["private-load-1", "private-load-2"])
    guard case .secret = named.authorization else {
      Issue.record("\(named.authorization)")
      return
    }
  }

  @Test(
    arguments: """
      fan --local
        => bench takes one mode: fanout, client, presence, connect, storm (found 'fan'); did you mean
        'fanout'?
      client storm --local
        => bench takes one mode: fanout, client, presence, connect, storm (found 'storm')
      client --local -c bench
        => --channel: client events need a private or presence channel; 'bench' is neither
      presence --local -c private-a
        => --channel: 'private-a' is no presence channel, such as presence-load
      client --local --batch 2 => --batch has no use in the mode 'client'
      presence --local --size 100 => --size has no use in the mode 'presence'
      connect --local --rate 5 => --rate has no use in the mode 'connect'
      storm --local --histogram h => --histogram has no use in the mode 'storm'
      --local --channels 101
        => --channels 101: each channel needs 1 subscriber, but --subscribers is 100
      client --local --channels 51
        => --channels 51: each channel needs 2 subscribers, but --subscribers is 100
      client --local --size 10241 => --size: the data of a client event has at most 10240 bytes
      --local --rate 0 => --rate: '0' is not a number of events a second, such as 50 or 0.5
      --local --rate 1e3 => --rate: '1e3' is not a number of events a second, such as 50 or 0.5
      --local --ramp 11s => --ramp 11 s is longer than --time 10 s
      connect --local --ramp 5s --connections-per-second 9
        => --connections-per-second and --ramp both set the pace; give one
      --local --find q<1
        => --find: there is no figure 'q' (the figures: sent, failed, expected, delivered, lost…
      --local --find p99>50ms
        => --find: 'p99>50ms' holds for bad figures; give a goal such as 'p99<50ms' or 'lost==0'
      --local --vus 5 => bench has no option --vus: --subscribers N connects N subscribers
      --local --clients 5 => bench has no option --clients: --subscribers N connects N subscribers
      --local --duration 5s => bench has no option --duration: --time TIME sends events for TIME
      --local -d 5s => bench has no option -d: --time sets how long it sends
      --local --time 25h => --time: a run sends for at most 1440 min
      --local --histogram a --csv a
        => --histogram and --csv name the same file; give each its own file
      --local --csv a --histogram b --svg a
        => --csv and --svg name the same file; give each its own file
      connect --local --svg s => --svg has no use in the mode 'connect'
      --key k --host h.test => no app id: give --app-id or PUSHER_APP_ID
      --local -c private-encrypted-a
        => private-encrypted-a-1 is encrypted: give --encryption-key-file or
        PUSHER_ENCRYPTION_MASTER_KEY
      presence --key k --host h.test --auth-endpoint http://h/auth
        => the mode 'presence' numbers the members…
      --local --subscribers 100000 --rate 1000 --time 60s
        => …256 MiB: lower --subscribers, --rate or --time…
      --local --rate 1000000 --time 1h => --rate and --time make more than 100000000 events…
      """ as Table)
  func `a mistake is named before anything is loaded`(row: Table.Row) {
    row.expectRefusal(after: "bench ")
  }

  @Test(arguments: ["--subscribers 20000", "--subscribers 100000 --channels 100"])
  func `a load that fits the memory is accepted`(options: String) throws {
    _ = try bench("--local --rate 1000 --time 60s " + options)
  }

  @Test func `an encrypted channel takes the key of the environment`() throws {
    let key = Base64.encode([UInt8](repeating: 7, count: 32))
    let settings = try bench(
      "--local -c private-encrypted-a", ["PUSHER_ENCRYPTION_MASTER_KEY": key])
    #expect(settings.encryptionKey != nil)
  }

  // MARK: Conditions

  private func condition(_ text: String, _ mode: BenchMode = .fanout) throws -> BenchCondition {
    try BenchCondition(parsing: text, mode: mode)
  }

  @Test(arguments: [
    ("lost>0", 0.0, false), ("lost>0", 1, true), ("lost >= 1", 1, true), ("lost<1", 0, true),
    ("lost<=0", 1, false), ("lost==2", 2, true), ("lost != 2", 2, false), ("p99>200ms", 200, false),
    ("p99>200ms", 200.1, true), ("p99.9>1s", 1001, true), ("cpu>90%", 95, true),
    ("memory_per_socket>16k", 16_385, true), ("events_per_second<99.5", 99.4, true),
    ("p99_ms>200", 200.1, true), ("p99_ms>200ms", 200, false), ("p99_ms>1s", 1001, true),
    ("p99.9_ms>50", 51, true),
  ])
  func `a condition compares in the unit of its figure`(
    text: String, value: Double, holds: Bool
  ) throws {
    #expect(try condition(text).holds(for: value) == holds)
  }

  @Test func `a figure that nobody measured is no reason to pass`() throws {
    for text in ["p99>200ms", "p99<200ms", "lost==0"] {
      #expect(try condition(text).holds(for: nil))
    }
  }

  @Test(
    arguments: """
       => --fail: '' is not a figure, an operator and a value, such as 'lost>0'
      lost => --fail: 'lost' is not a figure, an operator and a value, such as 'lost>0'
      lost=0 => --fail: 'lost=0' is not a figure, an operator and a value, such as 'lost>0'
      loss>0 => --fail: there is no figure 'loss'; did you mean 'lost'? (the figures: sent…
      lost> => --fail: '' is not a number
      lost>-1 => --fail: '-1' is not a number
      cpu>a => --fail: 'a' is not a percentage such as 90%
      back_p99>1s => --fail: the mode 'fanout' has no figure 'back_p99'
      """ as Table)
  func `a malformed condition is named`(row: Table.Row) {
    row.expectRefusal { _ = try condition(row.input) }
  }

  @Test(arguments: [
    ("p99<50ms", "p99>50ms"), ("p99_ms <= 50", "p99_ms>=50"), ("lost<1", "lost>1"),
    ("delivered>5", "delivered<5"), ("connects_per_second>=9", "connects_per_second<=9"),
    ("p99>50ms", nil), ("delivered<5", nil), ("lost==0", nil), ("lost!=0", nil),
  ])
  func `a condition that holds for good figures has its opposite`(
    text: String, opposite: String?
  ) throws {
    let condition = try condition(text)
    #expect(condition.opposite == opposite)
  }

  @Test func `every figure has one name, and a mode that measures it`() {
    let names = BenchFigure.all.map(\.name)
    #expect(Set(names).count == names.count)
    for figure in BenchFigure.all {
      #expect(BenchMode.allCases.contains(where: figure.isMeasured))
      #expect(BenchFigure.named(figure.name) == figure)
      #expect(BenchFigure.named(figure.member) == figure)
    }
  }

  // MARK: The earlier run

  @Test func `an earlier run is read, and a different load is named`() throws {
    let text = #"{"mode":"fanout","load":{"subscribers":100,"rate":50},"lost":2,"p99_ms":1.5}"#
    let baseline = try #require(try bench("--local --compare old", files: ["old": text]).baseline)
    #expect(baseline.figures == ["lost": 2, "p99": 1.5])
    let now: JSONValue = ["subscribers": 100, "rate": 60, "size": 200]
    #expect(baseline.differences(from: now) == ["rate", "size"])
    #expect(baseline.differences(from: baseline.load).isEmpty)
    #expect(baseline.isValid)
    let part = text.replacing("\"lost\":2", with: "\"valid\":false,\"lost\":2")
    #expect(try bench("--local --compare old", files: ["old": part]).baseline?.isValid == false)
  }

  @Test(arguments: ["", "[]", "{}", "no JSON", #"{"load":{}}"#, #"{"lost":1}"#])
  func `another file is not taken for an earlier run`(text: String) {
    #expect(
      refused("--local --compare old", files: ["old": text])
        == "--compare: 'old' is not the output of 'bench -o json'")
  }

  @Test(arguments: [(2.0, 2.0, 0.0), (2, 3, 50), (4, 1, -75)])
  func `a change is a percentage of the earlier figure`(
    before: Double, now: Double, percent: Double
  ) {
    #expect(BenchReport.change(from: before, to: now) == percent)
  }

  @Test func `a change from nothing has no percentage`() {
    #expect(BenchReport.change(from: 0, to: 0) == 0)
    #expect(BenchReport.change(from: 0, to: 3) == nil)
  }

  @Test(arguments: ["y", "Y", "yes", "YES"])
  func `only yes lets bench load a foreign server`(answer: String) {
    #expect(BenchSettings.isYes(answer))
    #expect(!BenchSettings.isYes(answer + "!") && !BenchSettings.isYes(""))
  }

  @Test func `the load is told in messages before it begins`() throws {
    #expect(
      (try bench("--local")).words
        == "100 connections, 1,000 events in 10 s, about 100,000 messages to subscribers")
    #expect(
      (try bench("client --local --channels 50 --rate 10")).words
        == "100 connections, 100 events in 10 s, about 100 messages to subscribers")
    #expect((try bench("storm --local")).words == "100 connections, each made twice")
  }
}
