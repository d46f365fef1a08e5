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
