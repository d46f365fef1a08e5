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
