internal import PusherCore

extension Flag {
  static let requesting: [Flag] = [
    .header, .headerCommand, .method, .data, .lastEventID, .stateFile, .acceptJSON,
    .lines, .cookies, .sessionHeader, .showHeaders,
  ]

  static let header = Flag(
    "header", letter: "H", .text("HEADER"), isRepeatable: true, shows: .field, of: .dialling,
    in: .request, isCommonOf: .dialling.subtracting([.subscribe]),
    summary: "send 'NAME: VALUE', or the lines of @FILE",
    manual: """
      Send the field `name: value`, or the fields of `@FILE`. The file has one field per line. The fields go
      with the upgrade of `subscribe`, the request of `sse`, and every call of the HTTP API. May be repeated.
      Authorization, Cookie, Proxy-Authorization and Host do not follow a redirect to another server. Each
      connection reads the file again, so you can replace a token, and a pipe once. If the file loses all
      fields, the earlier ones stay, and a warning says so. For `sse`, Last-Event-ID counts only at the start,
      like --last-event-id.
      """)

  static let headerCommand = Flag(
    "header-command", .text("CMD"), shows: .program, of: .printing, in: .request,
    summary: "send the header fields that CMD prints",
    manual: """
      Run CMD with sh(1) before each connection, and send the fields that it prints. Each line is one `name:
      value`, for example a token that expires, and replaces fields of that name from --header. A status other
      than 0 is a failed connection attempt. --connect-timeout limits CMD.
      """)

  static let cookies = Flag(
    "cookies", of: [.sse], in: .request, summary: "send back the cookies that the server sets",
    manual: """
      Keep the cookies that answers set, and send them with later requests. Each cookie goes only where it
      belongs, and none outlives the run.
      """)

  static let sessionHeader = Flag(
    "session-header", .text("NAME"), of: [.sse], in: .request,
    summary: "send back the field NAME of an answer",
    manual: """
      Send the value of the field NAME, which an answer of the server has, with each later request to the same scheme,
      host and port. Servers of MCP (Streamable HTTP) name a session in Mcp-Session-Id, and -v shows it.

      Such a server may begin the answer to a POST with an event that has an id and no data. With this option and --count,
      --until or --until-event, the event is not printed. If the answer then ends early, the run asks for the rest by
      GET with Last-Event-ID, as --reconnect sets.
      """)

  static let showHeaders = Flag(
    "show-headers", letter: "i", of: [.sse], in: .voice,
    summary: "show status and fields of each answer",
    manual: """
      Show status and fields of each answer on standard error, also of redirects and refusals. --quiet does not turn it
      off. Values of Set-Cookie are left out.
      """)

  static let method = Flag(
    "method", letter: "X", .text("METHOD"), of: [.sse], in: .request,
    summary: "use this method (GET, or POST with --data)")

  static let data = Flag(
    "data", letter: "d", .text("DATA"), allowsEmpty: true, shows: .nothing, of: [.sse],
    in: .request, isCommon: true, summary: "send DATA, @FILE, or @- for standard input",
    manual: """
      Send DATA as the body of the request. `@FILE` sends the content of a file, and `@-` sends standard input. The
      Content-Type is JSON if DATA is JSON, else a form, unless --header names it.
      """)

  static let lastEventID = Flag(
    "last-event-id", .text("ID"), of: [.sse], in: .request, isCommon: true,
    summary: "start after the event with this id")

  static let stateFile = Flag(
    "state-file", .text("FILE"), of: .printing, in: .request, isCommonOf: [.sse],
    summary: "save the last event's id in FILE, and resume there",
    manual: """
      Save the last event's id in FILE, and start after the id that FILE holds. --last-event-id overrides the id
      in FILE. An event counts as printed once the system has taken every byte of it. The program saves the id
      within a second, and at each end of the run. If a run is killed, the next run may print the events of its
      last second again, and loses none. With --exec or --forward, an event counts when its command has ended or
      it is delivered. FILE belongs to one URL, where only the query may change, and to one run at a time. FILE
      must be a regular file, or not exist yet. It is replaced as a whole, with mode 0600. The guide
      (docs/guide.md) has more. With sockudo (--service), `subscribe` keeps the place in each channel of
      one app in the same way.
      """)

