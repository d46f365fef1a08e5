extension Flag {
  static let forwarding: [Flag] = [
    .forward, .forwardHeader, .forwardJobs, .forwardTimeout, .forwardDead, .forwardKey, .tee,
  ]

  static let forward = Flag(
    "forward", .text("URL"), shows: .place, of: .printing, in: .receive, isCommon: true,
    summary: "POST each event to URL until it is taken",
    manual: """
      Send each event that would be printed to URL by a POST, in place of printing it. The body is the JSON line,
      whatever --output says, without its newline, and the type `application/json`. Pusher-Event is the name of the
      event and Pusher-Channel its channel; bytes in them that are not visible ASCII, and the percent sign, are written
      as `%XX`, and what is then longer than 2048 bytes is left out, as is a channel that an event does not have.
      Idempotency-Key is the same whenever an event is sent again, and another one for each event; for an event of
      `sse` that has an id of its own it is made of the stream's URL, the id and the line, and so is the same in a
      later run. URL begins with http or https; `@FILE` takes it from a file, which keeps a token in it out of the
      process list. --cacert, --insecure, --proxy and --connect-timeout, which limits each try, count here too.

      An event is delivered once the answer's status is 2xx; a redirect is not followed. Any other status, a lost
      connection or no answer is told, and the event is sent again, after a random wait that grows from one second to
      --retry-max-delay; if the answer asks for a longer one by Retry-After, that is the wait, up to the same limit.
      That it works again is told too; -v tells each try. So an event may come twice, and none is passed over.

      Events wait for their turn, in order, one at a time and on one connection. When as many wait as --buffer allows,
      the socket is left unread, and a warning says so once. At an end by --count, --timeout or the server, the events
      that wait are still delivered, after --timeout within one more second; what is under way when a signal comes has
      200 milliseconds. What was not delivered is told at the end, and stands in the file of --forward-dead if there is
      one; a run that would have ended with status 0 then ends with 4. With --state-file an event counts once it is
      delivered or stands there. --exec and --forward exclude each other.
      """)

  static let forwardHeader = Flag(
    "forward-header", .text("HEADER"), isRepeatable: true, shows: .field, needs: ["forward"],
    of: .printing, in: .receive, summary: "'NAME: VALUE' for --forward, or @FILE of such",
    manual: """
      Send HEADER, written `name: value`, with each event of --forward. `@FILE` takes such lines from a file, and so
      keeps a token out of the process list. May be repeated.
      """)

  static let forwardJobs = Flag(
    "forward-jobs", .integer(1...64), needs: ["forward"], of: .printing, in: .receive, default: "1",
    summary: "with --forward, send up to N events at once",
    manual: """
      With --forward send up to N events at once, {default} unless given, each on a connection of its own. Events of one
      channel, with `sse` those of one name, still keep their order.
      """)

  static let forwardTimeout = Flag(
    "forward-timeout", .duration, needs: ["forward"], of: .printing, in: .receive,
    summary: "with --forward, give an event up after TIME",
    manual: """
      With --forward give an event up that is not delivered TIME after its first try; without it an event is sent again
      and again until it is delivered. The next event then has its turn.
      """)

  static let forwardDead = Flag(
    "forward-dead", .text("FILE"), needs: ["forward-timeout"], of: .printing, in: .receive,
    summary: "add events that were given up to FILE",
    manual: """
      Add the JSON line of each event that --forward gave up, or that was left at the end, to FILE, which only its owner
      may read when it is made. While FILE cannot be written, no event is given up. Needs --forward-timeout.
      """)

  static let forwardKey = Flag(
    "forward-key", .choice(ForwardSettings.KeyRule.allCases.map(\.rawValue), "KIND"),
    needs: ["forward"], of: .printing, in: .receive, default: ForwardSettings.KeyRule.run.rawValue,
    summary: "make the Idempotency-Key of run or content",
    manual: """
      What --forward makes the `Idempotency-Key` of an event of, which stays the same however often the event is sent. `run` is
      the run and the event's number: no two events share a key. `content` is the event's name, channel and
      data, and the second in which it came: two programs that forward the same channels make the same key, and the
      receiver can drop what it has. Two events that are alike within a second have one key then, and one that the
      programs get in different seconds has two. An event of a stream that has an id makes its key of that in either case. The
      default is `{default}`.
      """)

  static let tee = Flag(
    "tee", needs: ["exec", "forward"], of: .printing, in: .receive,
    summary: "with --exec or --forward, print events too",
    manual: """
      With --exec or --forward print each event too, as --output says, and before its command begins or it is sent.
      """)
}
