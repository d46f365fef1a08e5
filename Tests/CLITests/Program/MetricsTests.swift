import Foundation
import PusherCore
import Testing

/// Prometheus' pages "Exposition formats" and "Metric and label naming".
///
/// Prometheus' own library parses every answer.
@Suite(
  "--metrics", .enabled(if: PythonPeer.isWanted, Comment(rawValue: PythonPeer.reason)),
  .runsPrograms)
struct MetricsTests {
  private static let metrics = ["--metrics", "127.0.0.1:0"]

  private func subscribe(
    _ server: ScriptedServer, _ options: String..., environment: [String: String] = [:]
  ) throws -> (program: ChildProgram, at: Monitored) {
    let program = try PusherCLI.start(
      ["subscribe"] + server.address + ["--retry-max-delay", "10ms"] + Self.metrics + options,
      environment: environment)
    return (program, try Monitored(program, of: server))
  }

  // MARK: Counters

  @Test func `subscribe counts events, by channel, and what the patterns keep out`() throws {
    let server = try Hooked.server(
      ("e", "a", "1"), ("e", "b", "2"), ("noise", "a", "3"), ("e", "a", "4"), ("e", "c", "5"))
    let (program, at) = try subscribe(
      server, "a", "b", "c", "-x", "noise")
    let lines = try program.lines(4)
    let samples = try at.samples(once: "pusher_cli_events_total 4")
    #expect(samples[#"pusher_cli_channel_events_total{channel="a"}"#] == 2)
    #expect(samples[#"pusher_cli_channel_events_total{channel="c"}"#] == 1)
    #expect(samples.keys.count { $0.hasPrefix("pusher_cli_channel_events_total") } == 3)
    #expect(samples["pusher_cli_filtered_events_total"] == 1)
    let written = lines.reduce(0) { $0 + $1.utf8.count + 1 }
    #expect(samples["pusher_cli_written_bytes_total"] == Double(written))
    #expect(samples[#"pusher_cli_channels{state="subscribed"}"#] == 3)
    #expect(samples[#"pusher_cli_channels{state="expected"}"#] == 0)
    #expect(samples["pusher_cli_connections_total"] == 1)
    #expect(samples[#"pusher_cli_queue_bytes{queue="output"}"#] == 0)
    #expect(samples["pusher_cli_queue_limit_bytes"] == 16_777_216)
    // The greeting and three confirmations are not events.
    #expect(samples["pusher_cli_parse_fallbacks_total"] == 4)
    #expect(samples[#"pusher_cli_build_info{command="subscribe",version="1.0.0"}"#] == 1)
    let now = Date.now.timeIntervalSince1970
    for name in ["pusher_cli_last_event", "pusher_cli_last_heard"] {
      let time = try #require(samples["\(name)_timestamp_seconds"])
      #expect(now - 300...now + 1 ~= time)
    }
    // The frames of the five events and more.
    #expect(try #require(samples["pusher_cli_received_bytes_total"]) > Double(written))
  }

  @Test func `a lost connection is counted by its reason, with the length of its gap`() throws {
    let server = try ScriptedServer { connection in
      if connection.number == 2 {
        _ = try connection.question()
        return try connection.answer(503)
      }
      try connection.join()
      try connection.send(event: "e", data: "\(connection.number)")
      if connection.number == 1 { return try connection.close(code: 4200) }
      try connection.stay()
    }
    let (program, at) = try subscribe(server, "news")
    _ = try program.lines(2)
    let samples = try at.samples(once: "pusher_cli_gaps_total 1")
    #expect(samples["pusher_cli_connections_total"] == 2)
    #expect(samples[#"pusher_cli_reconnects_total{reason="closed"}"#] == 1)
    #expect(samples[#"pusher_cli_reconnects_total{reason="http_status"}"#] == 1)
    #expect(try #require(samples["pusher_cli_gap_seconds_total"]) > 0)
  }

