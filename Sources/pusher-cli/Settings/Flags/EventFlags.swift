internal import PusherCore

extension Flag {
  static let receiving: [Flag] = [
    .channel, .event, .excludeEvent, .whereExpression, .untilEvent, .failEvent, .failWhere, .count,
    .timeout, .idleTimeout, .onIdle, .onReady, .readyFD, .exec, .execJobs, .execTimeout, .execFail,
    .stats,
    .timestamps, .output, .format, .field, .join, .last, .null, .lifecycle, .buffer,
    .maxEvent, .until, .rewind,
    .maxMembers,
  ]

  static let channel = Flag(
    "channel", letter: "c", .text("NAME"), isRepeatable: true, of: [.subscribe], in: .receive,
    isCommon: true, summary: "subscribe to NAME, as an argument does, or to '*'",
    manual: """
      Subscribe to channel NAME. Bare arguments of `subscribe` are channels too. A NAME with `*`, `?` or `[...]` is a
      pattern: the program joins each occupied channel that matches; see --discover. May be repeated.
      """)

  static let event = Flag(
    "event", letter: "e", .text("GLOB"), isRepeatable: true, of: .printing, in: .receive,
    isCommon: true, summary: "print only events whose name matches",
    manual: """
      Print only events whose name matches GLOB. In GLOB, `*`, `?` and `[...]` have their usual meaning; `[*]`
      is the star itself. GLOB has at most 4096 bytes. A backslash is an ordinary character, alone or doubled as
      in JSON, as in `App\\Events\\*`. The dot or backslash that Laravel Echo puts in front of a complete name
      may stay. Echo's `OrderShipped`, without a dot, is a class name on the server: use `*\\OrderShipped`. May
      be repeated; one match is enough.
      """)

  static let excludeEvent = Flag(
    "exclude-event", letter: "x", .text("GLOB"), isRepeatable: true, of: .printing, in: .receive,
    summary: "leave out events whose name matches",
    manual: """
      Leave out events whose name matches GLOB, even if they match --event. May be repeated.
      """)

  static let whereExpression = Flag(
    "where", .text("EXPRESSION"), isRepeatable: true, of: .printing.union([.webhook]),
    in: .receive, isCommon: true, summary: "print only events for which EXPRESSION is true",
    manual: """
      Print only events for which EXPRESSION is true. EXPRESSION is a path into the printed JSON line, such as `data.id`
      or `data.items[0].total`. It begins with `event`, `channel`, `user_id`, `id` or `data`. A path alone is true if
      the line has such a value. After the path, EXPRESSION can have an operator and a value, as in
      `data.status == "paid"`. May be repeated; all must be true.

      The operators are `==`, `!=`, `<`, `<=`, `>`, `>=` and `~`. The value is a text in double quotes with the escapes
      of JSON, a number, `true`, `false` or `null`. Numbers are compared by value and texts by their bytes; `<` and the
      like compare only these two. `~` is true if the whole text matches a pattern as for --event, as in
      `data.name ~ "A*"`. For regular expressions, use jq(1), as in `jq --unbuffered 'select(.data.name|test("^A"))'`. A
      missing value counts as `null`, as in jq(1). A comparison with a value of another kind is false, except for `!=`, which is always the
      opposite of `==`. Of repeated members, the last one counts.

      --count, --exec, --forward and --stats ignore the other events, as those that --event leaves out. --until-event
      and --record see them.
      """)

  static let untilEvent = Flag(
    "until-event", .text("GLOB"), isRepeatable: true, of: .printing, in: .receive,
    summary: "end with 0 after the first event that matches",
    manual: """
      End with status 0 after the first event whose name matches GLOB. GLOB is a pattern as for --event. This
      event and all earlier events are printed as usual. The event ends the run even if --event or
      --exclude-event leaves it out. If the stream ends without it, the status is 5. May be repeated; one match
      is enough.
      """)

