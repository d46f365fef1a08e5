extension Flag {
  static let waiting: [Flag] = [
    .connectTimeout, .reconnect, .keepGoing, .maxRetries, .reconnectDelay, .sseReconnectDelay,
    .retryMaxDelay, .activityTimeout, .sseActivityTimeout, .pongTimeout,
  ]

  static let connectTimeout = Flag(
    "connect-timeout", .duration, of: .dialling, in: .patience, default: "10s",
    summary: "from look-up to the server's welcome",
    manual: """
      How long one attempt may take, from the look-up of the name to the server's welcome or answer; {default} unless
      given. For `sse` it is up to the head of the answer, redirects included; the events may take as long as they
      like. Some servers send no head before their first event, and want a longer TIME.
      """)

  static let reconnect = Flag(
    "reconnect", .choice(ReconnectMode.allCases.map(\.rawValue), "WHEN"), of: .printing,
    in: .patience, default: ReconnectMode.auto.rawValue,
    summary: "auto (first must work), always or never",
    manual: """
      With `auto` the first connection must work and later losses are retried; with `always` the first is retried too;
      with `never` a loss ends the program with status 4, and an event stream that the server ends with 0. A stream
      ends by its last chunk, its last counted byte or the closing alert of TLS; a connection that is closed without
      any of them, or in the middle of an event, is a loss. `sse` with another method than GET, or with --data, is not
      repeated unless this option says so. Refusals are never retried, except a request answered with HTTP 408, 425,
      429 or 500 to 599, which counts as a loss. The default is `{default}`.
      """)

  static let keepGoing = Flag(
    "keep-going", of: .printing, in: .patience, summary: "go on after a refusal",
    manual: """
      Go on after a refusal. A channel that is refused, at the start or after a reconnect, is warned of and left out, and
      the run ends only when none is left. A connection or an event stream that is refused is tried again like one that
      was lost, as --reconnect and --max-retries say.
      """)

  static let maxRetries = Flag(
    "max-retries", .integer(0...Int.max), of: .printing, in: .patience,
    summary: "end with 4 after N retries in a row (no limit)",
    manual: "End with status 4 after N retries in a row; there is no limit unless given.")

  static let reconnectDelay = Flag(
    "reconnect-delay", .duration, of: .joining, in: .patience, default: "1s",
    summary: "shortest wait between retries",
    manual: """
      The shortest wait of `subscribe` before a lost connection is made anew, {default} unless given, from which the longer
      waits grow; 10 ms at least. `RECONNECTING SUBSCRIBE` has the times of all attempts.
      """)

  static let sseReconnectDelay = Flag(
    "reconnect-delay", .duration, of: [.sse], in: .patience, default: "3s",
    summary: "first wait until the stream names one",
    manual: """
      How long `sse` waits before it asks for a lost stream again, {default} unless given, until the stream names a wait of
      its own by `retry:`. Further attempts without an event wait longer.
      """)

  static let retryMaxDelay = Flag(
    "retry-max-delay", .duration, of: .printing, in: .patience, default: "120s",
    summary: "longest wait between retries",
    manual: """
      The longest wait between two retries, {default} unless given. The waits grow from --reconnect-delay, or from TIME
      if that is less, and are drawn at random. If a server asks to wait longer with a Retry-After field, that is the
      wait, but never more than TIME. The first wait of `sse` is what the stream asks for by `retry:`, or three
      seconds; the waits of further attempts without an event grow from there.
      """)

  static let activityTimeout = Flag(
    "activity-timeout", .duration, of: [.subscribe], in: .patience,
    summary: "ping after this silence, if the server's is longer",
    manual: """
      Send a ping after this much silence, if the server allows more; with this option `sse` closes a silent stream
      and requests it again.
      """)

  static let sseActivityTimeout = Flag(
    "activity-timeout", .duration, of: [.sse], in: .patience,
    summary: "reconnect after this silence (never)", manual: "")

  static let pongTimeout = Flag(
    "pong-timeout", .duration, of: [.subscribe], in: .patience, default: "30s",
    summary: "how long a ping may stay unanswered",
    manual: """
      How long a ping may stay unanswered before the connection counts as lost, {default} unless given.
      """)

  static let speaking: [Flag] = [
    .quiet, .verbose, .buildFacts, .trace, .color, .help, .helpAll, .version,
  ]

  static let quiet = Flag(
    "quiet", letter: "q", of: .talking, in: .voice, cancels: "verbose", summary: "errors only")

  static let verbose = Flag(
    "verbose", letter: "v", .counter, of: .talking, in: .voice, cancels: "quiet",
    summary: "say what happens; twice: protocol frames too",
    manual: """
      Say what happens to the connection and its channels, which is the default on a terminal only. Given twice, show
      protocol frames too, without secrets and signatures.
      """)

  static let buildFacts = Flag(
    "verbose", letter: "v", .counter, of: [.version], in: .voice,
    summary: "show commit, compiler, OpenSSL and system too")

  static let trace = Flag(
    "trace", .text("FILE"), of: .dialling, in: .voice, summary: "write protocol messages to FILE",
    manual: """
      Write every protocol message to FILE with its time, without secrets and signatures; for `subscribe`, `sse`, of
      which it takes the heads of requests and answers, `trigger`, `channels`, `users`, `terminate` and `check`.
      """)

  static let color = Flag(
    "color", .choice(ColorChoice.allCases.map(\.rawValue), "WHEN"), variables: ["PUSHER_CLI_COLOR"],
    of: .talking, in: .voice, default: ColorChoice.auto.rawValue, summary: "auto, always or never",
    manual: """
      Colour the events that `subscribe` and `sse` print, and the words `error:` and `warning:` of every command's
      messages: `auto` does so where each goes to a terminal, `always`, or `never`. The default is `{default}`. Messages
      to the journal have none.
      """)

  static let help = Flag(
    "help", letter: "h", is: .action, of: .every, in: .voice, isCommon: true,
    summary: "show help and end",
    manual: "Show the help of the command and end with status 0, whatever else is given.")

  static let helpAll = Flag(
    "help-all", is: .action, of: .every, in: .voice, isCommon: true,
    summary: "show every option and end")

  static let version = Flag(
    "version", letter: "V", is: .action, of: .every, in: .voice, summary: "show the version and end"
  )
}
