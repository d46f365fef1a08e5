internal import PusherCore

/// The figures of a run, with the load and the errors.
struct BenchReport {
  let mode: BenchMode
  let load: JSONValue
  let host: String
  /// By name; a figure that was not measured has no value.
  private(set) var values: [String: Double] = [:]
  let errors: [ErrorCounts.CodeCount]
  let isInterrupted: Bool
  /// Why the run is no measurement; `nil` if it is one.
  let shortfall: LoadShortfall?
  /// Channels of the mode `presence` whose visitor lost its connection.
  let closedVisitors: [String]
  /// Only of runs with events.
  let delays: DelayHistogram?
  /// A row for each second.
  let rows: [BenchSeconds.Row]
  /// CPU time and memory of the program itself.
  let cost: CostFigures

  /// - Parameters:
  ///   - opened: Intended time of the first connection.
  ///   - begin: Beginning of the plan; `nil` if the run ended before it, or has none.
  init(
    _ settings: BenchSettings, _ figures: RunFigures, opened: Instant?, begin: Instant?,
    isInterrupted: Bool
  ) {
    mode = settings.mode
    load = settings.shownLoad
    host = settings.subscription.connection.host
    self.isInterrupted = isInterrupted
    shortfall = LoadShortfall(settings, figures, isInterrupted: isInterrupted)
    closedVisitors = figures.events?.closedVisitors ?? []
    errors = figures.errors.entries
    (rows, cost) = (figures.rows, figures.cost)
    delays = figures.events?.delays
    if let events = figures.events { noteEvents(events, begin) }
    noteConnections(figures.connections, opened)
    values["errors"] = Double(figures.errors.total)
    values["cpu"] = cost.share
    values["memory_per_socket"] = cost.memoryPerSocket.map(Double.init)
  }

  private mutating func noteEvents(_ events: EventFigures, _ begin: Instant?) {
    let losses = events.losses
    let counts = [
      "sent": events.sent, "failed": events.failed, "expected": losses.expected,
      "delivered": events.delivered, "lost": losses.lost, "doubled": events.doubled,
      "out_of_order": events.outOfOrder, "wrong": events.wrong,
      "losing_subscribers": losses.subscribers, "most_lost": losses.most,
    ]
    for (name, count) in counts { values[name] = Double(count) }
    values["events_per_second"] = Self.rate(events.sent, from: begin, to: events.lastAccepted)
    values["deliveries_per_second"] = Self.rate(
      events.delivered, from: begin, to: events.lastDelivery)
    note("", events.delays, [("p50", 50), ("p90", 90), ("p99", 99), ("p999", 99.9)])
    note("late_", events.late)
  }

  private mutating func noteConnections(_ connections: ConnectionFigures, _ opened: Instant?) {
    values["connected"] = Double(connections.connected)
    values["unconnected"] = Double(connections.subscribers - connections.connected)
    values["connects_per_second"] = Self.rate(
      connections.firstJoins, from: opened, to: connections.lastFirstJoin)
    for (step, histogram) in zip(BenchFigure.steps, connections.steps) {
      note(step + "_", histogram)
    }
    if mode == .storm { note("back_", connections.back) }
    values["reconnects"] = Double(connections.reconnects)
    values["gaps"] = Double(connections.gaps)
  }

  private mutating func note(
    _ prefix: String, _ histogram: DelayHistogram,
    _ percents: [(String, Double)] = [("p50", 50), ("p99", 99)]
  ) {
    guard histogram.count > 0 else { return }
    for (name, percent) in percents {
      values[prefix + name] = histogram.percentile(percent).map { $0.inSeconds * 1000 }
    }
    values[prefix + "max"] = histogram.largest.inSeconds * 1000
  }

  /// Returns a rate over at least a millisecond; `nil` if nothing happened.
  private static func rate(_ count: Int, from begin: Instant?, to end: Instant?) -> Double? {
    guard count > 0, let begin, let end else { return nil }
    return Double(count) / max(begin.duration(to: end).inSeconds, 0.001)
  }

  // MARK: Verdicts

  /// The conditions of `--fail` that hold, each with its figure in words.
  ///
  /// They are about the planned load. If only a part of it was made, the figures of that part say
  /// nothing about the rest, so every condition about them holds.
  func failures(_ conditions: [BenchCondition]) -> [(condition: BenchCondition, words: String)] {
    conditions.compactMap { condition in
      let figure = condition.figure
      let value = shortfall == nil || figure.isOfLoad ? values[figure.name] : nil
      guard condition.holds(for: value) else { return nil }
      guard let value else { return (condition, "\(figure.name) is unknown") }
      let hint = condition.opposite.map { "; did you mean '\($0)'?" } ?? ""
      return (condition, "\(figure.name) is \(BenchTable.shown(value, figure.unit))\(hint)")
    }
  }

  /// True if the program had no CPU left, so that it may have been slower than the server.
  var wasLimit: Bool { (cost.share ?? 0) > ProcessMeter.busyShare }

  // MARK: JSON