  static let failEvent = Flag(
    "fail-event", .text("GLOB"), isRepeatable: true, of: .printing, in: .receive,
    summary: "end with 5 at the first event that matches",
    manual: """
      End with status 5 at the first event whose name matches GLOB. GLOB is a pattern as for --event. The event
      is not printed and does not count. Its data goes to standard error, in one line that is cut after 4096
      bytes. It ends the run even if --event or --exclude-event leaves it out, or --until-event matches too. May
      be repeated; one match is enough.
      """)

  static let failWhere = Flag(
    "fail-where", .text("EXPRESSION"), isRepeatable: true, of: .printing.union([.webhook]),
    in: .receive, summary: "end with 5 at an event that meets it",
    manual: """
      End with status 5 at the first event for which EXPRESSION is true. EXPRESSION is as for --where, such as
      `data.error` or `data.status == "failed"`. Everything else is as with --fail-event. Servers of language
      models report a failure this way. May be repeated; one that is true is enough.
      """)

  static let count = Flag(
    "count", letter: "n", .integer(1...Int.max), of: .printing.union([.webhook]), in: .receive,
    isCommon: true, summary: "end with status 0 after N printed events",
    manual: """
      End with status 0 after N printed events. If the server ends the stream earlier, the status is 5, and a message
      says how many events came.
      """)

  static let timeout = Flag(
    "timeout", letter: "W", .duration, of: .printing.union([.webhook]), in: .receive,
    isCommon: true, summary: "end after TIME, with 124 if --count is not reached",
    manual: """
      End after TIME. The status is 124 if --count is not reached, or if the event of --until-event or --until
      did not come. Otherwise it is 0.
      """)

  static let idleTimeout = Flag(
    "idle-timeout", .duration, of: .printing, in: .receive,
    summary: "end with 124 when nothing is printed for TIME",
    manual:
      "End with status 124 when no event was printed for TIME. --on-idle runs a command instead.")

  static let onIdle = Flag(
    "on-idle", .text("CMD"), shows: .program, needs: ["idle-timeout"], of: .printing,
    in: .receive, summary: "run CMD in a silence of --idle-timeout, and go on",
    manual: """
      Run CMD with sh(1) once when no event was printed for the time of --idle-timeout, also without a
      connection. The run goes on, and the next event arms the option again. CMD reads the silence from standard
      input, as a JSON line with `from`, `to` and `seconds`. Its output goes to standard error. Silences that
      begin while CMD runs are one, which has its CMD afterwards. If CMD fails, a warning says so. The end of
      the run also ends CMD.
      """)

  static let onReady = Flag(
    "on-ready", .text("CMD"), shows: .program, of: .printing.union([.webhook]), in: .receive,
    isCommon: true, summary: "run CMD as soon as no event can be missed",
    manual: """
      Run CMD with sh(1) as soon as no event can be missed. This is when the server has confirmed all channels,
      or has answered with an event stream. `serve` and `webhook listen` then accept connections, and `webhook
      send` has handled its first list of channels. CMD runs once, reads nothing, and writes to standard error.
      If it fails, the run ends with status 7. A run that ends with status 0 waits for CMD, at most until
      --timeout; every other end ends CMD. `serve` and `webhook listen` give CMD their port in PUSHER_CLI_PORT.
      """)

  static let readyFD = Flag(
    "ready-fd", .integer(3...65_535, "FD"), of: .printing, in: .receive,
    summary: "write 'ready' to FD when no event can be missed",
    manual: """
      Write the line `ready` to the open descriptor FD, and close it. This happens when --on-ready would run its
      command. A run that ends earlier closes FD without writing.
      """)