  static let acceptJSON = Flag(
    "accept-json", excludes: ["lines"], of: [.sse], in: .request,
    summary: "accept an answer of application/json as one event",
    manual: """
      Accept an answer of application/json too, and print its body as one event. Servers of MCP (Streamable
      HTTP) answer with either. --max-event limits the body. After the answer, the run goes on as after the end
      of a stream: a request with --data ends with status 0.
      """)

  static let lines = Flag(
    "lines",
    excludes: [
      Exclusion(
        "state-file", "--state-file keeps the ids of events, and --lines reads none; give one")
    ], of: [.sse], in: .request, summary: "read each line of the answer as an event",
    manual: """
      Read each line of the answer as an event, whatever its Content-Type is. The data of the event is the line,
      and its name is `message`. Lines of application/x-ndjson, application/jsonl and application/json-seq (RFC
      7464) are read without this option. --max-event limits a line.
      """)

  static let sending: [Flag] = [
    .triggerChannel, .triggerEvent, .triggerData, .triggerSocketID, .triggerInfo, .batch, .rate,
    .speed, .dryRun, .publish,
  ]

  static let triggerChannel = Flag(
    "channel", letter: "c", .text("NAME"), isRepeatable: true, of: [.trigger], in: .send,
    isCommon: true, summary: "send to channel NAME",
    manual: """
      Send to channel NAME. `#server-to-user-ID` means all connections of a user. May be repeated.
      """)

  static let triggerEvent = Flag(
    "event", letter: "e", .text("NAME"), of: [.trigger], in: .send, isCommon: true,
    summary: "set the name of the event")

  static let triggerData = Flag(
    "data", letter: "d", .text("DATA"), allowsEmpty: true, shows: .nothing, of: [.trigger],
    in: .send, isCommon: true, summary: "send this data, @FILE, or @- for standard input",
    manual: """
      Send DATA with the event. An argument may give the data instead. In both places `@FILE` reads a file, and `@-`
      reads standard input, without the last newline.
      """)

  static let triggerSocketID = Flag(
    "socket-id", .text("ID"), of: [.trigger], in: .send, isCommon: true,
    summary: "do not send to this connection")

  static let triggerInfo = Flag(
    "info", .text("WORDS"), offers: ["user_count", "subscription_count"], isRepeatable: true,
    of: [.trigger], in: .send, summary: "print user_count, subscription_count too",
    manual: """
      Print `user_count` and `subscription_count` of the channels as JSON. Repeat the option, or put a comma between
      the words.
      """)

  static let batch = Flag(
    "batch", .integer(1...1000), of: [.trigger], in: .send,
    default: "\(APIRequest.documentedBatch)", summary: "send at most N events per call, with -",
    manual: """
      Send at most N events per call, with `-`. The default is {default}, which is the limit of Pusher Channels. Events
      that are ready go at once, however few.
      """)

  static let rate = Flag(
    "rate", .text("N"), excludes: ["speed"], of: [.trigger], in: .send,
    summary: "send at most N events per second, with -",
    manual: "Send at most N events per second, such as `50` or `0.5`, with `-`.")

  static let speed = Flag(
    "speed", .text("FACTOR"), of: [.trigger], in: .send, isCommon: true,
    summary: "replay at FACTOR times the pace of received_at",
    manual: """
      Send the lines of standard input at their recorded pace, times FACTOR. The pace comes from `received_at`, as
      `subscribe -t` prints it. A FACTOR of 1 keeps the pace, and `10` or `10x` is ten times as fast. A line without `received_at`
      follows the line before it at once.
      """)

  static let dryRun = Flag(
    "dry-run", of: [.trigger], in: .send, summary: "show the signed request and send nothing")

  static let publish = Flag(
    "publish", of: [.check], in: .send, isCommon: true,
    summary: "send an event through the API and wait for it",
    manual: """
      Publish an event `pusher-cli-check` through the HTTP API and wait for it on each channel of the arguments,
      whose other subscribers get it too, or on a channel of its own. If it does not come within the time of
      --connect-timeout, the stage `round trip` fails, and says what to look at in the app.
      """)

  static let asking: [Flag] = [
    .prefix, .info, .socketID, .signUserID, .signUserInfo, .signData, .signature, .timestamp,
  ]

