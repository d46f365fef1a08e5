import PusherCore
import Testing

@testable import pusher_cli

@Suite("Adding up the figures of processes")
struct PartFiguresTests {
  private func histogram(_ milliseconds: Int...) -> DelayHistogram {
    var histogram = DelayHistogram()
    for delay in milliseconds { histogram.record(.milliseconds(delay)) }
    return histogram
  }

  private func sum(_ parts: DelayHistogram...) -> DelayHistogram {
    parts.reduce(into: DelayHistogram()) { $0.add($1) }
  }

  private func coded<Value: Codable>(_ value: Value) throws -> Value {
    let text = try JSONValue(encoding: value).jsonText
    #expect(!text.utf8.contains(UInt8(ascii: "\n")))
    return try JSONParser.parse(text).decode(Value.self)
  }

  // MARK: Histograms

  @Test func `the sum of histograms is the histogram of all delays, in any order`() {
    let (a, b, c) = (histogram(1, 5, 5, 900), histogram(), histogram(2, 5, 60_000))
    let all = histogram(1, 5, 5, 900, 2, 5, 60_000)
    #expect(sum(sum(a, b), c) == all)
    #expect(sum(a, sum(b, c)) == all)
    #expect(sum(c, b, a) == all)
    #expect(sum(a, c).percentile(50) == all.percentile(50) && all.largest == .seconds(60))
    #expect(sum(a, c).mean == all.mean)
  }

  @Test func `a histogram comes over the socket as it was`() throws {
    for histogram in [histogram(), histogram(0), histogram(1, 1, 3, 7_200_000)] {
      #expect(try coded(histogram) == histogram)
    }
  }