  static let exec = Flag(
    "exec", .text("CMD"), shows: .program, excludes: ["forward"], of: .printing, in: .receive,
    isCommon: true, summary: "run CMD for each event, with its JSON on stdin",
    manual: """
      Run CMD with sh(1) for each event that would otherwise be printed. CMD reads the JSON line on standard
      input, whatever --output says. CMD inherits standard output and standard error. The variables
      PUSHER_CLI_EVENT, PUSHER_CLI_CHANNEL, PUSHER_CLI_USER_ID, PUSHER_CLI_ID, PUSHER_CLI_SEQ (the number) and
      PUSHER_CLI_RECEIVED_AT describe the event. Quote them: the sender chooses their text.

      Commands run in order, one at a time. When as many events wait as --buffer allows, the socket is not read,
      and a warning says so once. A message at the end counts the events that no command got, and status 0
      becomes 7. The guide (docs/guide.md) has more.
      """)

  static let execJobs = Flag(
    "exec-jobs", .integer(1...64), needs: ["exec"], of: .printing, in: .receive, default: "1",
    summary: "run up to N commands of --exec at once",
    manual: """
      Run up to N commands of --exec at once. The default is {default}. Events of one channel, with `sse` of one
      name, keep their order.
      """)

  static let execTimeout = Flag(
    "exec-timeout", .duration, needs: ["exec"], of: .printing, in: .receive,
    summary: "end a command of --exec after TIME",
    manual: """
      End a command of --exec after TIME, with all processes of its group: SIGTERM, and SIGKILL 2 seconds later.
      It has then failed.
      """)

  static let execFail = Flag(
    "exec-fail", .choice(["continue", "stop"], "WHAT"), needs: ["exec"], of: .printing,
    in: .receive, default: "continue",
    summary: "continue or stop after a failed command",
    manual: """
      Choose what happens when a command of --exec fails: `continue` with a warning, or `stop` the run with
      status 7. The default is `{default}`.
      """)

  static let stats = Flag(
    "stats", .duration, of: .printing, in: .voice, summary: "report counts and rates every TIME",
    manual: """
      Report the state of the run on standard error every TIME. The line has the printed events, their rate, the
      age of the last one, the reconnects, and the output that waits. --quiet does not turn it off. SIGUSR1 asks
      for one such line.
      """)

  static let timestamps = Flag(
    "timestamps", letter: "t", of: .printing.union([.webhook, .serve]), in: .print, isCommon: true,
    summary: "add received_at (local clock) as the first field",
    manual: """
      Add `received_at` as the first field: the event's time of arrival, by the local clock.
      """)

  static let output = Flag(
    "output", letter: "o", .choice(OutputFormat.allCases.map(\.rawValue), "FORMAT"),
    variables: ["PUSHER_CLI_OUTPUT"], of: .printing.union([.check, .bench]), in: .print,
    default: OutputFormat.json.rawValue, summary: "print json, pretty, or raw: only the data",
    manual: """
      Choose the format of the output. The default is `{default}`. `json` prints JSON lines. `raw` prints only
      the data, text without quotes. `pretty` is for people. `check` and `bench` print for people too unless you
      choose `json`.

      `pretty` prints local time, channel, event and data in columns, folded to the width of the terminal. Each
      channel keeps its colour. A long one is cut in the middle, and stands in full above its first line. Joins
      and leaves of a presence channel, and the lines of `--lifecycle`, are sentences. A rule across the page
      marks a gap in the connection and a new day.
      """)

  static let format = Flag(
    "format", letter: "F", .text("TEXT"),
    excludes: [
      "output",
      Exclusion(
        "timestamps",
        "--format and --timestamps exclude each other: write %t in --format instead"),
    ], of: .printing, in: .print, isCommon: true,
    summary: "print TEXT; %e is the event, %d the data; see man",
    manual: """
      Print TEXT and a newline for each event. In TEXT, `%e` is the event, `%c` the channel, `%i` the id and `%u` the
      user id. `%d` is the data, text without quotes. `%D` is the data as one field of a table: tabs, newlines and
      backslashes are escaped. `%w` is the data as received. `%t` is the time of arrival, `%T` the same by the local
      clock, and `%s` the same in seconds since 1970. `%N` is the event's number, `%j` the JSON line, and `%%` a percent
      sign. `\\t`, `\\n`, `\\0` and `\\\\` mean the same as in C.
      """)

