internal import PusherCore

extension Flag {
  static let receiving: [Flag] = [
    .channel, .event, .excludeEvent, .untilEvent, .count, .timeout, .idleTimeout, .onReady,
    .readyFD, .exec, .execJobs, .execTimeout, .execFail, .stats, .timestamps, .output, .raw,
    .format, .null, .rawData, .lifecycle, .buffer, .maxEvent, .until, .maxMembers,
  ]

  static let channel = Flag(
    "channel", letter: "c", .text("NAME"), isRepeatable: true, of: [.subscribe], in: .receive,
    isCommon: true, summary: "subscribe to NAME; bare arguments are channels too",
    manual: """
      Subscribe to channel NAME. May be repeated; bare arguments are channels too, for `subscribe`.
      """)

  static let event = Flag(
    "event", letter: "e", .text("GLOB"), isRepeatable: true, of: .printing, in: .receive,
    isCommon: true, summary: "print only events whose name matches",
    manual: """
      Print only events whose name matches GLOB, in which `*`, `?` and `[...]` have their usual meaning; `[*]` is the
      star itself. A name may be written as a framework shows it. A backslash stands for itself, alone or doubled as
      in JSON, so that `App\\Events\\OrderShipped` and `App\\Events\\*` mean what they say, and the dot or backslash that
      Laravel Echo puts in front of a whole name, as in `.order.shipped`, may be there or not. What Echo calls
      `OrderShipped`, without a dot, the server calls by its class: `*\\OrderShipped`. May be repeated: one match is
      enough.
      """)

  static let excludeEvent = Flag(
    "exclude-event", letter: "x", .text("GLOB"), isRepeatable: true, of: .printing, in: .receive,
    summary: "leave out events whose name matches",
    manual: "Leave out events whose name matches GLOB. May be repeated, and wins over --event.")

  static let untilEvent = Flag(
    "until-event", .text("GLOB"), isRepeatable: true, of: .printing, in: .receive,
    summary: "end with 0 after an event whose name matches",
    manual: """
      End with status 0 after the first event whose name matches GLOB, a pattern as of --event. This event and all before
      it are printed as usual, and it ends the run also where --event and --exclude-event leave it out. With --count the
      run ends with whichever comes first; with --timeout it ends with 124 when neither came. May be repeated: one match is
      enough.
      """)

  static let count = Flag(
    "count", letter: "n", .integer(1...Int.max), of: .printing.union([.webhook]), in: .receive,
    isCommon: true, summary: "end with status 0 after N printed events")

  static let timeout = Flag(
    "timeout", letter: "W", .duration, of: .printing.union([.webhook]), in: .receive,
    isCommon: true, summary: "end after TIME; status 124 if N was not reached",
    manual: """
      End after TIME: with status 124 if --count was given and not reached, or --until-event and no such event came; else
      with 0.
      """)

  static let idleTimeout = Flag(
    "idle-timeout", .duration, of: .printing, in: .receive,
    summary: "end with 124 when nothing is printed for TIME",
    manual: "End with status 124 when no event was printed for TIME.")

  static let onReady = Flag(
    "on-ready", .text("CMD"), shows: .program, of: .printing.union([.webhook]), in: .receive,
    isCommon: true, summary: "run CMD once events are sure to come",
    manual: """
      Run CMD with sh(1) once the server has confirmed all channels, or has answered with an event stream; with
      `webhook` once webhooks are taken, and with `serve` once connections are. So events that CMD causes are not
      missed. It runs once and not again after a reconnect; it reads nothing, and prints on standard error. If it
      fails the run ends with status 7. A run that ends with status 0 waits for it, --timeout at most; every other
      end, and a signal, ends it. `serve` and `webhook` tell it their port in PUSHER_CLI_PORT.
      """)

  static let readyFD = Flag(
    "ready-fd", .integer(3...65_535, "FD"), of: .printing, in: .receive,
    summary: "write 'ready' to descriptor FD then",
    manual: """
      Write the line `ready` to the open descriptor FD once events are sure to come, as with --on-ready, and close it. So
      a script that reads the other end of a pipe knows when to go on; a run that ends before closes it without a word.
      """)

  static let exec = Flag(
    "exec", .text("CMD"), shows: .program, excludes: ["forward"], of: .printing, in: .receive,
    isCommon: true, summary: "run CMD for each event, its JSON line on stdin",
    manual: """
      Run CMD with sh(1) for each event that would be printed, in place of printing it. CMD reads the JSON line on
      standard input, whatever --output says; its standard output and error are ours. It also finds the name of the
      event in PUSHER_CLI_EVENT, the channel in PUSHER_CLI_CHANNEL, the user id in PUSHER_CLI_USER_ID, the id in
      PUSHER_CLI_ID, the number of the event in PUSHER_CLI_SEQ and when it came in PUSHER_CLI_RECEIVED_AT. What an
      event does not have is empty there, a value with a NUL is empty too, and one over 4096 bytes is cut. The data is
      only on standard input, and is never part of a command. The sender chooses the name of an event: quote the
      variables.

      Events wait for their turn, in order, one at a time. When as many wait as --buffer allows, the socket is left
      unread, and a warning says so once. A command that cannot be started because processes or descriptors are short
      is tried again. At an end by --count, --timeout or the server, the events that wait are still handed over; after
      --timeout commands have one more second. A signal is passed on to running commands, which are killed when they
      do not end within 2 seconds. What was not handed over is told at the end, and a run that would have ended with
      status 0 then ends with 7. With --state-file an event counts once its command has ended.
      """)