  @Test func `pings of both sides and messages that cannot be read are counted`() throws {
    let server = try ScriptedServer { connection in
      try connection.join(activityTimeout: 1)
      try connection.send(event: "pusher:ping", channel: nil, data: "{}")
      try connection.send(text: "not JSON")
      try connection.stay()
    }
    let (_, at) = try subscribe(server, "news")
    let samples = try at.samples(once: #"pusher_cli_pings_total{direction="sent"} 1"#)
    #expect(samples[#"pusher_cli_pings_total{direction="received"}"#] == 1)
    #expect(samples["pusher_cli_unreadable_messages_total"] == 1)
  }

  @Test func `commands of --exec are counted by how they end`() throws {
    let server = try Hooked.counting(3)
    let (_, at) = try subscribe(
      server, "news", "--exec", "case $PUSHER_CLI_SEQ in 1) ;; 2) exit 3 ;; 3) sleep 60 ;; esac",
      "--exec-timeout", "300ms")
    let name = "pusher_cli_hook_results_total"
    let samples = try at.samples(once: #"\#(name){hook="exec",result="timed_out"} 1"#)
    #expect(samples[#"\#(name){hook="exec",result="succeeded"}"#] == 1)
    #expect(samples[#"\#(name){hook="exec",result="failed"}"#] == 1)
    #expect(samples[#"\#(name){hook="exec",result="cut_off"}"#] == 0)
  }

  @Test func `the command of --on-gap is counted`() throws {
    let server = try ScriptedServer { connection in
      try connection.join()
      if connection.number > 2 { try connection.stay() }
    }
    let mark = TemporaryFolder.shared.file("mark")
    let (_, at) = try subscribe(
      server, "news", "--on-gap", "[ -e \(mark) ] || { : >\(mark); exit 3; }")
    let name = "pusher_cli_hook_results_total"
    let samples = try at.samples(once: #"\#(name){hook="on-gap",result="succeeded"} 1"#)
    #expect(samples[#"\#(name){hook="on-gap",result="failed"}"#] == 1)
  }

  @Test func `--forward counts what is delivered, tried again and given up`() throws {
    let server = try Hooked.counting(2)
    let receiver = try ForwardReceiver("reset", "500", "200", "500")
    let (_, at) = try subscribe(
      server, "news", "--forward", receiver.url, "--forward-timeout", "300ms",
      "--forward-dead", TemporaryFolder.shared.file("dead"))
    let name = "pusher_cli_forwarded_events_total"
    let samples = try at.samples(once: #"\#(name){result="given_up"} 1"#)
    #expect(samples[#"\#(name){result="delivered"}"#] == 1)
    #expect(try #require(samples[#"pusher_cli_forward_failures_total{reason="no_answer"}"#]) >= 1)
    let refused = try #require(samples[#"pusher_cli_forward_failures_total{reason="refused"}"#])
    #expect(refused >= 2)
    // Two of the first event; all attempts except one of the second, whose last attempt may have no
    // answer.
    let retries = try #require(samples["pusher_cli_forward_retries_total"])
    #expect(retries == refused || retries == refused + 1)
  }

  @Test func `sse counts the same of its stream`() throws {
    let server = try ScriptedServer { connection in
      try connection.beginStream()
      try connection.send(stream: "data: 1\n\nevent: noise\ndata: 2\n\n")
      if connection.number == 2 { try connection.remain() }
    }
    let program = try PusherCLI.start(
      ["sse", server.url, "-x", "noise", "--retry-max-delay", "10ms"] + Self.metrics)
    let at = try Monitored(program, of: server)
    let samples = try at.samples(once: "pusher_cli_events_total 2")
    #expect(samples["pusher_cli_filtered_events_total"] == 2)
    #expect(samples["pusher_cli_connections_total"] == 2)
    let reconnects = samples.filter { $0.key.hasPrefix("pusher_cli_reconnects_total") }
    #expect(reconnects.values.reduce(0, +) == 1)
    #expect(samples[#"pusher_cli_build_info{command="sse",version="1.0.0"}"#] == 1)
    #expect(samples["pusher_cli_healthy"] == 1)
  }

  @Test func `serve counts sockets, channels, events, deliveries and answers`() throws {
    let server = try LocalServer(options: Self.metrics)
    let at = try Monitored(server)
    let first = try server.subscribe(["news", "private-a"], "-L")
    let second = try server.subscribe(["news"], "-L")
    try #expect(server.trigger("news", "e", "1").ending == .exited(0))
    try #expect(server.trigger("empty", "e", "1").ending == .exited(0))
    try #expect(server.trigger("news", "e", "1", secret: "another").ending == .exited(3))
    let samples = try at.samples(once: #"pusher_cli_serve_http_answers_total{status="401"} 1"#)
    #expect(samples[#"pusher_cli_serve_open_connections{app="17"}"#] == 2)
    #expect(samples[#"pusher_cli_serve_occupied_channels{app="17"}"#] == 2)
    #expect(samples["pusher_cli_serve_connections_total"] == 2)
    #expect(samples["pusher_cli_serve_subscriptions_total"] == 3)
    #expect(samples[#"pusher_cli_serve_events_total{source="api"}"#] == 2)
    #expect(samples[#"pusher_cli_serve_deliveries_total{source="api"}"#] == 2)
    #expect(samples[#"pusher_cli_serve_http_answers_total{status="200"}"#] == 2)
    #expect(samples["pusher_cli_serve_queue_bytes"] == 0)
    for program in [first, second] { program.send(SIGTERM) }
    try at.samples(once: #"pusher_cli_serve_open_connections{app="17"} 0"#)
  }

  // MARK: Names and formats

  @Test(.needs(.program("promtool")))
  func `promtool has nothing to say about the names and texts`() throws {
    let server = try Hooked.counting(2)
    let receiver = try ForwardReceiver("200", "200")
    let hooked = try subscribe(server, "news", "--exec", ":", "--on-gap", ":").at
    let forwarding = try subscribe(try Hooked.counting(2), "news", "--forward", receiver.url).at
    let serve = try LocalServer(options: Self.metrics)
    for at in [hooked, forwarding, try Monitored(serve)] {
      let file = try TemporaryFolder.shared.file("metrics", holding: try at.ask("/metrics").body)
      let run = try PusherCLI.tool(["sh", "-c", "promtool check metrics <\(file)"])
      #expect(run.ending == .exited(0) && run.outputText + run.errorText == "", "\(run)")
    }
  }
}
