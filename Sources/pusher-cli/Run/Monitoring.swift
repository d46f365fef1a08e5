internal import PusherCore
internal import PusherServer

extension ListenSettings {
  /// Opens the port of `--metrics`, with the metrics and the health of a command.
  ///
  /// - Parameters:
  ///   - ailment: Returns the reason that the command cannot do its work now, if any.
  ///   - families: Returns the metrics besides those of every command.
  /// - Throws: ``TransportError`` if the address is unavailable.
  func monitoringEndpoint(
    of command: Command, loop: EventLoop, _ diagnostics: Diagnostics,
    ailment: @escaping () -> String?, families: @escaping () -> [MetricFamily]
  ) throws -> MonitoringEndpoint {
    var access = AccessPolicy()
    access.isPublic = !isLoopback
    let startedAt = SystemClock.wall()
    let endpoint = try MonitoringEndpoint(
      loop: loop, at: address, access: access,
      metrics: {
        let common = [
          MetricFamily(
            "pusher_cli_build_info", "Always 1; the labels name the version and the command.",
            [.init(1, ("version", Version.current), ("command", command.rawValue))]),
          MetricFamily(
            "pusher_cli_healthy",
            "1 while events can arrive or clients are served, as in /healthz.",
            ailment() == nil ? 1 : 0),
        ]
        return MetricFamily.text(
          of: common + families() + ProcessMetrics.families(startedAt: startedAt))
      }, ailment: ailment)
    let text = "metrics at http://\(place(endpoint.port))/metrics"
    // The system chose the port, so the user must learn it here.
    if port == 0 { diagnostics.notice(text) } else { diagnostics.info(text) }
    return endpoint
  }
}

extension PrintingRun {
  /// The metrics of `subscribe` and `sse`.
  func metrics(of part: any RunPart) -> [MetricFamily] {
    connectionMetrics(part.lifecycle) + outputMetrics + (handler?.metrics ?? [])
      + (idleCommand.map { [$0.metrics] } ?? []) + part.metrics
  }

  private func connectionMetrics(_ lifecycle: Lifecycle) -> [MetricFamily] {
    [
      MetricFamily(
        "pusher_cli_connections_total",
        "Established connections, including the server's greeting.", lifecycle.connections),
      MetricFamily(
        "pusher_cli_reconnects_total",
        "Reconnect attempts, by how the previous connection or attempt ended.",
        LossReason.allCases.map {
          .init(lifecycle.retries[$0, default: 0], ("reason", $0.rawValue))
        }),
      MetricFamily(
        "pusher_cli_gaps_total", "Gaps in which events may have been lost.", lifecycle.gaps),
      MetricFamily(
        "pusher_cli_gap_seconds_total", "Total length of these gaps, in seconds.",
        lifecycle.gapTime),
      MetricFamily(
        "pusher_cli_received_bytes_total", "Bytes received from servers, after TLS decryption.",
        feed?.receivedBytes ?? 0),
      MetricFamily(
        "pusher_cli_unreadable_messages_total", "Messages that could not be read or decrypted.",
        lifecycle.unreadable),
      time(
        "pusher_cli_last_heard_timestamp_seconds",
        "Time of the last bytes from the server, in seconds since 1970; 0 before the first.",
        feed?.heardAt),
    ]
  }

  private var outputMetrics: [MetricFamily] {
    [
      MetricFamily(
        "pusher_cli_events_total", "Events printed, or handed to --exec or --forward.", count),
      MetricFamily(
        "pusher_cli_filtered_events_total", "Events excluded by -e, -x and --where.",
        printer?.rejected ?? 0),
      time(
        "pusher_cli_last_event_timestamp_seconds",
        "Time of the last event, in seconds since 1970; 0 before the first.", lastEventAt),
      MetricFamily(
        "pusher_cli_written_bytes_total", "Bytes written to the output.", output.written),
      MetricFamily(
        "pusher_cli_queue_bytes", "Bytes waiting for the output, and for --exec or --forward.",
        by: "queue", ["output": output.buffer.count, "handler": handler?.waitingBytes ?? 0]),
      MetricFamily(
        "pusher_cli_queue_limit_bytes", "Maximum size of each queue, in bytes (--buffer).",
        printer?.capacity ?? 0),
    ]
  }

  private func time(_ name: StaticString, _ help: StaticString, _ instant: Instant?) -> MetricFamily
  {
    let since = instant.map { SystemClock.wall().advanced(by: loop.now.duration(to: $0)) }
    return MetricFamily(name, help, Duration.milliseconds(since?.millisecondsSince1970 ?? 0))
  }
}

/// The cause of a loss, as the value of a label.
enum LossReason: String, CaseIterable, Sendable {
  case closed, ended
  case endedUnmarked = "ended_unmarked"
  case httpStatus = "http_status"
  case notAnEventStream = "not_an_event_stream"
  case violation, network, untrusted
  case handshakeTimeout = "handshake_timeout"
  case noPong = "no_pong"
  case silent, limit, dropped
  case invalidRequest = "invalid_request"

  init(_ loss: ConnectionLoss) {
    self =
      switch loss {
      case .closed: .closed
      case .ended: .ended
      case .endedUnmarked: .endedUnmarked
      case .refused: .httpStatus
      case .notAnEventStream: .notAnEventStream
      case .violation: .violation
      case .network: .network
      case .untrusted: .untrusted
      case .handshakeTimeout: .handshakeTimeout
      case .noPong: .noPong
      case .silent: .silent
      case .limit: .limit
      case .dropped: .dropped
      case .invalidRequest: .invalidRequest
      }
  }
}

