internal import PusherCore
internal import PusherServer

/// Serves the metrics and the health of `serve`, for `--metrics`.
final class ServerMonitor: Monitored {
  private enum Source: String, CaseIterable { case api, client }

  /// Result of a webhook, or of an attempt to send it.
  private enum WebhookResult: String, CaseIterable {
    case taken
    /// The server retries.
    case failed
    case dropped
  }

  private var endpoint: MonitoringEndpoint?
  /// The server; `nil` until it is created.
  weak var server: Server?
  private var connections = 0
  private var refusals = 0
  private var subscriptions = 0
  private var refusedSubscriptions = 0
  private var clientErrors = 0
  private var events = ResultCounts<Source>()
  private var deliveries = ResultCounts<Source>()
  private var webhooks = ResultCounts<WebhookResult>()
  /// Answers to HTTP requests by status; the server has only a few statuses.
  private var answers: [Int: Int] = [:]

  /// - Throws: ``TransportError`` if the address is unavailable.
  init(_ settings: ListenSettings, loop: EventLoop, diagnostics: Diagnostics) throws {
    endpoint = try settings.monitoringEndpoint(of: self, .serve, loop: loop, diagnostics)
  }

  /// Closes the port, for other processes that share it.
  func close(at now: Instant) { endpoint?.close(at: now) }

  func note(_ event: ServerLogEvent) {
    switch event {
    case .connected: connections += 1
    case .refused: refusals += 1
    case .subscribed: subscriptions += 1
    case .subscriptionRefused: refusedSubscriptions += 1
    case .clientError: clientErrors += 1
    case .event(_, _, _, let recipients): note(.api, recipients ?? 0)
    case .clientEvent(_, _, _, _, let recipients): note(.client, recipients ?? 0)
    case .request(_, _, let status, _): answers[status, default: 0] += 1
    case .webhookSent: webhooks.note(.taken)
    case .webhookFailed: webhooks.note(.failed)
    case .webhookDropped: webhooks.note(.dropped)
    case .webhooksDiscarded(_, let count, _): webhooks.note(.dropped, count)
    case .delivered(_, let isFromClient, let recipients):
      deliveries.note(isFromClient ? .client : .api, recipients)
    case .busLost, .busBack, .busError, .busRefused: break
    case .disconnected, .signedIn, .signInRefused, .unsubscribed, .accessRefused, .queuesFull,
      .channelsFull, .dropped:
      break
    }
  }

  private func note(_ source: Source, _ recipients: Int) {
    events.note(source)
    deliveries.note(source, recipients)
  }

  var ailment: String? {
    guard let server else { return "starting" }
    return server.ailment
  }

  var families: [MetricFamily] { stateFamilies + eventFamilies }

  private var stateFamilies: [MetricFamily] {
    let apps = server?.occupancy ?? []
    return [
      MetricFamily(
        "pusher_cli_serve_open_connections", .gauge, "Connected sockets, by app id.",
        apps.map { .init($0.connections, .init("app", $0.app)) }),
      MetricFamily(
        "pusher_cli_serve_occupied_channels", .gauge, "Occupied channels, by app id.",
        apps.map { .init($0.channels, .init("app", $0.app)) }),
      MetricFamily(
        "pusher_cli_serve_queue_bytes", .gauge, "Bytes waiting for all clients together.",
        server?.queuedBytes ?? 0),
      MetricFamily(
        "pusher_cli_serve_connections_total", .counter, "Accepted sockets.", connections),
      MetricFamily(
        "pusher_cli_serve_refused_connections_total", .counter,
        "Refused sockets: unknown key, too many connections, or unsupported protocol.", refusals),
      MetricFamily(
        "pusher_cli_serve_subscriptions_total", .counter, "Confirmed subscriptions.",
        subscriptions),
      MetricFamily(
        "pusher_cli_serve_refused_subscriptions_total", .counter, "Refused subscriptions.",
        refusedSubscriptions),
    ]
  }

  private var eventFamilies: [MetricFamily] {
    [
      MetricFamily(
        "pusher_cli_serve_events_total", .counter, "Events, by sender: HTTP API or client.",
        events.samples("source")),
      MetricFamily(
        "pusher_cli_serve_deliveries_total", .counter,
        "Messages to sockets for these events, by sender of the event.",
        deliveries.samples("source")),
      MetricFamily(
        "pusher_cli_serve_client_errors_total", .counter, "Client messages answered with an error.",
        clientErrors),
      MetricFamily(
        "pusher_cli_serve_http_answers_total", .counter,
        "Answers to HTTP API calls and other requests, by status.",
        answers.sorted { $0.key < $1.key }.map { .init($0.value, .init("status", String($0.key))) }),
      MetricFamily(
        "pusher_cli_serve_webhooks_total", .counter,
        "Webhooks accepted or dropped, and failed attempts to send them.",
        webhooks.samples("result")),
    ]
  }
}
