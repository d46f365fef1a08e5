internal import PusherCore

extension Flag {
  static let steering: [Flag] = [
    .discover, .maxChannels, .stdin, .onGap, .onGapTimeout, .summary, .metrics, .metricsChannels,
    .outputFile, .recordEvents, .sync,
  ]

  static let discover = Flag(
    "discover", .duration, of: [.subscribe], in: .receive,
    summary: "join the occupied channels that match, every TIME",
    manual: """
      Let a channel with `*`, `?` or `[...]` in its name be a pattern, as in `--channel 'private-*' --discover 2s`: every
      TIME the HTTP API lists the occupied channels, and those that match are joined. It needs the app id and the
      secret. Events of the time before are not seen. A channel is left when nobody else is
      there any more, where the server counts subscriptions or the channel has members; otherwise it is kept. A channel
      that is refused is warned of and left out. With `-L` each shows by `pusher:subscription_succeeded` and
      `pusher-cli:left`.
      """)

  static let maxChannels = Flag(
    "max-channels", .integer(1...1_000_000), of: [.subscribe], in: .receive, default: "10000",
    summary: "with --discover, join N at most",
    manual: """
      With --discover join N channels at most, {default} unless given; a warning says so once when more match.
      """)

  static let stdin = Flag(
    "stdin", of: [.subscribe], in: .receive, isCommon: true,
    summary: "send client events (whispers): JSON lines",
    manual: """
      Read standard input and send what its JSON lines say on the connection, one line after another:
      `{"event":"client-x","channel":"private-a","data":{}}` is a client event, which Laravel calls a
      whisper, `{"subscribe":"a"}` joins a channel and `{"unsubscribe":"a"}` leaves one. An event waits until the server
      has confirmed its channel. A line that cannot be carried out is warned of with its number. The end of the input
      ends nothing. A client event that the server's rate limit drops is not sent again: a warning says so, and the run
      ends with 4 instead of 0.
      """)

  static let onGap = Flag(
    "on-gap", .text("CMD"), shows: .program, of: [.subscribe], in: .receive,
    summary: "run CMD after a reconnect; prints what it prints",
    manual: """
      Run CMD with sh(1) once after each gap that a lost connection has left, before later events are handed on. CMD
      reads the gap as a JSON line on standard input: `from`, `to`, `seconds` and `channels`. What it prints are events
      as JSON lines, such as a database or a log knows them; they pass the filters and are printed with
      `"repaired":true`. Events that come while it runs are held, up to --buffer, and printed after it; the server's pings
      are answered. If it fails, a warning says so and the run goes on. An end of the run ends it.
      """)

  static let onGapTimeout = Flag(
    "on-gap-timeout", .duration, needs: ["on-gap"], of: [.subscribe], in: .receive, default: "1m",
    summary: "end the command of --on-gap after TIME",
    manual: """
      How long the command of --on-gap may take, {default} unless given. Then it is ended, and what it has printed is
      not used.
      """)

  static let summary = Flag(
    "summary", of: .printing, in: .voice, summary: "tell events and bytes by name at the end",
    manual: """
      Tell on standard error at the end how many events of each name were printed and how many bytes their messages
      had, for `sse` their data; the names with the most bytes first. --quiet does not silence it.
      """)

  static let outputFile = Flag(
    "output-file", .text("FILE"), of: .printing, in: .print,
    summary: "add events to FILE; SIGHUP opens it anew",
    manual: """
      Add what would be printed to the end of FILE, which is made where there is none, for its owner alone. What has come
      together is one write. A line that an earlier run could not write to its end is ended first, and a warning says so.
      SIGHUP opens FILE anew, as log rotation needs it, and then does not end the run: what was printed before stands in
      the former file, no line in both. With --exec and --forward it needs --tee.
      """)

  static let recordEvents = Flag(
    "record", .text("FILE"), of: .printing, in: .print,
    summary: "add every event to FILE, printed or not",
    manual: """
      Add every event to the end of FILE as a JSON line with `received_at`, also those that --event and --exclude-event
      leave out, and whatever --output, --exec and --forward do with it. `trigger -` replays such a file. FILE is made where
      there is none, for its owner alone, and SIGHUP opens it anew, as with --output-file.
      """)

  static let sync = Flag(
    "sync", .duration, needs: ["output-file"], of: .printing, in: .print,
    summary: "with --output-file, be on disk after TIME at most",
    manual: """
      With --output-file bring what was written to the disk after TIME at most, and at the end, so that a power cut costs no
      more. Without it the system decides, which is usually half a minute.
      """)

  static let metrics = Flag(
    "metrics", .text("ADDRESS"), of: Set<Command>.printing.union([.serve]), in: .voice,
    summary: "tell Prometheus at HOST:PORT how the run is",
    manual: """
      Listen at ADDRESS, a host and a port with a colon between them, and answer two questions over HTTP: `/metrics` gives
      counters in the text format of Prometheus, `/healthz` status 200 and `ok` while events can come, else 503 and the
      reason. Port 0 takes a free one, which a message names; without a host it is 127.0.0.1. Everybody who reaches the
      address may ask, and learns the names of channels; pages of other hosts are refused.
      """)

  static let metricsChannels = Flag(
    "metrics-channels", .integer(0...10_000), needs: ["metrics"], of: [.subscribe], in: .voice,
    default: "100", summary: "with --metrics, count N channels by name",
    manual: """
      With --metrics count the events of N channels at most under their names, {default} unless given; those of all others
      stand together under `(other)`.
      """)
}