  static let execJobs = Flag(
    "exec-jobs", .integer(1...64), needs: ["exec"], of: .printing, in: .receive, default: "1",
    summary: "with --exec, run up to N commands at once",
    manual: """
      With --exec run up to N commands at once, {default} unless given. Events of one channel, with `sse` those of one
      name, still keep their order, and only one of them runs at a time.
      """)

  static let execTimeout = Flag(
    "exec-timeout", .duration, needs: ["exec"], of: .printing, in: .receive,
    summary: "with --exec, end a command after TIME",
    manual: """
      With --exec end a command, and all that it has started in its process group, after TIME by SIGTERM, 2 seconds
      later by SIGKILL. It has failed then.
      """)

  static let execFail = Flag(
    "exec-fail", .choice(HookSettings.FailureRule.allCases.map(\.rawValue), "WHAT"),
    needs: ["exec"], of: .printing, in: .receive,
    default: HookSettings.FailureRule.continue.rawValue,
    summary: "with --exec, what a failure does",
    manual: """
      What happens when a command of --exec fails, `{default}` unless given: `continue` warns and goes on, `stop` ends
      the run with status 7, and no further command is started.
      """)

  static let stats = Flag(
    "stats", .duration, of: .printing, in: .voice, summary: "tell counts and rates this often",
    manual: """
      Tell on standard error every TIME how many events were printed, how many a second since the last line, how long
      ago the last one came, how often the connection was made anew, and how much waits for the reader. --quiet does not
      silence it. SIGUSR1 asks for such a line once.
      """)

  static let timestamps = Flag(
    "timestamps", letter: "t", of: .printing.union([.webhook, .serve]), in: .print, isCommon: true,
    summary: "add received_at, our clock, as the first field",
    manual: "Put `received_at` first: when the event came, by the local clock.")

  static let output = Flag(
    "output", letter: "o", .choice(OutputFormat.allCases.map(\.rawValue), "FORMAT"),
    variables: ["PUSHER_CLI_OUTPUT"], of: .printing.union([.check]), in: .print,
    default: OutputFormat.json.rawValue, summary: "json, pretty, or raw: the data only",
    manual: """
      `json` prints JSON lines, and `raw` the data alone, text without quotes; `{default}` unless given. `pretty` is for
      people: time by the local clock, channel, event and data in columns, folded to the width of the terminal. Text
      stands as text, control characters are shown, a channel keeps its colour, and one that is longer than its column
      is cut in the middle and stands in full above its first line. Who joins and leaves a presence channel, by
      `user_info.name` and id, and what `--lifecycle` adds are sentences; a gap in the connection is a rule across the
      page, with and without `--lifecycle`, and so is a new day. `check` prints for people unless this asks it for `json`.
      """)

  static let raw = Flag(
    "raw", letter: "r", of: .printing, in: .print, isCommon: true,
    standsFor: ("output", OutputFormat.raw.rawValue), summary: "print the data alone, as -o raw",
    manual: "The same as `--output raw`.")

  static let format = Flag(
    "format", letter: "F", .text("TEXT"),
    excludes: [
      "output",
      Exclusion(
        "timestamps",
        "--format says itself where the time stands: write %t, and leave out --timestamps"),
    ], of: .printing, in: .print, summary: "print TEXT; %e is the event, %d the data; see man",
    manual: """
      Print TEXT for each event, in which `%e` is the event, `%c` the channel, `%i` the id, `%u` the user id, `%d` the
      data, text without quotes, `%D` the same as one field of a table, with tabulators, newlines and backslashes
      escaped, `%w` the data as it was on the wire, `%t` when it came, `%T` the same by the local clock, `%s` in seconds
      since 1970, `%N` its number, `%j` the JSON line, `%%` a percent sign, and `\\t`, `\\n`, `\\0` and `\\\\` what they
      are in C. A newline follows.
      """)

  static let null = Flag(
    "null", letter: "0", of: .printing, in: .print,
    summary: "end each event with NUL instead of a newline")

  static let rawData = Flag(
    "raw-data", of: .printing, in: .print, summary: "leave data the string it was on the wire",
    manual: "Leave `data` the string it was on the wire.")

  static let lifecycle = Flag(
    "lifecycle", letter: "L", of: .printing, in: .print,
    summary: "print connection and subscription lines too",
    manual: """
      Print what happens to the connection and its channels as lines too. They do not count for --count.
      """)

  static let buffer = Flag(
    "buffer", .size(65_536...(1 << 30)), of: .printing, in: .print, default: "16M",
    summary: "queue for a slow reader",
    manual: """
      How much may wait for a slow reader of standard output, {default} unless given. When it is full the socket is
      left unread, and a warning says so once.
      """)

  static let maxEvent = Flag(
    "max-event", .size(1024...(1 << 30)), of: [.sse], in: .receive, default: "16M",
    summary: "largest event that is taken",
    manual: """
      The largest event that `sse` takes, {default} unless given; a larger one ends the program with status 5.
      """)

  static let until = Flag(
    "until", .text("TEXT"), of: [.sse], in: .receive, isCommon: true,
    summary: "end with 0 at an event with this data",
    manual: """
      End with status 0 when an event comes whose data is TEXT, such as `[DONE]`; with `*` or `?` in it TEXT is a pattern as
      of --event. That event is not printed and does not count.
      """)

  static let maxMembers = Flag(
    "max-members", .integer(1...10_000_000), of: [.subscribe], in: .receive,
    default: "\(PresenceLimits().members)", summary: "members kept of each presence channel",
    manual: """
      How many members of each presence channel `subscribe` keeps, {default} unless given, and up to 16M of their
      information. Further members are reported when they come and go, but are not in the list, and a warning says so
      once.
      """)
}
