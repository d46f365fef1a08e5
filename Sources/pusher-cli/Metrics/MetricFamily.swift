internal import PusherCore

/// One metric: name, help text and current samples.
///
/// Names and units follow Prometheus' conventions: names end with the base unit; counters add
/// `_total`. Source: Prometheus' pages "Metric and label naming" and "Exposition formats".
struct MetricFamily: Equatable, Sendable {
  enum Kind: String, Sendable { case counter, gauge }

  struct Label: Equatable, Sendable {
    let name: StaticText
    let value: String

    init(_ name: StaticText, _ value: String) { (self.name, self.value) = (name, value) }
  }

  struct Sample: Equatable, Sendable {
    let labels: [Label]
    let value: String

    init(_ value: Int, _ labels: Label...) { self.init(value, labels) }
    init(_ value: Int, _ labels: [Label]) { (self.value, self.labels) = (String(value), labels) }
    init(_ value: Duration) { (self.value, self.labels) = (value.secondsText, []) }
  }

  let name: StaticText
  let kind: Kind
  /// One sentence, without newlines or backslashes.
  let help: StaticText
  let samples: [Sample]

  init(_ name: StaticText, _ kind: Kind, _ help: StaticText, _ samples: [Sample]) {
    (self.name, self.kind, self.help, self.samples) = (name, kind, help, samples)
  }

  init(_ name: StaticText, _ kind: Kind, _ help: StaticText, _ value: Int) {
    self.init(name, kind, help, [Sample(value)])
  }

  init(_ name: StaticText, _ kind: Kind, _ help: StaticText, _ value: Duration) {
    self.init(name, kind, help, [Sample(value)])
  }
}

/// A text from the source code, never from a peer.
struct StaticText: Equatable, Sendable, ExpressibleByStringLiteral {
  let text: String

  init(stringLiteral value: StaticString) { text = "\(value)" }
}

extension MetricFamily {
  /// Returns the text format of all families.
  ///
  /// A family without samples has only its two comments. The format requires families of the same
  /// name to stand together, at the place of the first.
  static func text(of families: [MetricFamily]) -> String {
    var text = ""
    var written: Set<String> = []
    for family in families where written.insert(family.name.text).inserted {
      text += "# HELP \(family.name.text) \(family.help.text)\n"
      text += "# TYPE \(family.name.text) \(family.kind.rawValue)\n"
      for twin in families where twin.name == family.name { twin.writeSamples(to: &text) }
    }
    return text
  }

  private func writeSamples(to text: inout String) {
    for sample in samples {
      text += name.text
      if !sample.labels.isEmpty {
        let pairs = sample.labels.map { "\($0.name.text)=\"\(Self.escaped($0.value))\"" }
        text += "{\(pairs.joined(separator: ","))}"
      }
      text += " \(sample.value)\n"
    }
  }

  private static func escaped(_ value: String) -> String {
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

/// Counts of a few results; all start at zero, because a rate needs a first value.
struct ResultCounts<Result: CaseIterable & RawRepresentable & Hashable & Sendable>: Sendable
where Result.RawValue == String {
  private var counts: [Result: Int] = [:]

  init() {}

  subscript(result: Result) -> Int { counts[result] ?? 0 }

  mutating func note(_ result: Result, _ count: Int = 1) { counts[result, default: 0] &+= count }

  func samples(_ name: StaticText, _ others: MetricFamily.Label...) -> [MetricFamily.Sample] {
    Result.allCases.map { result in
      MetricFamily.Sample(self[result], others + [.init(name, result.rawValue)])
    }
  }
}

/// Result of a hook's command.
enum HookResult: String, CaseIterable, Sendable {
  case succeeded
  /// The command could not start, or its status was not 0.
  case failed
  case timedOut = "timed_out"
  /// The end of the run stopped the command or its start.
  case cutOff = "cut_off"
}

extension ResultCounts<HookResult> {
  func family(of hook: String) -> MetricFamily {
    MetricFamily(
      "pusher_cli_hook_results_total", .counter, "Commands run for events, by result.",
      samples("result", .init("hook", hook)))
  }
}

struct ForwardCounts: Sendable {
  enum Result: String, CaseIterable, Sendable {
    case delivered
    /// No success within --forward-timeout.
    case givenUp = "given_up"
    /// The run ended first.
    case left
  }

  enum Failure: String, CaseIterable, Sendable {
    /// The answer was not 2xx.
    case refused
    case noAnswer = "no_answer"
  }

  var results = ResultCounts<Result>()
  var failures = ResultCounts<Failure>()
  var retries = 0

  var families: [MetricFamily] {
    [
      MetricFamily(
        "pusher_cli_forwarded_events_total", .counter, "Events of --forward, by final result.",
        results.samples("result")),
      MetricFamily(
        "pusher_cli_forward_failures_total", .counter, "Failed attempts of --forward, by reason.",
        failures.samples("reason")),
      MetricFamily("pusher_cli_forward_retries_total", .counter, "Retries of --forward.", retries),
    ]
  }
}
