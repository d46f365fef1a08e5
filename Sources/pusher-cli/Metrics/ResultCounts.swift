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