/// Counts the work of `serve`, for `--metrics` and for the service manager.
final class ServerMonitor {
  private let loop: EventLoop
  private let manager: ServiceManager
  /// `nil` without `--metrics`.
  private var endpoint: MonitoringEndpoint?
  /// The server; `nil` until it is created.
  weak var server: Server?
  private var connections = 0
  private var disconnections = 0
  private var refusals = 0
  private var subscriptions = 0
  private var refusedSubscriptions = 0
  private var clientErrors = 0
  private var events = (api: 0, client: 0)
  private var deliveries = (api: 0, client: 0)
  private var lastEventAt: Instant?
  private var webhooks = (taken: 0, failed: 0, dropped: 0)
  /// Answers to HTTP requests by status; the server has only a few statuses.
  private var answers: [Int: Int] = [:]

  /// - Parameter settings: The port of `--metrics`.
  /// - Throws: ``TransportError`` if the address is unavailable.
  init(
    _ settings: ListenSettings?, _ manager: ServiceManager, loop: EventLoop,
    diagnostics: Diagnostics
  ) throws {
    (self.manager, self.loop) = (manager, loop)
    endpoint = try settings?.monitoringEndpoint(
      of: .serve, loop: loop, diagnostics,
      ailment: { [weak self] in
        guard let server = self?.server else { return "starting" }
        return server.ailment
      }, families: { [weak self] in self?.families ?? [] })
    manager.follow(loop) { [unowned self] in progress }
  }

  /// Closes the port, for other processes that share it.
  func close(at now: Instant) { endpoint?.close(at: now) }

  func note(_ event: ServerLogEvent) {
    switch event {
    case .connected:
      connections += 1
      manager.progressed(at: loop.now)
    case .disconnected:
      disconnections += 1
      manager.progressed(at: loop.now)
    case .refused: refusals += 1
    case .subscribed: subscriptions += 1
    case .subscriptionRefused: refusedSubscriptions += 1
    case .clientError: clientErrors += 1
    case .event(_, _, _, let recipients, _):
      events.api += 1
      deliveries.api += recipients ?? 0
      noteEvent()
    case .clientEvent(_, _, _, _, let recipients, _):
      events.client += 1
      deliveries.client += recipients ?? 0
      noteEvent()
    case .request(_, _, let status, _): answers[status, default: 0] += 1
    case .webhookSent: webhooks.taken += 1
    case .webhookFailed: webhooks.failed += 1
    case .webhookDropped: webhooks.dropped += 1
    case .webhooksDiscarded(_, let count, _): webhooks.dropped += count
    case .delivered(_, isFromClient: true, let recipients): deliveries.client += recipients
    case .delivered(_, isFromClient: false, let recipients): deliveries.api += recipients
    case .busLost, .busBack, .busError, .busRefused: break
    case .signedIn, .signInRefused, .unsubscribed, .resumed, .accessRefused, .queuesFull,
      .channelsFull,
      .dropped:
      break
    }
  }

  private func noteEvent() {
    lastEventAt = loop.now
    manager.progressed(at: loop.now)
  }

  /// The numbers of clients and events, in words.
  private var progress: String {
    let clients = Quantities.words(connections - disconnections, of: "connection")
    let events = loop.progress(events.api + events.client, lastAt: lastEventAt)
    return events.map { "\(clients), \($0)" } ?? clients
  }

  private var families: [MetricFamily] {
    let apps = server?.occupancy ?? []
    return [
      MetricFamily(
        "pusher_cli_serve_open_connections", "Connected sockets, by app id.",
        apps.map { .init($0.connections, ("app", $0.app)) }),
      MetricFamily(
        "pusher_cli_serve_occupied_channels", "Occupied channels, by app id.",
        apps.map { .init($0.channels, ("app", $0.app)) }),
      MetricFamily(
        "pusher_cli_serve_queue_bytes", "Bytes waiting for all clients together.",
        server?.queuedBytes ?? 0),
      MetricFamily("pusher_cli_serve_connections_total", "Accepted sockets.", connections),
      MetricFamily(
        "pusher_cli_serve_refused_connections_total",
        "Refused sockets: unknown key, too many connections, or unsupported protocol.", refusals),
      MetricFamily(
        "pusher_cli_serve_subscriptions_total", "Confirmed subscriptions.", subscriptions),
      MetricFamily(
        "pusher_cli_serve_refused_subscriptions_total", "Refused subscriptions.",
        refusedSubscriptions),
    ] + eventFamilies
  }

  private var eventFamilies: [MetricFamily] {
    [
      MetricFamily(
        "pusher_cli_serve_events_total", "Events, by sender: HTTP API or client.", by: "source",
        ["api": events.api, "client": events.client]),
      MetricFamily(
        "pusher_cli_serve_deliveries_total",
        "Messages to sockets for these events, by sender of the event.", by: "source",
        ["api": deliveries.api, "client": deliveries.client]),
      MetricFamily(
        "pusher_cli_serve_client_errors_total", "Client messages answered with an error.",
        clientErrors),
      MetricFamily(
        "pusher_cli_serve_http_answers_total",
        "Answers to HTTP API calls and other requests, by status.",
        answers.sorted { $0.key < $1.key }.map { .init($0.value, ("status", String($0.key))) }),
      MetricFamily(
        "pusher_cli_serve_webhooks_total",
        "Webhooks accepted or dropped, and failed attempts to send them.", by: "result",
        ["taken": webhooks.taken, "failed": webhooks.failed, "dropped": webhooks.dropped]),
    ]
  }
}
