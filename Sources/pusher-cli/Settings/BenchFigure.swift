internal import PusherCore

/// One figure of `bench`: its name in `--fail`, and with its unit in `--output json`.
struct BenchFigure: Equatable, Sendable {
  enum Unit: Equatable, Sendable {
    case count, rate, percent, bytes
    /// Milliseconds.
    case time
  }

  /// The runs that measure the figure.
  enum Measured: Equatable, Sendable {
    case always
    /// Only modes that send events.
    case withEvents
    case inStorms
  }

  let name: String
  let unit: Unit
  let measured: Measured

  init(_ name: String, _ unit: Unit, _ measured: Measured = .always) {
    (self.name, self.unit, self.measured) = (name, unit, measured)
  }

  /// The member of the JSON output.
  var member: String { unit == .time ? name + "_ms" : name }

  func isMeasured(in mode: BenchMode) -> Bool {
    switch measured {
    case .always: true
    case .withEvents: mode.sendsEvents
    case .inStorms: mode == .storm
    }
  }

  /// True for figures that are known of a run that did not make its load.
  var isOfLoad: Bool {
    ["sent", "failed", "connected", "unconnected", "errors"].contains { $0.isSame(as: name) }
  }

  /// True if a larger value is the better one.
  private var isBetterLarge: Bool {
    unit == .rate
      || ["sent", "expected", "delivered", "connected"].contains { $0.isSame(as: name) }
  }

  /// Returns whether a comparison holds for the better values of the figure.
  func isBetter(_ comparison: BenchCondition.Comparison) -> Bool {
    switch comparison {
    case .below, .notAbove: !isBetterLarge
    case .above, .notBelow: isBetterLarge
    case .equal, .different: false
    }
  }

  /// The steps of a connection with figures of their own, in order.
  static let steps = ["dial", "tls", "upgrade", "greeting", "subscription", "connect"]

  /// In the order of the output.
  static let all: [BenchFigure] =
    [
      BenchFigure("sent", .count, .withEvents),
      BenchFigure("failed", .count, .withEvents),
      BenchFigure("expected", .count, .withEvents),
      BenchFigure("delivered", .count, .withEvents),
      BenchFigure("lost", .count, .withEvents), BenchFigure("doubled", .count, .withEvents),
      BenchFigure("out_of_order", .count, .withEvents), BenchFigure("wrong", .count, .withEvents),
      BenchFigure("losing_subscribers", .count, .withEvents),
      BenchFigure("most_lost", .count, .withEvents),
      BenchFigure("events_per_second", .rate, .withEvents),
      BenchFigure("deliveries_per_second", .rate, .withEvents),
    ]
    + ["p50", "p90", "p99", "p999", "max", "late_p50", "late_p99", "late_max"].map {
      BenchFigure($0, .time, .withEvents)
    }
    + [
      BenchFigure("connected", .count), BenchFigure("unconnected", .count),
      BenchFigure("connects_per_second", .rate),
    ]
    + steps.flatMap(times)
    + ["back_p50", "back_p99", "back_max"].map { BenchFigure($0, .time, .inStorms) }
    + [
      BenchFigure("reconnects", .count), BenchFigure("gaps", .count),
      BenchFigure("errors", .count), BenchFigure("cpu", .percent),
      BenchFigure("memory_per_socket", .bytes),
    ]

  private static func times(of step: String) -> [BenchFigure] {
    ["p50", "p99", "max"].map { BenchFigure("\(step)_\($0)", .time) }
  }

  /// Finds the figure of a name, also of the JSON output; `p99.9` is another spelling of `p999`.
  static func named(_ name: String) -> BenchFigure? {
    let name = ["p99.9": "p999", "p99.9_ms": "p999_ms"][name] ?? name
    return all.first { $0.name.isSame(as: name) || $0.member.isSame(as: name) }
  }
}

/// A condition of `--fail`, such as `lost>0` or `p99>200ms`.
struct BenchCondition: Equatable, Sendable {
  enum Comparison: String, CaseIterable, Sendable {
    case notAbove = "<="
    case notBelow = ">="
    case equal = "=="
    case different = "!="
    case below = "<"
    case above = ">"
  }

  let figure: BenchFigure
  let comparison: Comparison
  /// In the unit of the figure.
  let value: Double
  /// As it was typed.
  let text: String
  /// The condition that was probably meant, if this one holds for good values.
  let opposite: String?

  init(parsing text: String, mode: BenchMode) throws(UsageError) {
    let start = text.utf8.firstIndex { "<>=!".utf8.contains($0) } ?? text.endIndex
    let rest = text[start...]
    guard
      let comparison = Comparison.allCases.first(where: { String(rest).begins(with: $0.rawValue) })
    else {
      throw UsageError(
        "--fail: '\(text)' is not a figure, an operator and a value, such as 'lost>0'")
    }
    let name = ASCII.trimmed(text[..<start]) { $0 == 0x20 }
    guard let figure = BenchFigure.named(name) else {
      let clause = Suggestion.clause(for: name, in: BenchFigure.all.map(\.name))
      throw UsageError("--fail: there is no figure '\(name)'\(clause)")
    }
    guard figure.isMeasured(in: mode) else {
      throw UsageError("--fail: the mode '\(mode.rawValue)' has no figure '\(figure.name)'")
    }
    let typed = ASCII.trimmed(Substring(rest.utf8.dropFirst(comparison.rawValue.utf8.count))) {
      $0 == 0x20
    }
    // The name in JSON has the unit, so its value needs none.
    let isBare = figure.unit == .time && name.ends(with: "_ms")
    guard
      let value = (isBare ? Quantities.decimal(typed) : nil) ?? Self.value(typed, of: figure.unit)
    else {
      throw UsageError("--fail: '\(typed)' is not \(Self.words(for: figure.unit))")
    }
    opposite =
      figure.isBetter(comparison)
      ? Self.turned(comparison).map { "\(name)\($0.rawValue)\(typed)" } : nil
    (self.figure, self.comparison, self.value, self.text) = (figure, comparison, value, text)
  }

  /// Returns whether the condition holds; an unknown value is no reason to pass.
  func holds(for measured: Double?) -> Bool {
    guard let measured else { return true }
    return switch comparison {
    case .notAbove: measured <= value
    case .notBelow: measured >= value
    case .equal: measured == value
    case .different: measured != value
    case .below: measured < value
    case .above: measured > value
    }
  }

  private static func turned(_ comparison: Comparison) -> Comparison? {
    switch comparison {
    case .below: .above
    case .above: .below
    case .notAbove: .notBelow
    case .notBelow: .notAbove
    case .equal, .different: nil
    }
  }

  private static func value(_ text: String, of unit: BenchFigure.Unit) -> Double? {
    switch unit {
    case .count, .rate: Quantities.decimal(text)
    case .percent:
      Quantities.decimal(
        text.ends(with: "%") ? String(decoding: text.utf8.dropLast(), as: UTF8.self) : text)
    case .bytes: Quantities.size(text).map(Double.init)
    case .time: Quantities.duration(text).map { $0.inSeconds * 1000 }
    }
  }

  private static func words(for unit: BenchFigure.Unit) -> String {
    switch unit {
    case .count, .rate: "a number"
    case .percent: "a percentage such as 90%"
    case .bytes: "a size such as 64k"
    case .time: "a time such as 200ms"
    }
  }
}
