internal import PusherCore

/// One metric: name, help text and current samples.
///
/// Names and units follow Prometheus' conventions: names end with the base unit; counters add
/// `_total`, and all other metrics are gauges. Source: Prometheus' pages "Metric and label naming"
/// and "Exposition formats".
struct MetricFamily: Equatable, Sendable {
  /// A value and its labels.
  ///
  /// Names of labels stand in the source code, and never come from a peer.
  struct Sample: Equatable, Sendable {
    /// The line after the metric's name, such as `{app="1"} 3`.
    let text: String

    init(_ value: Int, _ labels: (name: StaticString, value: String)...) {
      let pairs = labels.map { "\($0.name)=\"\(MetricFamily.escaped($0.value))\"" }
      text = (pairs.isEmpty ? "" : "{\(pairs.joined(separator: ","))}") + " \(value)"
    }

    init(_ value: Duration) { text = " \(value.secondsText)" }
  }

  let name: String
  /// One sentence, without newlines or backslashes.
  let help: String
  let samples: [Sample]

  init(_ name: StaticString, _ help: StaticString, _ samples: [Sample]) {
    (self.name, self.help, self.samples) = ("\(name)", "\(help)", samples)
  }

  init(_ name: StaticString, _ help: StaticString, _ value: Int) {
    self.init(name, help, [Sample(value)])
  }

  init(_ name: StaticString, _ help: StaticString, _ value: Duration) {
    self.init(name, help, [Sample(value)])
  }

  /// Makes one sample for each value of a label, in this order.
  ///
  /// Results without an event are listed too, because a rate needs a first value.
  init(
    _ name: StaticString, _ help: StaticString, by label: StaticString,
    _ values: KeyValuePairs<String, Int>
  ) {
    self.init(name, help, values.map { Sample($0.value, (label, $0.key)) })
  }
}

extension MetricFamily {
  /// Returns the text format of all families.
  ///
  /// A family without samples has only its two comments. The format requires families of the same
  /// name to stand together, at the place of the first.
  static func text(of families: [MetricFamily]) -> String {
    var text = ""
    var written: Set<String> = []
    for family in families where written.insert(family.name).inserted {
      let kind = family.name.hasSuffix("_total") ? "counter" : "gauge"
      text += "# HELP \(family.name) \(family.help)\n# TYPE \(family.name) \(kind)\n"
      for twin in families where twin.name == family.name {
        for sample in twin.samples { text += "\(twin.name)\(sample.text)\n" }
      }
    }
    return text
  }

  fileprivate static func escaped(_ value: String) -> String {
    var escaped = String.UnicodeScalarView()
    for scalar in value.unicodeScalars {
      switch scalar {
      case "\\": escaped.append(contentsOf: "\\\\".unicodeScalars)
      case "\"": escaped.append(contentsOf: "\\\"".unicodeScalars)
      case "\n": escaped.append(contentsOf: "\\n".unicodeScalars)
      default: escaped.append(scalar)
      }
    }
    return String(escaped)
  }
}

/// Counts of the commands of a hook, by result.
struct HookCounts {
  /// Commands that could not start count as failed.
  private var succeeded = 0, failed = 0, timedOut = 0
  /// Commands that the end of the run stopped, or whose start it prevented.
  private(set) var cutOff = 0

  mutating func note(_ result: ChildProcess.Outcome) {
    switch result {
    case .failure(.timeout): timedOut += 1
    case _ where result.problem == nil: succeeded += 1
    default: failed += 1
    }
  }

  mutating func noteCutOff() { cutOff += 1 }

  func family(of hook: String) -> MetricFamily {
    let counts = [
      ("succeeded", succeeded), ("failed", failed), ("timed_out", timedOut), ("cut_off", cutOff),
    ]
    return MetricFamily(
      "pusher_cli_hook_results_total", "Commands run for events, by result.",
      counts.map { .init($1, ("hook", hook), ("result", $0)) })
  }
}

extension ChildProcess.Outcome {
  /// The reason that the command failed; `nil` if it ended with status 0.
  var problem: String? {
    switch self {
    case .success(let output) where output.status == 0: nil
    case .success(let output): "the command ended with status \(output.status)"
    case .failure(let failure): "\(failure)"
    }
  }
}
