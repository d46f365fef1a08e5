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
    _ settings: BenchSettings, _ figures: PartFigures, opened: Instant?, begin: Instant?,
    isInterrupted: Bool
  ) {
    mode = settings.mode
    load = settings.shownLoad
    host = settings.subscription.connection.host
    self.isInterrupted = isInterrupted
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
  private static func rate(_ count: Int, from begin: Instant?, to end: Nanoseconds?) -> Double? {
    guard count > 0, let begin, let end else { return nil }
    let time = begin.duration(to: Instant(nanoseconds: end))
    return Double(count) / max(time.inSeconds, 0.001)
  }

  // MARK: Verdicts

  /// The conditions of `--fail` that hold.
  func failures(_ conditions: [BenchCondition]) -> [BenchCondition] {
    conditions.filter { $0.holds(for: values[$0.figure.name]) }
  }

  /// True if a process had no CPU left, so that it may have been slower than the server.
  var wasLimit: Bool { (cost.busiest ?? 0) > ProcessMeter.busyShare }

  // MARK: JSON

  func json(_ baseline: BenchBaseline?) -> String {
    var members: [JSONValue.Member] = [
      .init("mode", .string(mode.rawValue)), .init("load", load),
      .init("interrupted", .bool(isInterrupted)), .init("bench_was_limit", .bool(wasLimit)),
    ]
    for figure in BenchFigure.all where figure.isMeasured(in: mode) {
      let value = values[figure.name].map { JSONValue.number(BenchNumber.text($0)) }
      members.append(.init(figure.member, value ?? .null))
    }
    members.append(
      .init(
        "errors_by_code", .object(errors.map { .init($0.code, .integer($0.count)) })))
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
      "processes": load.processes > 1 ? .integer(load.processes) : nil,
    ])
  }
}