  static let prefix = Flag(
    "prefix", .text("TEXT"), of: [.channels], in: .ask, isCommon: true,
    summary: "list only channels whose names begin with TEXT")

  static let info = Flag(
    "info", .text("WORDS"), offers: ["user_count", "subscription_count", "cache"],
    isRepeatable: true, of: [.channels], in: .ask, isCommon: true,
    summary: "print user_count, subscription_count, cache too",
    manual: """
      Print `user_count` (of presence channels), `subscription_count` and, for one channel, `cache` too.
      """)

  static let socketID = Flag(
    "socket-id", .text("ID"), of: .signing, in: .ask, isCommon: true,
    summary: "set the socket id of the connection")

  static let signUserID = Flag(
    "user-id", .text("ID"), of: .signing, in: .ask, isCommon: true,
    summary: "set the presence member, or the user who signs in",
    manual: "Set the member of a presence channel, or the user who signs in.")

  static let signUserInfo = Flag(
    "user-info", .text("JSON"), shows: .nothing, needs: ["user-id"], of: .signing, in: .ask,
    summary: "set the member's information; @FILE reads a file",
    manual: "Set the member's information, which other members see. `@FILE` reads a file.")

  static let signData = Flag(
    "data", letter: "d", .text("BODY"), allowsEmpty: true, shows: .nothing, of: [.sign, .verify],
    in: .ask, isCommon: true, summary: "use this body, @FILE, or @- for standard input",
    manual: """
      Use BODY as the body of the request or webhook, byte for byte. `@FILE` reads a file, and `@-` reads standard
      input.
      """)

  static let signature = Flag(
    "signature", .text("HEX"), shows: .nothing, of: [.verify], in: .ask, isCommon: true,
    summary: "compare with this signature",
    manual: "Compare with the signature HEX, for `verify`. A request carries its own signature.")

  static let timestamp = Flag(
    "timestamp", .integer(0...Int.max, "SECONDS"), of: [.sign], in: .ask,
    summary: "sign a request for this time since 1970",
    manual: "Sign a request for this time since 1970 instead of now.")

  static let loading: [Flag] = [
    .benchChannel, .subscribers, .channelCount, .benchRate, .benchBatch, .dataSize, .benchTime,
    .ramp, .connectionsPerSecond, .failCondition, .find, .compare, .histogram, .csv,
    .svg, .yes,
  ]

  static let benchChannel = Flag(
    "channel", letter: "c", .text("NAME"), of: [.bench], in: .load, isCommon: true,
    summary: "use the channels NAME-1, NAME-2 and so on",
    manual: """
      Use the channels NAME-1, NAME-2 and so on. The prefix of NAME decides on the kind, such as `private-load` or
      `private-encrypted-load`. The default is `bench`, `private-bench` for `client`, and `presence-bench` for
      `presence`.
      """)

  static let subscribers = Flag(
    "subscribers", .integer(1...BenchLoad.subscriberLimit), of: [.bench], in: .load,
    isCommon: true, default: "100",
    summary: "connect N subscribers",
    manual: """
      Connect N subscribers, each with a socket and one channel. The default is {default}. Each socket takes a
      file descriptor and a local port; if the system has too few, a message names the setting that helps.
      """)

  static let channelCount = Flag(
    "channels", .integer(1...10_000), of: [.bench], in: .load, isCommon: true, default: "1",
    summary: "spread the subscribers over N channels",
    manual: "Spread the subscribers evenly over N channels. The default is {default}.")

  static let benchRate = Flag(
    "rate", .text("N"), of: [.bench], in: .load, isCommon: true, default: "100",
    summary: "send N events per second, on all channels",
    manual: """
      Send N events per second to all channels together. The default is {default}. In the mode `presence`, every join
      and every leave is an event.
      """)

  static let benchBatch = Flag(
    "batch", .integer(1...1000), of: [.bench], in: .load, default: "1",
    summary: "send N events of one channel per call",
    manual: """
      Send N events of one channel per call of the HTTP API, in the mode `fanout`. The default is {default}. Pusher
      Channels takes at most 10.
      """)

