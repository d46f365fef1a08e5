internal import PusherCore

/// The figures of a run, with the load and the errors.
struct BenchReport {
  let mode: BenchMode
  let load: JSONValue
  let host: String
  let figures: RunFigures
  /// By name; a figure that was not measured has no value.
  private(set) var values: [String: Double] = [:]
  let isInterrupted: Bool
  /// Why the run is no measurement; `nil` if it is one.
  let shortfall: Shortfall?

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
    (self.figures, self.isInterrupted) = (figures, isInterrupted)
    shortfall = Self.shortfall(settings, figures, isInterrupted: isInterrupted)
    if let events = figures.events { noteEvents(events, begin) }
    noteConnections(figures.connections, opened)
    values["errors"] = Double(figures.errors.total)
    values["cpu"] = figures.cost.share
    values["memory_per_socket"] = figures.cost.memoryPerSocket.map(Double.init)
  }

  private mutating func noteEvents(_ events: EventFigures, _ begin: Instant?) {
    let counts = [
      "sent": events.sent, "failed": events.failed, "expected": events.expected,
      "delivered": events.delivered, "lost": events.lost, "doubled": events.doubled,
      "out_of_order": events.outOfOrder, "wrong": events.wrong,
      "losing_subscribers": events.losingSubscribers, "most_lost": events.mostLost,
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

  /// The run as a step of `--find`; a figure that is unknown has not held.
  func step(_ subscribers: Int, _ condition: BenchCondition) -> BenchSearch.Step {
    let value = shortfall == nil ? values[condition.figure.name] : nil
    let shown = value.map { BenchTable.shown($0, condition.figure.unit) } ?? "unknown"
    return BenchSearch.Step(
      subscribers: subscribers, holds: value != nil && condition.holds(for: value),
      words: shortfall?.reason ?? "\(condition.figure.name) is \(shown)")
  }

  /// True if the program had no CPU left, so that it may have been slower than the server.
  var wasLimit: Bool { (figures.cost.share ?? 0) > ProcessMeter.busyShare }

  // MARK: JSON

  func json(_ baseline: BenchBaseline?, _ search: BenchSearch?) -> String {
    var members: [JSONValue.Member] = [
      .init("mode", .string(mode.rawValue)), .init("load", load),
      .init("valid", .bool(shortfall == nil)),
      .init("invalid_reason", shortfall.map { .string($0.reason) } ?? .null),
      .init("interrupted", .bool(isInterrupted)), .init("bench_was_limit", .bool(wasLimit)),
    ]
    for figure in BenchFigure.all where figure.isMeasured(in: mode) {
      let value = values[figure.name].map { JSONValue.number(Quantities.text($0)) }
      members.append(.init(figure.member, value ?? .null))
    }
    members.append(
      .init(
        "errors_by_code", .object(figures.errors.entries.map { .init($0.code, .integer($0.count)) })
      ))
    if mode == .presence {
      members.append(.init("closed_visitors", .array(figures.closedVisitors.map { .string($0) })))
    }
    if let baseline { members.append(.init("compared", compared(with: baseline))) }
    if let search { members.append(.init("found", search.json)) }
    return JSONValue.object(members).jsonText + "\n"
  }

  private func compared(with baseline: BenchBaseline) -> JSONValue {
    .object(
      changes(since: baseline).map { figure, before, now, percent in
        .init(
          figure.member,
          .object(present: [
            "before": .number(Quantities.text(before)), "now": .number(Quantities.text(now)),
            "change_percent": percent.map { .number(Quantities.text($0, places: 1)) },
          ]))
      })
  }

  /// Returns the figures that both runs have, with their change.
  func changes(
    since baseline: BenchBaseline
  ) -> [(figure: BenchFigure, before: Double, now: Double, percent: Double?)] {
    BenchFigure.all.compactMap { figure in
      guard let before = baseline.figures[figure.name], let now = values[figure.name] else {
        return nil
      }
      return (figure, before, now, Self.change(from: before, to: now))
    }
  }

  /// Returns the change of a figure in percent; `nil` if only the earlier figure is zero.
  static func change(from before: Double, to now: Double) -> Double? {
    if before == now { return 0 }
    return before == 0 ? nil : (now - before) / before * 100
  }

  // MARK: Files of --histogram, --csv and --svg

  /// Makes each file before the load, so that a wrong name costs no run.
  static func checkFiles(_ settings: BenchSettings) throws(UsageError) {
    for (flag, path) in settings.files {
      let reason: String?
      switch FileReplacement.writablePlace(path) {
      case .failure(let fault): reason = fault.reason
      case .success(.nothing): reason = WrittenFile.write([], to: path)
      case .success: reason = nil
      }
      if let reason { throw UsageError("\(flag.spelling): cannot write '\(path)': \(reason)") }
    }
  }

  /// Writes the files; returns the status of a failure, which is reported.
  func writeFiles(_ settings: BenchSettings, _ diagnostics: Diagnostics) -> ExitStatus? {
    var status: ExitStatus?
    for (flag, path) in settings.files {
      guard let text = text(for: flag) else { continue }
      if let reason = WrittenFile.write(Array(text.utf8), to: path) {
        status = diagnostics.cannotPrint(reason, to: path)
      }
    }
    return status
  }

  /// Returns the text for the file of an option; `nil` for the histogram of a run without events.
  private func text(for flag: Flag) -> String? {
    switch flag {
    case .histogram: figures.events?.delays.table
    case .csv: BenchSeconds.csv(figures.rows)
    default: DelayImage(self).text
    }
  }

  // MARK: The part of the planned load that a run did not make

  /// One sentence, and the cause that decides about the exit status.
  typealias Shortfall = (reason: String, cause: Cause)

  /// Returns `nil` for a run that made its load: every subscriber was subscribed, and the server
  /// took every event.
  ///
  /// Any other run is no measurement, whatever its figures are: fewer subscribers or events than
  /// planned are easier for a server.
  private static func shortfall(
    _ settings: BenchSettings, _ figures: RunFigures, isInterrupted: Bool
  ) -> Shortfall? {
    guard !isInterrupted else { return ("a signal ended the run", .time) }
    let connections = figures.connections
    let all = connections.subscribers
    var parts: [Shortfall] = []
    // Those that were missing when the load began.
    var subscribed = connections.firstJoins
    if let events = figures.events {
      subscribed = min(
        subscribed, events.receivers + (settings.mode == .client ? settings.load.channels : 0))
    }
    if subscribed < all {
      parts.append(
        part(
          "\(count(subscribed, of: all)) subscribers were subscribed",
          connections.refusals.main == nil ? figures.errors : connections.refusals))
    }
    if settings.mode.sendsEvents {
      // Without subscribers, nothing is sent.
      if let part = calls(settings, figures), parts.isEmpty || figures.events != nil {
        parts.append(part)
      }
    } else if settings.mode == .storm, parts.isEmpty, connections.connected < all {
      let count = count(connections.connected, of: all)
      parts.append(part("\(count) subscribers came back after the cut", figures.errors))
    }
    guard let first = parts.first else { return nil }
    return (parts.map(\.reason).joined(separator: "; "), first.cause)
  }

  /// - Parameter errors: The most frequent one explains the part.
  private static func part(_ words: String, _ errors: ErrorCounts) -> Shortfall {
    guard let (entry, cause) = errors.main else { return (words, .unreachable) }
    return ("\(words) (\(entry.inWords))", cause)
  }

  /// Events that were not sent, or that the server did not take.
  private static func calls(
    _ settings: BenchSettings, _ figures: RunFigures
  ) -> Shortfall? {
    let plan = BenchPlan(settings)
    let events = figures.events ?? EventFigures()
    // The server confirms no client event, but says which ones its rate limit drops.
    let limited = settings.mode == .client ? figures.errors.entry(of: "\(RateLimit.code)") : nil
    let dropped = limited?.count ?? 0
    let made = max(events.sent / plan.batch - dropped, 0)
    guard made < plan.callCount else { return nil }
    let what =
      switch settings.mode {
      case .client: "client events"
      case .presence: "joins and leaves"
      case .fanout, .connect, .storm: "calls"
      }
    let words = "the server accepted \(count(made, of: plan.callCount)) \(what)"
    if let limited, dropped > events.failed {
      return ("\(words) (\(limited.inWords))", .overloaded)
    }
    return part(words, events.errors)
  }

  private static func count(_ count: Int, of all: Int) -> String {
    "\(count == 0 ? "none" : Quantities.grouped(count)) of \(Quantities.grouped(all))"
  }
}

extension BenchSettings {
  /// The load as JSON; `--compare` warns if it differs.
  var shownLoad: JSONValue {
    let plan = mode.sendsEvents
    return .object(present: [
      "subscribers": .integer(load.subscribers), "channels": .integer(load.channels),
      "connections_per_second": .number(Quantities.text(load.connectionRate)),
      "rate": plan ? .number(Quantities.text(load.rate)) : nil,
      "batch": mode == .fanout ? .integer(load.batch) : nil,
      "size": plan && mode != .presence ? .integer(load.size) : nil,
      "seconds": plan ? .number(Quantities.text(load.time.inSeconds)) : nil,
      "ramp_seconds": plan ? .number(Quantities.text(load.ramp.inSeconds)) : nil,
    ])
  }
}

extension ErrorCounts.CodeCount {
  /// The code of the protocol or of HTTP and the reason, which may name the code itself.
  fileprivate var inWords: String {
    let number = code.split(separator: " ").last.map(String.init) ?? code
    let reason = Redaction.redact(example)
    let numbers = reason.utf8.split { !(0x30...0x39).contains($0) }
    guard Int(number) != nil, !numbers.contains(where: { $0.elementsEqual(number.utf8) }) else {
      return reason
    }
    return reason.isEmpty ? number : "\(number): \(reason)"
  }
}

/// The report for people: a line for each figure that says something.
struct BenchTable {
  private let report: BenchReport
  private let baseline: BenchBaseline?
  private var lines: [String] = []

  private static let width = 14
  private static let longestList = 5
  /// Figures of the comparison without `-v`.
  private static let compared = [
    "sent", "lost", "p50", "p90", "p99", "connect_p99", "back_p99", "cpu", "memory_per_socket",
  ]

  /// - Parameter isWhole: True to compare every figure.
  init(_ report: BenchReport, _ baseline: BenchBaseline?, isWhole: Bool) {
    (self.report, self.baseline) = (report, baseline)
    if let shortfall = report.shortfall { add("not valid", Diagnostics.escaped(shortfall.reason)) }
    addEvents()
    addConnections()
    addErrors()
    addOwnCost()
    addComparison(isWhole)
  }

  var text: String { lines.map { $0 + "\n" }.joined() }

  private mutating func add(_ name: String, _ text: String) {
    let blanks = String(repeating: " ", count: max(1, Self.width - name.utf8.count))
    lines.append(name + blanks + text)
  }

  private mutating func addEvents() {
    guard let sent = count("sent"), let expected = count("expected") else { return }
    let failed = count("failed") ?? 0
    add(
      "events",
      "\(Quantities.grouped(sent)) sent"
        + (failed > 0 ? ", \(Quantities.grouped(failed)) not accepted" : "")
        + perSecond("events_per_second"))
    add(
      "deliveries",
      "\(Quantities.grouped(count("delivered") ?? 0)) of \(Quantities.grouped(expected))"
        + perSecond("deliveries_per_second"))
    let lost = count("lost") ?? 0
    let by =
      lost > 0
      ? " (\(Self.share(lost, of: expected))) by \(count("losing_subscribers") ?? 0) subscribers, "
        + "at most \(count("most_lost") ?? 0) each"
      : ""
    add("lost", Quantities.grouped(lost) + by)
    for (name, figure) in [
      ("doubled", "doubled"), ("out of order", "out_of_order"), ("wrong", "wrong"),
    ] { add(name, Quantities.grouped(count(figure) ?? 0)) }
    addTimes("delay", "", ["p50", "p90", "p99", "p99.9", "max"])
    addTimes("sent late", "late_")
  }

  private mutating func addConnections() {
    let all = (count("connected") ?? 0) + (count("unconnected") ?? 0)
    add(
      "subscribers",
      "\(Quantities.grouped(count("connected") ?? 0)) of \(Quantities.grouped(all))"
        + perSecond("connects_per_second"))
    for step in BenchFigure.steps { addTimes(step, step + "_") }
    addTimes("back after", "back_")
    if let reconnects = count("reconnects"), reconnects > 0 {
      add("reconnects", "\(reconnects), with \(count("gaps") ?? 0) gaps")
    }
  }

  private mutating func addErrors() {
    for (index, error) in report.figures.errors.entries.enumerated() {
      let example = Diagnostics.escaped(error.example)
      add(index == 0 ? "errors" : "", "\(error.count) x \(error.code): \(example)")
    }
    let closed = report.figures.closedVisitors
    guard !closed.isEmpty else { return }
    let shown = closed.prefix(Self.longestList).joined(separator: ", ")
    let rest = closed.count - Self.longestList
    add("visitors", "closed: \(shown)" + (rest > 0 ? " and \(rest) more" : ""))
  }

  private mutating func addOwnCost() {
    guard let cpu = report.values["cpu"] else { return }
    let share = Quantities.text(cpu, places: 0)
    let memory = count("memory_per_socket").map { ", \(($0 + 512) / 1024) KiB a socket" } ?? ""
    add("bench itself", "\(share) % of a core\(memory)")
    guard report.wasLimit else { return }
    lines.append(
      "The bench used \(share) % of a core: the figures say what it can do, not the server.")
    if SystemCalls.processorCount > 1 {
      lines.append("To use more cores, run it in several shells, each with a part of the load.")
    }
  }

  private mutating func addComparison(_ isWhole: Bool) {
    guard let baseline else { return }
    lines += ["", Self.row("compared", ["before", "now", "change"])]
    for (figure, before, now, percent) in report.changes(since: baseline)
    where isWhole || Self.compared.contains(where: figure.name.isSame) {
      let change = percent.map { ($0 > 0 ? "+" : "") + Quantities.text($0, places: 1) + " %" }
      let cells = [before, now].map { Self.shown($0, figure.unit) }
      lines.append(Self.row(figure.name, cells + [change ?? "new"]))
    }
  }

  // MARK: Parts

  private func count(_ name: String) -> Int? { report.values[name].map { Int($0) } }

  private func perSecond(_ name: String) -> String {
    guard let rate = report.values[name] else { return "" }
    return ", \(Quantities.grouped(Int(rate.rounded()))) a second"
  }

  /// - Parameter prefix: Of the figures' names, which are the labels without points.
  private mutating func addTimes(
    _ name: String, _ prefix: String, _ labels: [String] = ["p50", "p99", "max"]
  ) {
    let shown = labels.compactMap { label in
      report.values[prefix + label.filter { $0 != "." }].map { "\(label) \(Self.time($0))" }
    }
    if !shown.isEmpty { add(name, shown.joined(separator: ", ")) }
  }

  private static func share(_ count: Int, of all: Int) -> String {
    guard all > 0 else { return "none expected" }
    return Quantities.text(Double(count) / Double(all) * 100, places: 3) + " %"
  }

  /// Writes milliseconds with three digits, in the unit that suits them.
  static func time(_ milliseconds: Double) -> String {
    if milliseconds >= 10_000 { return Quantities.text(milliseconds / 1000, places: 1) + " s" }
    if milliseconds >= 1000 { return Quantities.text(milliseconds / 1000, places: 2) + " s" }
    let places = milliseconds >= 100 ? 0 : milliseconds >= 10 ? 1 : milliseconds >= 1 ? 2 : 3
    return Quantities.text(milliseconds, places: places) + " ms"
  }

  static func shown(_ value: Double, _ unit: BenchFigure.Unit) -> String {
    switch unit {
    case .count, .rate: Quantities.grouped(Int(max(min(value.rounded(), 1e15), -1e15)))
    case .percent: Quantities.text(value, places: 1) + " %"
    case .bytes: "\(Int(max(min(value, 1e15), 0)) / 1024) KiB"
    case .time: time(value)
    }
  }

  /// Writes a name and its cells, which end at the same columns in every row.
  private static func row(_ name: String, _ cells: [String]) -> String {
    let blanks = { String(repeating: " ", count: max(1, $0)) }
    return name + blanks(22 - name.utf8.count)
      + cells.map { blanks(14 - $0.utf8.count) + $0 }.joined()
  }
}
