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