  func json(_ baseline: BenchBaseline?) -> String {
    var members: [JSONValue.Member] = [
      .init("mode", .string(mode.rawValue)), .init("load", load),
      .init("valid", .bool(shortfall == nil)),
      .init("invalid_reason", shortfall.map { .string($0.reason) } ?? .null),
      .init("interrupted", .bool(isInterrupted)), .init("bench_was_limit", .bool(wasLimit)),
    ]
    for figure in BenchFigure.all where figure.isMeasured(in: mode) {
      let value = values[figure.name].map { JSONValue.number(BenchNumber.text($0)) }
      members.append(.init(figure.member, value ?? .null))
    }
    members.append(
      .init(
        "errors_by_code", .object(errors.map { .init($0.code, .integer($0.count)) })))
    if mode == .presence {
      members.append(.init("closed_visitors", .array(closedVisitors.map { .string($0) })))
    }
    if let baseline { members.append(.init("compared", compared(with: baseline))) }
    return JSONValue.object(members).jsonText + "\n"
  }

  private func compared(with baseline: BenchBaseline) -> JSONValue {
    .object(
      BenchFigure.all.compactMap { figure in
        guard let before = baseline.figures[figure.name], let now = values[figure.name] else {
          return nil
        }
        return .init(
          figure.member,
          .object(present: [
            "before": .number(BenchNumber.text(before)), "now": .number(BenchNumber.text(now)),
            "change_percent": BenchChange.percent(from: before, to: now).map {
              .number(BenchNumber.text($0, places: 1))
            },
          ]))
      })
  }
}

/// The change of a figure between two runs.
enum BenchChange {
  /// Returns `nil` if the earlier figure is zero and the later is not.
  static func percent(from before: Double, to now: Double) -> Double? {
    if before == now { return 0 }
    return before == 0 ? nil : (now - before) / before * 100
  }
}

extension BenchSettings {
  /// The load as JSON; `--compare` warns if it differs.
  var shownLoad: JSONValue {
    let plan = mode.sendsEvents
    return .object(present: [
      "subscribers": .integer(load.subscribers), "channels": .integer(load.channels),
      "connections_per_second": .integer(load.connectionRate),
      "rate": plan ? .number(BenchNumber.text(load.rate)) : nil,
      "batch": mode == .fanout ? .integer(load.batch) : nil,
      "size": plan && mode != .presence ? .integer(load.size) : nil,
      "seconds": plan ? .number(BenchNumber.text(load.time.inSeconds)) : nil,
      "ramp_seconds": plan ? .number(BenchNumber.text(load.ramp.inSeconds)) : nil,
    ])
  }
}

/// The figures of a run.
struct RunFigures {
  var connections = ConnectionFigures()
  /// Only of runs with events.
  var events: EventFigures?
  var cost = CostFigures()
  var errors = ErrorCounts()
  var rows: [BenchSeconds.Row] = []
}

/// Figures of the subscribers' connections.
struct ConnectionFigures {
  var subscribers = 0
  /// Subscribers that were subscribed when the run ended.
  var connected = 0
  /// Subscribers that were subscribed at least once, and the time of the last of them.
  var firstJoins = 0
  var lastFirstJoin: Instant?
  /// One for each of ``BenchFigure/steps``.
  var steps = BenchFigure.steps.map { _ in DelayHistogram() }
  /// From the cut until the subscriber is back.
  var back = DelayHistogram()
  var reconnects = 0
  var gaps = 0
  /// Errors before a subscriber was ever subscribed.
  var refusals = ErrorCounts()
}

/// Figures of the events, from the sending to the delivery.
struct EventFigures {
  var sent = 0
  /// Events of calls that were refused, not answered or not sent.
  var failed = 0
  /// Subscribers that must get the events of their channel.
  var receivers = 0
  var losses = BenchLosses()
  var delivered = 0
  var doubled = 0
  var outOfOrder = 0
  var wrong = 0
  var lastAccepted: Instant?
  var lastDelivery: Instant?
  var delays = DelayHistogram()
  /// Time from the intended sending to the sending.
  var late = DelayHistogram()
  /// Errors of the calls.
  var errors = ErrorCounts()
  /// Channels of the mode `presence` whose visitor lost its connection.
  var closedVisitors: [String] = []
}

/// CPU time and memory of the program itself.
struct CostFigures: Equatable {
  /// CPU time as a share of one core, in percent; `nil` before the end of the measured part.
  var share: Double?
  /// Memory that the sockets take, in bytes.
  var memory = 0
  /// 0 on systems that do not report memory.
  var sockets = 0

  var memoryPerSocket: Int? { sockets > 0 ? memory / sockets : nil }
}

/// The deliveries that did not come, counted once at the end.
struct BenchLosses: Equatable {
  private(set) var expected = 0
  private(set) var lost = 0
  private(set) var subscribers = 0
  /// Losses of the subscriber that lost the most.
  private(set) var most = 0

  init() {}

