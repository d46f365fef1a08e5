/// How often each of a few results came; those that never came count zero, so that a rate has a beginning.
struct ResultCounts<Result: CaseIterable & RawRepresentable & Hashable & Sendable>: Sendable
where Result.RawValue == String {
  private var counts: [Result: Int] = [:]

  init() {}

  subscript(result: Result) -> Int { counts[result] ?? 0 }

  mutating func note(_ result: Result, _ count: Int = 1) {
    counts[result, default: 0] &+= count
  }

  /// A sample for each result, under the label `name` after `others`.
  func samples(
    _ name: StaticText, _ others: MetricFamily.Label...
  ) -> [MetricFamily.Sample] {
    Result.allCases.map { result in
      MetricFamily.Sample(self[result], others + [.init(name, result.rawValue)])
    }
  }
}

/// How the command of a hook ended.
enum HookResult: String, CaseIterable, Sendable {
  /// With status 0.
  case succeeded
  /// With another status, or it could not be started.
  case failed
  case timedOut = "timed_out"
  /// The end of the run ended it, or kept it from being started.
  case cutOff = "cut_off"
}

extension ResultCounts<HookResult> {
  /// The metric of a hook, such as `exec`.
  func family(of hook: String) -> MetricFamily {
    MetricFamily(
      "pusher_cli_hook_results_total", .counter,
      "Commands that were run for events, by how they ended.",
      samples("result", .init("hook", hook)))
  }
}
