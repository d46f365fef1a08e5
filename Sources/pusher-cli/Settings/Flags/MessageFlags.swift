extension Flag {
  static let waiting: [Flag] = [
    .connectTimeout, .reconnect, .retryPost, .keepGoing, .maxRetries, .reconnectDelay,
    .sseReconnectDelay, .retryMaxDelay, .activityTimeout, .sseActivityTimeout, .pongTimeout,
  ]

  static let connectTimeout = Flag(
    "connect-timeout", .duration, of: .dialling, in: .patience, default: "10s",
    summary: "limit each attempt, from look-up to welcome",
    manual: """
      Limit each attempt to TIME, from the name look-up to the server's welcome or answer. The default is {default}. For
      `sse` the attempt ends with the head of the answer, redirects included; the events have no limit. Some servers
      send the head only with the first event, and need a longer TIME.
      """)

  static let reconnect = Flag(
    "reconnect", .choice(ReconnectMode.allCases.map(\.rawValue), "WHEN"),
    of: .printing.union([.webhook]), in: .patience, default: ReconnectMode.auto.rawValue,
    summary: "auto (first must work), always or never",
    manual: """
      Choose when to reconnect. The default is `{default}`. With `auto`, the first connection must succeed, and later
      losses are retried. With `always`, the first connection is retried too. With `never`, a lost connection ends the
      program with status 4. An event stream that the server ends then ends the program with status 0. The server ends a
      stream by its last chunk, its last counted byte or the closing alert of TLS. A connection that closes without any
      of these, or in the middle of an event, is lost. `sse` repeats a request with --data, or with another method than
      GET, only if you give this option. Only --keep-going retries refusals. HTTP 408, 425, 429 and 500 to 599, except
      501 and 505, are losses and no refusals.
      """)

  static let retryPost = Flag(
    "retry-post", of: [.sse], in: .patience,
    summary: "repeat a POST after 429 or 503 with Retry-After",
    manual: """
      Send a request again if the server asks for that before its first event. The server asks by HTTP 429 or 503 with
      Retry-After. It has then done nothing with the request. The option is for a request with --data, or with another
      method than GET. --max-retries limits the number of retries. --reconnect-delay and --retry-max-delay limit the
      waits. Any other failure ends the run as before. A stream that has begun is not requested again, unless
      --reconnect says so.
      """)

  static let keepGoing = Flag(
    "keep-going", of: .printing, in: .patience, summary: "continue after a refusal",
    manual: """
      Continue after a refusal. The program warns about a refused channel and goes on without it. The run ends only when
      no channel is left. A refused connection or event stream is retried like a lost one, as --reconnect and
      --max-retries say.
      """)

  static let maxRetries = Flag(
    "max-retries", .integer(0...Int.max), of: .printing, in: .patience,
    summary: "end with 4 after N retries in a row (no limit)",
    manual: "End with status 4 after N retries in a row. Without this option there is no limit.")

  static let reconnectDelay = Flag(
    "reconnect-delay", .duration, of: [.subscribe, .bench], in: .patience, default: "1s",
    summary: "wait at least TIME between retries",
    manual: """
      Set the shortest wait of `subscribe` and `bench` between retries. The default is {default}, and the minimum 10 ms. Longer
      waits grow from TIME. `RECONNECTING SUBSCRIBE` has the times of all attempts.
      """)

  static let sseReconnectDelay = Flag(
    "reconnect-delay", .duration, of: [.sse], in: .patience, default: "3s",
    summary: "wait TIME first, unless the stream sets retry",
    manual: """
      Wait TIME before `sse` requests a lost stream again. The default is {default}. The stream can set another wait by
      `retry:`. Further attempts without an event wait longer.
      """)

  static let retryMaxDelay = Flag(
    "retry-max-delay", .duration, of: .printing, in: .patience, default: "120s",
    summary: "wait at most TIME between retries",
    manual: """
      Wait at most TIME between two retries. The default is {default}. The waits are random. They grow from
      --reconnect-delay, or from TIME if that is less. If a server asks for a longer wait by Retry-After, the wait is
      that long, but never more than TIME. The first wait of `sse` is the wait that the stream sets by `retry:`, or
      three seconds. The waits of further attempts without an event grow from there.
      """)

  static let activityTimeout = Flag(
    "activity-timeout", .duration, of: [.subscribe], in: .patience,
    summary: "ping after TIME of silence; server may set less",
    manual: """
      Send a ping of `subscribe` after TIME of silence, if the server allows a longer silence.
      """)

  static let sseActivityTimeout = Flag(
    "activity-timeout", .duration, of: [.sse], in: .patience, default: "5m",
    summary: "reconnect after TIME of silence; not with -d",
    manual: """
      Let `sse` close a stream that is silent for TIME, and request it again. The default is {default}, and no limit for
      a request with --data. Every byte counts, also a comment. Give a longer TIME for a server that sends no comments
      while it has no events. With `--reconnect never`, the silence ends the program with status 4.
      """)

  static let pongTimeout = Flag(
    "pong-timeout", .duration, of: [.subscribe], in: .patience, default: "30s",
    summary: "wait TIME for the answer to a ping",
    manual: """
      Wait TIME for the answer to a ping. Then the connection counts as lost. The default is {default}.
      """)

  static let speaking: [Flag] = [
    .quiet, .verbose, .buildFacts, .trace, .color, .help, .helpAll, .version,
  ]

  static let quiet = Flag(
    "quiet", letter: "q", of: .talking, in: .voice, cancels: "verbose", summary: "show only errors")

  static let verbose = Flag(
    "verbose", letter: "v", .counter, of: .talking, in: .voice, cancels: "quiet",
    summary: "show what happens; twice: also protocol frames",
    manual: """
      Show what happens to the connection and its channels. This is the default only on a terminal. Given twice, the
      option shows protocol frames too, without secrets and signatures.
      """)

  static let buildFacts = Flag(
    "verbose", letter: "v", .counter, of: [.version], in: .voice,
    summary: "show commit, compiler, OpenSSL and system too")

  static let trace = Flag(
    "trace", .text("FILE"), of: .dialling, in: .voice, summary: "write protocol messages to FILE",
    manual: """
      Write every protocol message to FILE with its time, without secrets and signatures. The option works with
      `subscribe`, `sse`, `trigger`, `channels`, `users`, `terminate`, `check`, `bench` and `webhook send`. Of `sse`,
      FILE gets only the heads of requests and answers.
      """)

  static let color = Flag(
    "color", .choice(ColorChoice.allCases.map(\.rawValue), "WHEN"), variables: ["PUSHER_CLI_COLOR"],
    of: .talking, in: .voice, default: ColorChoice.auto.rawValue,
    summary: "colour the output: auto, always or never",
    manual: """
      Choose when to use colour: `auto`, `always` or `never`. The default is `{default}`. Colour marks the events of
      `subscribe` and `sse`, and the words `error:` and `warning:` in the messages of every command. `auto` uses it
      where each of these goes to a terminal. Messages to the journal have no colour.
      """)

  static let help = Flag(
    "help", letter: "h", is: .action, of: .every, in: .voice, isCommon: true,
    summary: "show help and exit",
    manual: "Show the help of the command and exit with status 0, whatever else is given.")

  static let helpAll = Flag(
    "help-all", is: .action, of: .every, in: .voice, isCommon: true,
    summary: "show every option and exit")

  static let version = Flag(
    "version", letter: "V", is: .action, of: .every, in: .voice,
    summary: "show the version and exit")
}