  /// Counts the losses, and notes each in the second in which its event was meant to be sent.
  ///
  /// - Parameter accepted: The accepted events, by channel.
  init(_ fleet: BenchFleet, _ accepted: [EventSet], _ ledger: DeliveryLedger) {
    let plan = ledger.plan
    for subscriber in fleet.counted {
      let accepted = accepted[subscriber.channel]
      expected += accepted.count
      let missing = ledger.account.missing(by: subscriber.number, of: accepted) { number in
        guard let call = plan.call(of: number, on: subscriber.channel) else { return }
        ledger.seconds.noteLost(intended: plan.time(of: call))
      }
      lost += missing
      if missing > 0 { subscribers += 1 }
      most = max(most, missing)
    }
  }
}

/// A row a second: what was sent, what came and how late.
///
/// Events and losses belong to the second in which the event was meant to be sent; deliveries and
/// delays belong to the second in which the event came.
struct BenchSeconds {
  struct Row: Equatable {
    var sent = 0
    var failed = 0
    var delivered = 0
    var lost = 0
    var connected = 0
    var errors = 0
    var p50: Duration?
    var p99: Duration?
    var largest: Duration?
  }

  /// Rows before the last one are complete, except for losses.
  private(set) var rows: [Row] = [Row()]
  private var delays = DelayHistogram()
  /// The latest deliveries, for the line of progress.
  typealias Latest = (delivered: Int, p99: Duration?)

  /// The second so far.
  var latest: Latest { (rows[rows.count - 1].delivered, delays.percentile(99)) }

  /// Maximum number of rows; later events count in the last one.
  private static let limit = 100_000

  private static func second(_ time: Duration) -> Int {
    min(max(Int(time.inSeconds.rounded(.down)), 0), limit - 1)
  }

  /// Ends the rows before the second of `time`.
  mutating func advance(to time: Duration) {
    let second = Self.second(time)
    guard second >= rows.count else { return }
    finish()
    rows += Array(repeating: Row(), count: second + 1 - rows.count)
  }

  /// Takes the delays of the last row into it.
  mutating func finish() {
    guard delays.count > 0 else { return }
    rows[rows.count - 1].note(delays)
    delays.removeAll()
  }

  mutating func noteDelivery(at time: Duration, after delay: Duration) {
    advance(to: time)
    rows[rows.count - 1].delivered += 1
    delays.record(delay)
  }

  mutating func noteConnected(at time: Duration) {
    advance(to: time)
    rows[rows.count - 1].connected += 1
  }

  mutating func noteError(at time: Duration) {
    advance(to: time)
    rows[rows.count - 1].errors += 1
  }

  mutating func noteSent(_ count: Int, intended time: Duration) {
    rows[row(of: time)].sent += count
  }

  mutating func noteFailed(_ count: Int, intended time: Duration) {
    rows[row(of: time)].failed += count
  }

  mutating func noteLost(intended time: Duration) { rows[row(of: time)].lost += 1 }

  private mutating func row(of time: Duration) -> Int {
    advance(to: time)
    return Self.second(time)
  }

  var csv: String { Self.csv(rows) }

  /// Returns the rows as CSV (RFC 4180) with a heading; times are in milliseconds.
  static func csv(_ rows: [Row]) -> String {
    var text = "second,sent,failed,delivered,lost,p50_ms,p99_ms,max_ms,connected,errors\n"
    for (second, row) in rows.enumerated() {
      let times = [row.p50, row.p99, row.largest].map { time in
        time.map { BenchNumber.text($0.inSeconds * 1000) } ?? ""
      }
      let counts = [second, row.sent, row.failed, row.delivered, row.lost].map(String.init)
      let ends = [row.connected, row.errors].map(String.init)
      text += (counts + times + ends).joined(separator: ",") + "\n"
    }
    return text
  }
}

extension BenchSeconds.Row {
  mutating func note(_ delays: DelayHistogram) {
    p50 = delays.percentile(50)
    p99 = delays.percentile(99)
    largest = delays.largest
  }
}

/// Numbers for figures: at most three decimal places.
enum BenchNumber {
  static func text(_ value: Double, places: Int = 3) -> String {
    guard value.isFinite, value.magnitude < 1e15 else { return value.isFinite ? "\(value)" : "0" }
    var factor = 1.0
    for _ in 0..<places { factor *= 10 }
    let scaled = Int((value.magnitude * factor).rounded())
    let sign = value < 0 && scaled > 0 ? "-" : ""
    let (whole, rest) = scaled.quotientAndRemainder(dividingBy: Int(factor))
    guard rest > 0 else { return "\(sign)\(whole)" }
    var digits = String(rest + Int(factor)).dropFirst()
    while digits.utf8.last == UInt8(ascii: "0") { digits = digits.dropLast() }
    return "\(sign)\(whole).\(digits)"
  }

  /// Writes a whole number with commas between its thousands.
  static func grouped(_ value: Int) -> String {
    var groups: [String] = []
    var rest = value.magnitude
    while rest >= 1000 {
      groups.append(String(String(rest % 1000 + 1000).dropFirst()))
      rest /= 1000
    }
    groups.append(String(rest))
    return (value < 0 ? "-" : "") + groups.reversed().joined(separator: ",")
  }
}