  @Test(arguments: [
    #"{"buckets":[99999999,1],"largest":1,"sum":1}"#, #"{"buckets":[-1,1],"largest":1,"sum":1}"#,
    #"{"buckets":[1,0],"largest":1,"sum":1}"#,
  ])
  func `a bucket that no histogram has is refused`(text: String) {
    #expect(throws: DecodingError.self) {
      try JSONParser.parse(text).decode(DelayHistogram.self)
    }
  }

  // MARK: Sets of events

  @Test func `the union of sets counts each event once`() {
    var (left, right) = (EventSet(events: 130), EventSet(events: 130))
    for number in [0, 63, 64] { left.insert(number) }
    for number in [64, 129] { right.insert(number) }
    left.formUnion(right)
    #expect(left.count == 4)
  }

  @Test func `a set comes over the socket as it was`() throws {
    var set = EventSet(events: 200)
    for number in [0, 1, 63, 64, 127, 199] { set.insert(number) }
    #expect(try coded(set) == set)
    #expect(try coded(EventSet(events: 1)) == EventSet(events: 1))
    for text in ["AAAA", "!", "AAAAAAAAAA=="] {
      #expect(throws: DecodingError.self) { try JSONValue.string(text).decode(EventSet.self) }
    }
  }

  // MARK: Errors

  @Test func `errors of one code are one, with the words of the first`() {
    var (left, right) = (ErrorCounts(), ErrorCounts())
    left.note("4301", "too many")
    for _ in 0..<3 { right.note("4301", "too many here") }
    right.note("network", "connection refused")
    left.add(right)
    #expect(left.total == 5)
    #expect(left.entries.map(\.count) == [4, 1] && left.entries[0].example == "too many")
  }

  @Test func `errors of more codes than there is room for are others`() {
    var counts = ErrorCounts()
    for group in 0..<3 {
      var more = ErrorCounts()
      for code in 0..<40 { more.note("\(group)-\(code)", "no") }
      counts.add(more)
    }
    #expect(counts.total == 120 && counts.entries.count == 51)
    #expect(counts.entries.last?.code == "other" && counts.entries.last?.count == 70)
  }

  // MARK: Seconds

  @Test func `a second's percentiles come from the delays of all processes`() throws {
    var seconds = BenchSeconds()
    seconds.noteSent(4, intended: .milliseconds(1500))
    seconds.add(histogram(1, 1, 1), of: 1)
    seconds.add(histogram(9), of: 1)
    seconds.add(histogram(5), of: 2)
    seconds.end(before: 2)
    #expect(seconds.rows.count == 2 && seconds.rows[1].sent == 4)
    // A histogram has three digits.
    let median = try #require(seconds.rows[1].p50)
    #expect(median >= .milliseconds(1) && median < .microseconds(1001))
    #expect(seconds.rows[1].largest == .milliseconds(9))
    #expect(seconds.latest.delivered == 4 && seconds.latest.p99 == .milliseconds(9))
    seconds.end(before: .max)
    #expect(seconds.rows.map(\.largest) == [nil, .milliseconds(9), .milliseconds(5)])
  }

  @Test func `a worker reports the delays of each second when it ends`() {
    var reported: [Int: Int] = [:]
    var seconds = BenchSeconds()
    seconds.onSecond = { reported[$0] = $1.count }
    seconds.noteDelivery(at: .milliseconds(100), after: .milliseconds(1))
    seconds.noteDelivery(at: .milliseconds(900), after: .milliseconds(1))
    #expect(reported.isEmpty)
    seconds.noteDelivery(at: .milliseconds(2100), after: .milliseconds(1))
    #expect(reported == [0: 2])
    seconds.advance(to: .seconds(5))
    #expect(reported == [0: 2, 2: 1])
  }

  // MARK: Parts

  private func part(_ factor: Int, rows: [BenchSeconds.Row]) -> PartFigures {
    var part = PartFigures()
    part.connections.subscribers = factor
    part.connections.lastFirstJoin = Int64(factor)
    part.connections.steps[0].record(.milliseconds(factor))
    part.connections.firstFailure = .init(cause: .unreachable, reason: "\(factor)")
    part.cost = CostFigures(
      share: Double(factor), busiest: Double(factor), memory: 1000 * factor, sockets: factor)
    part.errors.note("4200", "over")
    part.events = EventFigures(
      sent: factor, delivered: 10 * factor, lastDelivery: Int64(10 - factor),
      delays: histogram(factor))
    part.rows = rows
    return part
  }

  @Test func `counts add up, and of times the latest counts`() throws {
    var sum = part(3, rows: [.init(sent: 1, delivered: 2)])
    sum.add(part(4, rows: [.init(delivered: 3, lost: 1), .init(errors: 5)]))
    #expect(sum.connections.subscribers == 7 && sum.connections.lastFirstJoin == 4)
    #expect(sum.connections.steps[0].count == 2 && sum.connections.firstFailure?.reason == "3")
    #expect(sum.events?.sent == 7 && sum.events?.delivered == 70)
    #expect(sum.events?.lastDelivery == 7 && sum.events?.delays.count == 2)
    #expect(sum.cost.share == 7 && sum.cost.busiest == 4 && sum.cost.processes == 2)
    #expect(sum.cost.memoryPerSocket == 1000 && sum.errors.total == 2)
    #expect(sum.rows == [.init(sent: 1, delivered: 5, lost: 1), .init(errors: 5)])
  }

  @Test func `a part without events leaves the events of others alone`() {
    var sum = PartFigures()
    sum.add(PartFigures())
    #expect(sum.events == nil)
    sum.add(part(2, rows: []))
    sum.add(PartFigures())
    #expect(sum.events?.sent == 2)
  }

  @Test func `the whole is done when every part is`() {
    var done = PartState()
    (done.isDone, done.isIdle, done.hasAll, done.second) = (true, true, true, 7)
    (done.expected, done.delivered, done.longest) = (10, 8, 5)
    var sum = done
    sum.add(done)
    #expect(sum.isDone && sum.isIdle && sum.hasAll && sum.second == 7 && sum.missing == 4)
    sum.add(PartState())
    #expect(!sum.isDone && !sum.isIdle && !sum.hasAll && sum.second == 0 && sum.longest == 5)
  }

  @Test func `orders and reports come over the socket as they were`() throws {
    let orders: [WorkerOrder] = [
      .open(at: .max), .settle, .cut, .count, .begin(at: 5, receivers: [1, 0]), .stop,
      .judge([EventSet(events: 70)]), .finish,
    ]
    for order in orders { #expect(try coded(order) == order) }
    let reports: [WorkerReport] = [
      .state(PartState()), .receivers([3]), .second(4, delays: histogram(1)), .accepted([]),
      .figures(part(2, rows: [.init(sent: 1, failed: 2, delivered: 3)])),
    ]
    for report in reports { #expect(try coded(report) == report) }
  }
}
