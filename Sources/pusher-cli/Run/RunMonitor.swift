internal import PusherCore
internal import PusherServer

final class ConnectionCounts {
  fileprivate var connections = 0
  fileprivate var reconnects = ResultCounts<LossReason>()
  fileprivate var gaps = 0
  fileprivate var gapTime = Duration.zero
  fileprivate var unreadable = 0

  func note(_ event: ConnectionEvent) {
    switch event {
    case .opened: connections += 1
    case .disconnected(let loss, _, .some, _): reconnects.note(LossReason(loss))
    case .gap(let from, let to):
      gaps += 1
      gapTime += from.duration(to: to)
    case .upgraded, .disconnected, .redirected, .reconnectionTime, .resumedElsewhere, .ended: break
    }
  }

  func noteGreeting() { connections += 1 }
  func noteUnreadable() { unreadable += 1 }
}

/// Serves the metrics and the health of a run, for `--metrics`.
final class RunMonitor: Monitored {
  private let part: any RunPart
  private let run: PrintingRun
  private var endpoint: MonitoringEndpoint?
  private var pausedSince: Instant?
  /// Shorter pauses are normal during a flood.
  private static let longestPause = Duration.seconds(5)

  /// - Throws: ``TransportError`` if the address is unavailable.
  init(_ settings: ListenSettings, of part: any RunPart) throws {
    self.part = part
    run = part.run
    endpoint = try settings.monitoringEndpoint(
      of: self, part.command, loop: run.loop, run.diagnostics)
  }

  func noteReading(isPaused: Bool, at now: Instant) {
    pausedSince = isPaused ? pausedSince ?? now : nil
  }

  var ailment: String? {
    if run.isEnding { return "ending" }
    let isStalled = pausedSince.map { $0.duration(to: run.loop.now) >= Self.longestPause } ?? false
    return part.interruption
      ?? (isStalled ? "the output or the event handler is slow; nothing is read" : nil)
  }

  var families: [MetricFamily] {
    connectionFamilies + outputFamilies + (run.handler?.metrics ?? []) + part.metrics
  }

  private var connectionFamilies: [MetricFamily] {
    let counts = run.counts
    return [
      MetricFamily(
        "pusher_cli_connections_total", .counter,
        "Established connections, including the server's greeting.", counts.connections),
      MetricFamily(
        "pusher_cli_reconnects_total", .counter,
        "Reconnect attempts, by how the previous connection or attempt ended.",
        counts.reconnects.samples("reason")),
      MetricFamily(
        "pusher_cli_gaps_total", .counter, "Gaps in which events may have been lost.", counts.gaps),
      MetricFamily(
        "pusher_cli_gap_seconds_total", .counter, "Total length of these gaps, in seconds.",
        counts.gapTime),
      MetricFamily(
        "pusher_cli_received_bytes_total", .counter,
        "Bytes received from servers, after TLS decryption.", run.feed?.receivedBytes ?? 0),
      MetricFamily(
        "pusher_cli_unreadable_messages_total", .counter,
        "Messages that could not be read or decrypted.", counts.unreadable),
      time(
        "pusher_cli_last_heard_timestamp_seconds",
        "Time of the last bytes from the server, in seconds since 1970; 0 before the first.",
        run.feed?.heardAt),
    ]
  }

  private var outputFamilies: [MetricFamily] {
    let printer = run.printer
    return [
      MetricFamily(
        "pusher_cli_events_total", .counter, "Events printed, or handed to --exec or --forward.",
        printer?.count ?? 0),
      MetricFamily(
        "pusher_cli_filtered_events_total", .counter, "Events excluded by -e, -x and --where.",
        printer?.rejected ?? 0),
      time(
        "pusher_cli_last_event_timestamp_seconds",
        "Time of the last event, in seconds since 1970; 0 before the first.", run.lastEventAt),
      MetricFamily(
        "pusher_cli_written_bytes_total", .counter, "Bytes written to the output.",
        run.output.written),
      MetricFamily(
        "pusher_cli_queue_bytes", .gauge,
        "Bytes waiting for the output, and for --exec or --forward.",
        [
          .init(run.output.buffer.count, .init("queue", "output")),
          .init(run.handler?.waitingBytes ?? 0, .init("queue", "handler")),
        ]),
      MetricFamily(
        "pusher_cli_queue_limit_bytes", .gauge, "Maximum size of each queue, in bytes (--buffer).",
        printer?.capacity ?? 0),
    ]
  }

  private func time(_ name: StaticText, _ help: StaticText, _ instant: Instant?) -> MetricFamily {
    let now = run.loop.now
    let since = instant.map { SystemClock.wall().advanced(by: now.duration(to: $0)) }
    return MetricFamily(
      name, .gauge, help, Duration.milliseconds(since?.millisecondsSince1970 ?? 0))
  }
}

/// A command that `--metrics` reports on.
protocol Monitored: AnyObject {
  /// The reason that the command cannot do its work now, if any.
  var ailment: String? { get }
  /// The metrics besides those of every command.
  var families: [MetricFamily] { get }
}

extension Monitored {
  fileprivate func metrics(of command: Command, startedAt: WallTime) -> String {
    let common = [
      MetricFamily(
        "pusher_cli_build_info", .gauge, "Always 1; the labels name the version and the command.",
        [.init(1, .init("version", Version.current), .init("command", command.rawValue))]),
      MetricFamily(
        "pusher_cli_healthy", .gauge,
        "1 while events can arrive or clients are served, as in /healthz.", ailment == nil ? 1 : 0),
    ]
    return MetricFamily.text(of: common + families + ProcessMetrics.families(startedAt: startedAt))
  }
}

extension ListenSettings {
  /// Opens the port of `--metrics`.
  func monitoringEndpoint(
    of monitored: any Monitored, _ command: Command, loop: EventLoop, _ diagnostics: Diagnostics
  ) throws -> MonitoringEndpoint {
    var access = AccessPolicy()
    access.hosts.isPublic = !isLoopback
    let endpoint = try MonitoringEndpoint(
      loop: loop, at: address, access: access,
      source: MonitoringEndpoint.Source(
        metrics: { [weak monitored, startedAt = SystemClock.wall()] in
          monitored?.metrics(of: command, startedAt: startedAt) ?? ""
        }, ailment: { [weak monitored] in monitored?.ailment }))
    let text = "metrics at http://\(place(endpoint.port))/metrics"
    // The system chose the port, so the user must learn it here.
    if port == 0 { diagnostics.notice(text) } else { diagnostics.info(text) }
    return endpoint
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
