internal import PusherCore

extension Flag {
  static let steering: [Flag] = [
    .discover, .maxChannels, .stdin, .onGap, .onGapTimeout, .summary, .metrics,
    .outputFile, .recordEvents, .sync,
  ]

  static let discover = Flag(
    "discover", .duration, of: [.subscribe], in: .receive, default: "2s",
    summary: "look for channels of a pattern every TIME",
    manual: """
      Look for the channels of a pattern every TIME. The default is {default}. A pattern is a channel with `*`, `?` or
      `[...]`, as in `subscribe 'private-*'`, and `'*'` is every channel. Without a channel, this option means `'*'`.
      The program lists the occupied channels through the HTTP API, and joins those that match. This needs the app id
      and the secret. Events before the join are not seen. The program leaves a channel if nobody else is there. It can tell only if the server counts subscriptions or the
      channel has members; otherwise the program stays. A refused channel causes a warning and is left out. With `-L`,
      `pusher:subscription_succeeded` and `pusher-cli:left` report each channel.
      """)

  static let maxChannels = Flag(
    "max-channels", .integer(1...1_000_000), of: [.subscribe], in: .receive, default: "10000",
    summary: "join at most N channels of patterns",
    manual: """
      Join at most N channels of patterns. The default is {default}. If more channels match, one warning says so.
      """)

  static let stdin = Flag(
    "stdin", of: [.subscribe], in: .receive, isCommon: true,
    summary: "send JSON lines as client events (whispers)",
    manual: """
      Read JSON lines from standard input, and send them on the connection in order.
      `{"event":"client-x","channel":"private-a","data":{}}` is a client event, which Laravel calls a whisper.
      `{"subscribe":"a"}` joins channel a, and `{"unsubscribe":"a"}` leaves it. An event waits until the server has
      confirmed its channel. If a line fails, a warning gives its number. The run continues after the end of the input.
      If the server's rate limit drops a client event, the program does not send it again. A warning says so, and the
      run ends with status 4 instead of 0. If the server refuses a client event, the run ends with status 3.
      """)

  static let onGap = Flag(
    "on-gap", .text("CMD"), shows: .program, of: [.subscribe], in: .receive,
    summary: "run CMD after a reconnect and print its events",
    manual: """
      Run CMD with sh(1) once after each gap that a lost connection leaves. It reads the gap from standard input, as a
      JSON line with `from`, `to`, `seconds` and `channels`. It should print the missed events as JSON lines, for
      example from a database or a log. These events pass the filters and are printed with `"repaired":true`. Other
      events go on meanwhile, so put an id or a time into the data if their order matters. Gaps that end while CMD runs
      are one gap, which has its CMD afterwards. If CMD fails, a warning says so, and the run continues. The end of the
      run also ends CMD.
      """)

  static let onGapTimeout = Flag(
    "on-gap-timeout", .duration, needs: ["on-gap"], of: [.subscribe], in: .receive, default: "1m",
    summary: "end the command of --on-gap after TIME",
    manual: """
      End the command of --on-gap after TIME. The default is {default}. The program then ignores what the command has
      printed.
      """)

  static let summary = Flag(
    "summary", of: .printing, in: .voice, summary: "report events and bytes by name at the end",
    manual: """
      Report at the end how many events of each name were printed. The report on standard error also says how many
      bytes their messages had, or for `sse`, their data. Names with the most bytes come first. --quiet does not turn
      it off.
      """)

  static let outputFile = Flag(
    "output-file", .text("FILE"), of: .printing, in: .print,
    summary: "append events to FILE; SIGHUP reopens it",
    manual: """
      Append the output to FILE instead of printing it. The program creates FILE if needed, for its owner alone. Lines
      that are ready together are one write. If an earlier run left its last line incomplete, the program ends that
      line first, with a warning. SIGHUP reopens FILE, for log rotation, and then does not end the run. Earlier lines
      are in the old file, and no line is in both. With --exec or --forward, add --tee.
      """)

  static let recordEvents = Flag(
    "record", .text("FILE"), of: .printing, in: .print,
    summary: "append every event to FILE, printed or not",
    manual: """
      Append every event to FILE as a JSON line with `received_at`. FILE also gets events that --event and
      --exclude-event leave out, whatever --output, --exec and --forward do. `trigger -` replays such a file. The
      program creates FILE if needed, for its owner alone. SIGHUP reopens FILE, as with --output-file.
      """)

  static let sync = Flag(
    "sync", .duration, needs: ["output-file"], of: .printing, in: .print,
    summary: "flush --output-file to disk within TIME",
    manual: """
      Flush the data of --output-file to disk within TIME, and at the end. A power cut then loses no more than that.
      Without this option the system decides, usually after half a minute.
      """)

  static let metrics = Flag(
    "metrics", .text("ADDRESS"), of: Set<Command>.printing.union([.serve]), in: .voice,
    summary: "serve Prometheus metrics at HOST:PORT",
    manual: """
      Serve metrics and the state of the run over HTTP at ADDRESS. ADDRESS is a host and a port, with a colon between
      them. `/metrics` returns counters in the text format of Prometheus. `/healthz` returns status 200 and `ok` while
      events can arrive, else 503 and the reason. Port 0 takes a free port, and a message names it. Without a host, the
      program listens at 127.0.0.1. Everybody who reaches ADDRESS can read the answers, and so the names of channels.
      Pages of other hosts are refused.
      """)
}
