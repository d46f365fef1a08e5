internal import PusherCore

/// The report for people: a line for each figure that says something.
struct BenchTable {
  private let report: BenchReport
  private let baseline: BenchBaseline?
  private var lines: [String] = []

  private static let width = 14
  private static let longestList = 5

  init(_ report: BenchReport, _ baseline: BenchBaseline?) {
    (self.report, self.baseline) = (report, baseline)
    if let shortfall = report.shortfall { add("not valid", Diagnostics.escaped(shortfall.reason)) }
    addEvents()
    addConnections()
    addErrors()
    addOwnCost()
    addComparison()
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
      "\(BenchNumber.grouped(sent)) sent"
        + (failed > 0 ? ", \(BenchNumber.grouped(failed)) not accepted" : "")
        + perSecond("events_per_second"))
    add(
      "deliveries",
      "\(BenchNumber.grouped(count("delivered") ?? 0)) of \(BenchNumber.grouped(expected))"
        + perSecond("deliveries_per_second"))
    let lost = count("lost") ?? 0
    let share = lost > 0 ? " (\(Self.share(lost, of: expected)))" : ""
    let by =
      lost > 0
      ? " by \(count("losing_subscribers") ?? 0) subscribers, "
        + "at most \(count("most_lost") ?? 0) each"
      : ""
    add("lost", "\(BenchNumber.grouped(lost))\(share)\(by)")
    add("doubled", BenchNumber.grouped(count("doubled") ?? 0))
    add("out of order", BenchNumber.grouped(count("out_of_order") ?? 0))
    add("wrong", BenchNumber.grouped(count("wrong") ?? 0))
    addTimes(
      "delay", [("p50", "p50"), ("p90", "p90"), ("p99", "p99"), ("p99.9", "p999"), ("max", "max")])
    addTimes("sent late", [("p50", "late_p50"), ("p99", "late_p99"), ("max", "late_max")])
  }

  private mutating func addConnections() {
    let all = (count("connected") ?? 0) + (count("unconnected") ?? 0)
    add(
      "subscribers",
      "\(BenchNumber.grouped(count("connected") ?? 0)) of \(BenchNumber.grouped(all))"
        + perSecond("connects_per_second"))
    for step in BenchFigure.steps {
      addTimes(step, ["p50", "p99", "max"].map { ($0, "\(step)_\($0)") })
    }
    addTimes("back after", [("p50", "back_p50"), ("p99", "back_p99"), ("max", "back_max")])
    if let reconnects = count("reconnects"), reconnects > 0 {
      add("reconnects", "\(reconnects), with \(count("gaps") ?? 0) gaps")
    }
  }

  private mutating func addErrors() {
    for (index, error) in report.errors.enumerated() {
      let example = Diagnostics.escaped(error.example)
      add(index == 0 ? "errors" : "", "\(error.count) x \(error.code): \(example)")
    }
    guard !report.closedVisitors.isEmpty else { return }
    let shown = report.closedVisitors.prefix(Self.longestList).joined(separator: ", ")
    let rest = report.closedVisitors.count - Self.longestList
    add("visitors", "closed: \(shown)" + (rest > 0 ? " and \(rest) more" : ""))
  }

  private mutating func addOwnCost() {
    guard let cpu = report.values["cpu"] else { return }
    let share = BenchNumber.text(cpu, places: 0)
    let memory = count("memory_per_socket").map { ", \(($0 + 512) / 1024) KiB a socket" } ?? ""
    add("bench itself", "\(share) % of a core\(memory)")
    guard report.wasLimit else { return }
    lines.append(
      "The bench used \(share) % of a core: the figures say what it can do, not the server.")
    if SystemCalls.processorCount > 1 {
      lines.append("To use more cores, run it in several shells, each with a part of the load.")
    }
  }

  private mutating func addComparison() {
    guard let baseline else { return }
    lines += ["", Self.row("compared", ["before", "now", "change"])]
    for figure in BenchFigure.all {
      guard let before = baseline.figures[figure.name], let now = report.values[figure.name] else {
        continue
      }
      let percent = BenchChange.percent(from: before, to: now)
      let change = percent.map { ($0 > 0 ? "+" : "") + BenchNumber.text($0, places: 1) + " %" }
      let cells = [before, now].map { Self.shown($0, figure.unit) }
      lines.append(Self.row(figure.name, cells + [change ?? "new"]))
    }
  }

  // MARK: Parts

  private func count(_ name: String) -> Int? { report.values[name].map { Int($0) } }

  private func perSecond(_ name: String) -> String {
    guard let rate = report.values[name] else { return "" }
    return ", \(BenchNumber.grouped(Int(rate.rounded()))) a second"
  }

  private mutating func addTimes(_ name: String, _ parts: [(label: String, figure: String)]) {
    let shown = parts.compactMap { part in
      report.values[part.figure].map { "\(part.label) \(Self.time($0))" }
    }
    if !shown.isEmpty { add(name, shown.joined(separator: ", ")) }
  }

  private static func share(_ count: Int, of all: Int) -> String {
    guard all > 0 else { return "none expected" }
    return BenchNumber.text(Double(count) / Double(all) * 100, places: 3) + " %"
  }

  /// Writes milliseconds with three digits, in the unit that suits them.
  static func time(_ milliseconds: Double) -> String {
    if milliseconds >= 10_000 { return BenchNumber.text(milliseconds / 1000, places: 1) + " s" }
    if milliseconds >= 1000 { return BenchNumber.text(milliseconds / 1000, places: 2) + " s" }
    let places = milliseconds >= 100 ? 0 : milliseconds >= 10 ? 1 : milliseconds >= 1 ? 2 : 3
    return BenchNumber.text(milliseconds, places: places) + " ms"
  }

  static func shown(_ value: Double, _ unit: BenchFigure.Unit) -> String {
    switch unit {
    case .count, .rate: BenchNumber.grouped(Int(max(min(value.rounded(), 1e15), -1e15)))
    case .percent: BenchNumber.text(value, places: 1) + " %"
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

/// The files of `--histogram`, `--csv` and `--svg`.
enum BenchFiles {
  /// Makes each file before the load, so that a wrong name costs no run.
  static func check(_ settings: BenchSettings) throws(UsageError) {
    for (flag, path) in settings.files.map({ ($0.flag.spelling, $0.path) }) {
      switch FileReplacement.writablePlace(path) {
      case .failure(let fault): throw UsageError("\(flag): cannot write '\(path)': \(fault.reason)")
      case .success(.nothing):
        if let reason = WrittenFile.write([], to: path) {
          throw UsageError("\(flag): cannot write '\(path)': \(reason)")
        }
      case .success: break
      }
    }
  }

  /// Writes the files; returns the status of a failure, which is reported.
  static func write(
    _ report: BenchReport, _ settings: BenchSettings, _ diagnostics: Diagnostics
  ) -> ExitStatus? {
    var status: ExitStatus?
    let files = [
      (settings.histogramFile, report.delays?.table),
      (settings.csvFile, BenchSeconds.csv(report.rows)),
      (settings.svgFile, settings.svgFile.map { _ in DelayImage(report).text }),
    ]
    for case (let path?, let text?) in files {
      if let reason = WrittenFile.write(Array(text.utf8), to: path) {
        status = diagnostics.cannotPrint(reason, to: path)
      }
    }
    return status
  }
}

extension DelayHistogram {
  /// The table of HdrHistogram's `outputPercentileDistribution`, in milliseconds.
  var table: String {
    var text = "       Value     Percentile TotalCount 1/(1-Percentile)\n\n"
    for (value, seen) in steps {
      let share = Double(seen) / Double(max(count, 1))
      let inverse = seen == count ? "" : " " + BenchNumber.text(1 / (1 - share), places: 2)
      let cells = [
        BenchNumber.text(value.inSeconds * 1000), BenchNumber.text(share, places: 12), "\(seen)",
      ]
      text += cells.joined(separator: " ") + inverse + "\n"
    }
    let mean = BenchNumber.text((mean ?? .zero).inSeconds * 1000)
    let largest = BenchNumber.text(largest.inSeconds * 1000)
    text += "#[Mean    = \(mean), Max = \(largest)]\n#[Total count = \(count)]\n"
    return text
  }
}