  static let field = Flag(
    "field", .text("PATH"),
    excludes: ["output", "format", "timestamps", "lifecycle"], of: .printing, in: .print,
    summary: "print one field of the data in place of the line",
    manual: """
      Print one field of each event's data in place of the line. PATH has names with dots between them. A number
      is a place in an array, from 0: `choices.0.delta.content` and `choices[0].delta.content` mean the same.
      Text is printed without quotes and escapes, any other value as JSON. An event without the field is left
      out as by --exclude-event. A message at the end counts such events, and quotes one that is an object with
      a member `error`.
      """)

  static let join = Flag(
    "join", excludes: ["null"], needs: ["field"], of: .printing, in: .print,
    summary: "with --field, print no line end between the values",
    manual: """
      Print no line end between the values of --field. The last value gets a line end when the run ends. Each
      value is written at once. A value `null` counts as an absent field.
      """)

  static let last = Flag(
    "last", .text("PATH"), needs: ["field"], of: .printing, in: .print,
    summary: "report the last value of another field",
    manual: """
      Report at the end, on standard error, the last value of another field than --field, such as
      `usage.total_tokens`. PATH is as for --field, and `null` counts as absent. Events that a filter leaves out
      are not read, but events without --field are. --quiet does not turn it off.
      """)

  static let null = Flag(
    "null", letter: "0", of: .printing, in: .print,
    summary: "end each event with NUL instead of a newline")

  static let lifecycle = Flag(
    "lifecycle", letter: "L", of: .printing, in: .print, isCommon: true,
    summary: "print connection and subscription lines too",
    manual: "Print lines about the connection and its channels too. --count does not count them.")

  static let buffer = Flag(
    "buffer", .size(65_536...(1 << 30)), of: .printing, in: .print, default: "16M",
    summary: "queue up to SIZE for a slow reader",
    manual: """
      Queue up to SIZE for a slow reader of standard output. The default is {default}. When the queue is full, the
      socket is not read until there is room, and a warning says so once.
      """)

  static let maxEvent = Flag(
    "max-event", .size(1024...(1 << 30)), of: [.sse], in: .receive, default: "16M",
    summary: "accept events of up to SIZE",
    manual: """
      Accept events of up to SIZE from an event stream. The default is {default}. A larger event ends `sse` with
      status 5.
      """)

  static let until = Flag(
    "until", .text("TEXT"), of: [.sse], in: .receive, isCommon: true,
    summary: "end with 0 at an event whose data is TEXT",
    manual: """
      End with status 0 at an event whose data is TEXT, such as `[DONE]`. If TEXT has `*` or `?`, it is a
      pattern as for --event. The event is not printed and does not count. If the stream ends without it, the
      status is 5.
      """)

  static let maxMembers = Flag(
    "max-members", .integer(1...10_000_000), of: [.subscribe, .webhook], in: .receive,
    default: "\(PresenceLimits().members)", summary: "keep up to N members per presence channel",
    manual: """
      Keep up to N members of each presence channel. The default is {default}. Their information may take up to
      16M. Further members are reported when they join and leave, but are not in the list, and a warning says so
      once. `webhook send` does not report them.
      """)

  static let forwarding: [Flag] = [
    .forward, .forwardHeader, .forwardJobs, .forwardTimeout, .forwardDead, .tee,
  ]

