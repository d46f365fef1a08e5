internal import PusherCore

extension SubscribeRun {
  var command: Command { .subscribe }

  var interruption: String? {
    guard feed.session.isConnected else { return "no connection (\(lifecycle.state))" }
    guard isSignedIn else { return "not signed in" }
    guard discovery?.hasList ?? true else { return "no list of channels" }
    return members.areAllSettled ? nil : "not subscribed to every channel"
  }

  var metrics: [MetricFamily] {
    let pings = feed.session.pings
    let counts = members.counts(isConnected: feed.session.isConnected)
    let events = printer.core.channelCounts?.counts ?? []
    return [
      MetricFamily(
        "pusher_cli_channels", .gauge, "Requested channels, by the server's answer.",
        [
          .init(counts.subscribed, .init("state", "subscribed")),
          .init(counts.expected, .init("state", "expected")),
          .init(counts.refused, .init("state", "refused")),
        ]),
      MetricFamily(
        "pusher_cli_channel_events_total", .counter,
        "Printed or handled events, by channel; (other) is for channels beyond --metrics-channels.",
        events.map { .init($0.events, .init("channel", $0.channel)) }),
      MetricFamily(
        "pusher_cli_pings_total", .counter, "Pings of the Pusher protocol.",
        [
          .init(pings.sent, .init("direction", "sent")),
          .init(pings.received, .init("direction", "received")),
        ]),
      MetricFamily(
        "pusher_cli_parse_fallbacks_total", .counter,
        "Messages that took the general path instead of the fast path.", printer.fallbacks),
    ] + (repair.map { [$0.results.family(of: "on-gap")] } ?? [])
  }
}
