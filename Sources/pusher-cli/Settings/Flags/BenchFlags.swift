extension Flag {
  static let loading: [Flag] = [
    .benchChannel, .subscribers, .channelCount, .benchRate, .benchBatch, .dataSize, .benchTime,
    .ramp, .connectionsPerSecond, .failCondition, .compare, .histogram, .csv, .svg,
    .yes,
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
    "subscribers", .integer(1...100_000), of: [.bench], in: .load, isCommon: true, default: "100",
    summary: "connect N subscribers",
    manual: """
      Connect N subscribers, each with a socket and one channel. The default is {default}. Each socket takes a file
      descriptor. The program raises its limit of open files as far as the system allows. If that is not enough, an
      error names the command that raises it. If many sockets make local ports hard to find, a warning names the
      setting that helps.
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
    "ramp", .duration, of: [.bench], in: .load, summary: "let the rate grow over the first TIME",
    manual: """
      Let the rate grow evenly from zero over the first TIME. Without this option, the rate is the same from the start.
      """)

  static let connectionsPerSecond = Flag(
    "connections-per-second", .integer(1...100_000, "N"), of: [.bench], in: .load, isCommon: true,
    default: "500", summary: "open N sockets per second",
    manual: "Open N sockets per second. The default is {default}.")

  static let failCondition = Flag(
    "fail", .text("CONDITION"), isRepeatable: true, of: [.bench], in: .load, isCommon: true,
    summary: "end with 8 if CONDITION holds, such as 'lost>0'",
    manual: """
      End with status 8 if CONDITION holds at the end. CONDITION is a figure, an operator and a value, such as `lost>0`
      or `p99>200ms`. The figures are those of `--output json`, with or without `_ms`. The operators are `>`, `>=`,
      `<`, `<=`, `==` and `!=`. If the run did not measure the figure, the condition holds. May be repeated; one is
      enough. A run that did not make its whole load is no measurement: with or without this option, it ends with the
      status of the cause, 3, 4 or 5.
      """)

  static let compare = Flag(
    "compare", .text("FILE"), of: [.bench], in: .load,
    summary: "compare with the JSON of an earlier run",
    manual: """
      Compare with an earlier run, whose output with `--output json` is in FILE. The table shows the earlier figures
      and the change. The JSON gets the member `compared`. If both runs had different loads, a warning names the
      difference.
      """)

  static let histogram = Flag(
    "histogram", .text("FILE"), of: [.bench], in: .load,
    summary: "write the distribution of the delays to FILE",
    manual: """
      Write the distribution of the delays to FILE, in milliseconds. The format is that of HdrHistogram's percentile
      tables, which its plotter reads.
      """)

  static let csv = Flag(
    "csv", .text("FILE"), of: [.bench], in: .load, summary: "write a row for each second to FILE",
    manual: """
      Write a row for each second to FILE, as CSV with a heading. Events and losses belong to the second in which the
      event was meant to be sent. Deliveries and delays belong to the second in which the event came.
      """)

  static let svg = Flag(
    "svg", .text("FILE"), of: [.bench], in: .load,
    summary: "draw the delays over the time to FILE",
    manual: """
      Draw the delays over the time to FILE, as a self-contained SVG image for light and dark pages. Lines show the
      p50, the p99 and the longest delay of each second, and marks show the seconds with lost events. Delays have a
      logarithmic axis. In a run of more than 1,000 seconds, a point shows the worst of several seconds.
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
