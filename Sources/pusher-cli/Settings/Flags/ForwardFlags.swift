extension Flag {
  static let forwarding: [Flag] = [
    .forward, .forwardHeader, .forwardJobs, .forwardTimeout, .forwardDead, .tee,
  ]

  static let forward = Flag(
    "forward", .text("URL"), shows: .place, of: .printing, in: .receive, isCommon: true,
    summary: "POST each event to URL until it is accepted",
    manual: """
      Send to URL, by POST, each event that would otherwise be printed. URL begins with http or https. `@FILE` reads it
      from a file, which keeps a token in the URL out of the process list. The body is the JSON line, whatever --output
      says, and its type is `application/json`. The fields Pusher-Event and Pusher-Channel name the event and its
      channel. The field Idempotency-Key is the same at every try of an event, and different for each event. If
      an event of a stream has an id, the key comes from the stream's URL, the id and the event, so two programs make the
      same key. The options --cacert, --insecure, --proxy and --connect-timeout apply too; the timeout limits each
      try.

      An answer with status 2xx accepts the event. Redirects are not followed. Without such an answer, the event is sent
      again. The wait is random, and grows from one second to --retry-max-delay. If the answer asks for a longer wait by
      Retry-After, the wait is that long, up to the same limit. So an event may come twice, and no event is skipped.

      Events are sent in order, one at a time, on one connection. When as many events wait as --buffer allows, the
      socket is not read, and a warning says so once. A message at the end counts the events that were not delivered.
      They go to the file of --forward-dead if there is one, and status 0 becomes 4. With --state-file, an event counts
      when it is delivered or in that file. The options --exec and --forward exclude each other. The guide
      (docs/guide.md) has more on the fields, the messages and the end of a run.
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
      Send up to N events of --forward at once, each on its own connection. The default is {default}. Events of one
      channel, with `sse` events of one name, keep their order.
      """)

  static let forwardTimeout = Flag(
    "forward-timeout", .duration, needs: ["forward"], of: .printing, in: .receive,
    summary: "give up an event of --forward after TIME",
    manual: """
      Give up an event of --forward TIME after its first try. The next event then has its turn. Without this option, an
      event is sent again until it is delivered.
      """)

  static let forwardDead = Flag(
    "forward-dead", .text("FILE"), needs: ["forward-timeout"], of: .printing, in: .receive,
    summary: "append undelivered events to FILE",
    manual: """
      Append the JSON line of each undelivered event to FILE. These are the events that --forward gave up, and the
      events left at the end. A new FILE can be read only by its owner. While FILE cannot be written, no event is given
      up. Needs --forward-timeout.
      """)

  static let tee = Flag(
    "tee", needs: ["exec", "forward"], of: .printing, in: .receive,
    summary: "print events too, with --exec or --forward",
    manual: """
      Print each event of --exec or --forward too, in the format of --output. It is printed before its command begins or
      before it is sent.
      """)
}
