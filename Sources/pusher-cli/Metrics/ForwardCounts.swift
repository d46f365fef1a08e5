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
        "pusher_cli_forwarded_events_total", .counter,
        "Events of --forward that are done with, by what became of them.",
        results.samples("result")),
      MetricFamily(
        "pusher_cli_forward_failures_total", .counter,
        "Tries of --forward that did not succeed, by why.", failures.samples("reason")),
      MetricFamily(
        "pusher_cli_forward_retries_total", .counter, "Tries of --forward after the first.",
        retries),
    ]
  }
}