  static let forward = Flag(
    "forward", .text("URL"), shows: .place, of: .printing, in: .receive, isCommon: true,
    summary: "POST each event to URL until it is accepted",
    manual: """
      Send to URL, by POST, each event that would otherwise be printed. `@FILE` reads URL from a file, which
      keeps a token in it out of the process list. The body is the JSON line, whatever --output says.
      Pusher-Event, Pusher-Channel and Idempotency-Key are fields of the request; the key is the same at every
      try of an event. --cacert, --insecure, --proxy and --connect-timeout apply to each try.

      An answer with status 2xx accepts the event. After any other the event is sent again, after a random wait
      that grows from one second to --retry-max-delay; Retry-After can ask for more, up to the same limit. So an
      event may come twice, and none is skipped.

      Events are sent in order, one at a time, on one connection. When as many events wait as --buffer allows,
      the socket is not read, and a warning says so once. Events that were not delivered at the end are counted,
      and status 0 becomes 4. The guide (docs/guide.md) has more.
      """)

  static let forwardHeader = Flag(
    "forward-header", .text("HEADER"), isRepeatable: true, shows: .field, needs: ["forward"],
    of: .printing, in: .receive, summary: "send 'NAME: VALUE', or the lines of @FILE",
    manual: """
      Send HEADER, written `name: value`, with each event of --forward. `@FILE` reads such lines from a file, which
      keeps a token out of the process list. May be repeated.
      """)

  static let forwardJobs = Flag(
    "forward-jobs", .integer(1...64), needs: ["forward"], of: .printing, in: .receive, default: "1",
    summary: "send up to N events of --forward at once",
    manual: """
      Send up to N events of --forward at once, each on its own connection. The default is {default}. Events of
      one channel, with `sse` of one name, keep their order.
      """)

  static let forwardTimeout = Flag(
    "forward-timeout", .duration, needs: ["forward"], of: .printing, in: .receive,
    summary: "give up an event of --forward after TIME",
    manual: """
      Give up an event of --forward TIME after its first try. Without this option, it is sent again until it is
      delivered.
      """)

  static let forwardDead = Flag(
    "forward-dead", .text("FILE"), needs: ["forward-timeout"], of: .printing, in: .receive,
    summary: "append undelivered events to FILE",
    manual: """
      Append the JSON line of each undelivered event to FILE. These are the events that --forward gave up, and
      those left at the end. Only its owner can read a new FILE. While FILE cannot be written, no event is given
      up. Needs --forward-timeout.
      """)

  static let tee = Flag(
    "tee", needs: ["exec", "forward"], of: .printing, in: .receive,
    summary: "print events too, with --exec or --forward",
    manual: """
      Print each event of --exec or --forward too, before its command begins or it is sent.
      """)

  static let steering: [Flag] = [
    .discover, .maxChannels, .stdin, .onGap, .onGapTimeout, .summary, .metrics,
    .outputFile, .maxFiles, .recordEvents, .sync,
  ]

  static let discover = Flag(
    "discover", .duration, of: [.subscribe], in: .receive, isCommon: true,
    default: "2s",
    summary: "look for channels of a pattern every TIME",
    manual: """
      Look for the channels of a pattern every TIME. The default is {default}. Without a channel, this option
      means `'*'`. The program lists the occupied channels through the HTTP API, with app id and secret, and
      joins those that match. Events before the join are not seen. The program leaves a channel if it can tell
      that nobody else is there. A refused channel causes a warning and is left out.
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
      `{"subscribe":"a"}` joins channel a, and `{"unsubscribe":"a"}` leaves it. An event waits until the server
      has confirmed its channel. If a line fails, a warning gives its number. The run goes on after the end of
      the input. If the server refuses a client event, the status is 3; if its rate limit drops one, 4 instead
      of 0.
      """)

  static let onGap = Flag(
    "on-gap", .text("CMD"), shows: .program, of: [.subscribe], in: .receive,
    summary: "run CMD after a reconnect and print its events",
    manual: """
      Run CMD with sh(1) once after each gap that a lost connection leaves. It reads the gap from standard
      input, as a JSON line with `from`, `to`, `seconds` and `channels`. It should print the missed events as
      JSON lines, for example from a database. These pass the filters and are printed with `"repaired":true`;
      other events go on meanwhile. Gaps that end while CMD runs are one, which has its CMD afterwards. If CMD
      fails, a warning says so. The end of the run also ends CMD.
      """)