  static let dataSize = Flag(
    "size", .integer(80...1_000_000, "BYTES"), of: [.bench], in: .load, isCommon: true,
    default: "200", summary: "make the data of an event BYTES long",
    manual: """
      Make the data of each event BYTES long. The default is {default}. The data is a JSON object with the number of
      the event, its intended time, and a known text.
      """)

  static let benchTime = Flag(
    "time", .duration, of: [.bench], in: .load, isCommon: true, default: "10s",
    summary: "send events for TIME",
    manual: "Send events for TIME. The default is {default}.")

  static let ramp = Flag(
    "ramp", .duration, of: [.bench], in: .load,
    summary: "add the subscribers, then the rate, over TIME",
    manual: """
      Open the sockets of the subscribers evenly over TIME. Then let the rate of events grow evenly from zero
      over the first TIME. --connections-per-second overrides the pace of the sockets.
      """)

  static let connectionsPerSecond = Flag(
    "connections-per-second", .integer(1...100_000, "N"), of: [.bench], in: .load, isCommon: true,
    default: "500", summary: "open N sockets per second",
    manual: "Open N sockets per second. The default is {default}.")

  static let failCondition = Flag(
    "fail", .text("CONDITION"), isRepeatable: true, of: [.bench], in: .load, isCommon: true,
    summary: "end with 8 if CONDITION holds, such as 'lost>0'",
    manual: """
      End with status 8 if CONDITION holds at the end. CONDITION is a figure, an operator and a value, such as
      `lost>0` or `p99>200ms`. The figures are those of `--output json`, with or without `_ms`; a figure that
      was not measured fails. The operators are `>`, `>=`, `<`, `<=`, `==` and `!=`. May be repeated; one is
      enough. A run that did not make its whole load ends with the status of the cause, 3, 4 or 5.
      """)

  static let find = Flag(
    "find", .text("CONDITION"), excludes: ["compare"], of: [.bench], in: .load,
    summary: "find the most subscribers that keep CONDITION",
    manual: """
      Find the most subscribers for which CONDITION holds, such as `p99<50ms` or `lost==0`. Begin with --subscribers,
      and repeat the run with twice as many until CONDITION fails. If the first run fails, halve until one holds. Then
      halve the distance between both until it is 10 %. At most 20 runs begin, and none after an hour. Print the last
      run that held. A run that does not make its whole load has failed. The status is 0 if a run held, and 8 if none
      did. The figures and operators are those of --fail.
      """)

  static let compare = Flag(
    "compare", .text("FILE"), of: [.bench], in: .load,
    summary: "compare with the JSON of an earlier run",
    manual: """
      Compare with an earlier run, whose output with `--output json` is in FILE. The table shows the eight main figures
      with their change, and every figure with --verbose. The JSON gets the member `compared`. If both runs had
      different loads, a warning names the difference.
      """)

  static let histogram = Flag(
    "histogram", .text("FILE"), of: [.bench], in: .load,
    summary: "write the distribution of the delays to FILE",
    manual: """
      Write the distribution of the delays to FILE, in milliseconds. The format is that of HdrHistogram's
      percentile tables.
      """)

  static let csv = Flag(
    "csv", .text("FILE"), of: [.bench], in: .load, summary: "write a row for each second to FILE",
    manual: """
      Write a row for each second to FILE, as CSV with a heading. Events and losses count when they were meant
      to be sent, deliveries and delays when they came.
      """)

  static let svg = Flag(
    "svg", .text("FILE"), of: [.bench], in: .load,
    summary: "draw the delays over the time to FILE",
    manual: """
      Draw the delays over the time to FILE, as a self-contained SVG image for light and dark pages. Lines show
      the p50, the p99 and the longest delay of each second, on a logarithmic axis, and marks show the seconds
      with lost events. After 1,000 seconds, a point shows the worst of several.
      """)

  static let yes = Flag(
    "yes", of: [.bench], in: .load,
    summary: "load a server that is not on this machine",
    manual: """
      Load a server that is not on this machine without asking. Without this option, the program asks on the terminal,
      and says how many messages it will cause. Without a terminal, it ends with status 2.
      """)

  static let benchCompression = Flag(
    "compression", of: [.bench], in: .connection, summary: "offer permessage-deflate", manual: "")
}