  static let rewind = Flag(
    "rewind", .text("N|TIME"), of: [.subscribe], in: .receive,
    summary: "begin with the last N events, or those of TIME",
    manual: """
      Begin each channel with its last N events, or with the events of TIME, with sockudo (--service). A warning
      says so if the server does not have all of them. A place in --state-file comes first.
      """)

  static let onGapTimeout = Flag(
    "on-gap-timeout", .duration, needs: ["on-gap"], of: [.subscribe], in: .receive, default: "1m",
    summary: "end the command of --on-gap after TIME",
    manual: """
      End the command of --on-gap after TIME. The default is {default}. What the command printed is then
      ignored.
      """)

  static let summary = Flag(
    "summary", of: .printing, in: .voice, summary: "report events and bytes by name at the end",
    manual: """
      Report at the end how many events of each name were printed. The report on standard error also has the
      bytes of their messages, or for `sse`, of their data. --quiet does not turn it off.
      """)

  static let outputFile = Flag(
    "output-file", .text("FILE"), of: .printing, in: .print,
    summary: "append events to FILE; SIGHUP reopens it",
    manual: """
      Append the output to FILE instead of printing it. The program creates FILE if needed, for its owner alone.
      If an earlier run left its last line incomplete, the program ends that line first, with a warning. SIGHUP
      reopens FILE, for log rotation, and then does not end the run. With --exec or --forward, add --tee.

      If the name of FILE has `%c` or `%e` once, as in `events/%c.jsonl`, each channel or each event name has
      its own file. The folder must exist. Letters, digits and `-_.,=@;:` of a name stand for themselves. Other
      bytes, and a dot at the beginning, become `%` and two capital hex digits. A name that becomes longer than
      100 bytes is cut, and ends with `%x` and its SHA-256. An event without a channel goes to `%none`, and an
      empty name to `%empty`. So no name leaves the folder, and no two names share a file, if its file system
      respects case.
      """)

  static let maxFiles = Flag(
    "max-files", .integer(1...1000), needs: ["output-file"], of: .printing, in: .print,
    default: "100", summary: "with %c or %e, keep N files open",
    manual: """
      Keep at most N files of --output-file open, if it has `%c` or `%e`. The default is {default}. One run
      writes at most 100 times N different files. A warning says so once, and the events of further names go to
      `%other`.
      """)

  static let recordEvents = Flag(
    "record", .text("FILE"), of: .printing, in: .print,
    summary: "append every event to FILE, printed or not",
    manual: """
      Append every event to FILE as a JSON line with `received_at`. FILE also gets events that --event and
      --exclude-event leave out, whatever --output, --exec and --forward do. `trigger -` replays such a file.
      FILE is created and reopened as with --output-file.
      """)

  static let sync = Flag(
    "sync", .duration, needs: ["output-file"], of: .printing, in: .print,
    summary: "flush --output-file to disk within TIME",
    manual: """
      Flush the data of --output-file to disk within TIME, and at the end. Without this option the system
      decides, usually after half a minute.
      """)

  static let metrics = Flag(
    "metrics", .text("ADDRESS"), shows: .address, of: Set<Command>.printing.union([.serve]),
    in: .voice,
    summary: "serve Prometheus metrics at HOST:PORT",
    manual: """
      Serve metrics and the state of the run over HTTP at ADDRESS. ADDRESS is a host and a port, with a colon
      between them. `/metrics` returns counters in the text format of Prometheus. `/healthz` returns status 200
      and `ok` while events can arrive, else 503 and the reason. Port 0 takes a free port, and a message names
      it; the default host is 127.0.0.1. Everybody who reaches ADDRESS can read the names of channels; pages of
      other hosts are refused.
      """)
}
