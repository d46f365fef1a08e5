internal import PusherCore

extension Flag {
  static let requesting: [Flag] = [
    .header, .headerCommand, .method, .data, .lastEventID, .stateFile, .acceptAnyType, .comments,
    .cookies, .unbuffered,
  ]

  static let header = Flag(
    "header", letter: "H", .text("HEADER"), isRepeatable: true, shows: .field, of: .dialling,
    in: .request, isCommon: true, summary: "send 'NAME: VALUE', or the lines of @FILE",
    manual: """
      Send the field `name: value`, or the fields that stand in a file, one a line, when HEADER is `@` and its name,
      which keeps tokens out of sight: with the upgrade of `subscribe`, the request of `sse`, and every call of the
      HTTP API. May be repeated. Authorization, Cookie, Proxy-Authorization and Host do not follow a redirect to
      another server. `subscribe` and `sse` read such a file again for each connection, so that a token can be
      replaced while they run. A pipe, such as `/dev/stdin`, is read once and its fields go with each connection. A file
      that becomes a pipe or loses all fields changes nothing, and a warning says so. For `sse` Last-Event-ID counts at the
      start alone, as --last-event-id does.
      """)

  static let headerCommand = Flag(
    "header-command", .text("CMD"), shows: .program, of: .printing, in: .request,
    summary: "send the fields that CMD prints",
    manual: """
      Run CMD with sh(1) before each connection and send the fields that it prints, one `name: value` a line, such as a
      token that does not last. A field of that name from --header is then left out. A status other than 0 counts as a
      connection that could not be made; --connect-timeout limits the command.
      """)

  static let unbuffered = Flag(
    "unbuffered", letter: "N", of: [.sse], in: .print,
    summary: "changes nothing: events are never held back",
    manual: """
      Changes nothing, since events are printed as they come. It is there for hands that know `curl -N`.
      """)

  static let comments = Flag(
    "comments", of: [.sse], in: .print, summary: "print the stream's comments as lines too",
    manual: """
      Print the comments of the stream too, as lines with the event `pusher-cli:comment` and the text as data; they do
      not count and pass no filter.
      """)

  static let cookies = Flag(
    "cookies", of: [.sse], in: .request, summary: "send back the cookies that the server sets",
    manual: """
      Keep the cookies that answers set, and send them with later requests of the run where they belong, so that a
      balancer that sets one finds the same server again. They are kept in memory only.
      """)

  static let method = Flag(
    "method", letter: "X", .text("METHOD"), of: [.sse], in: .request,
    summary: "GET, or POST when there is data")

  static let data = Flag(
    "data", letter: "d", .text("DATA"), allowsEmpty: true, shows: .nothing, of: [.sse],
    in: .request, isCommon: true, summary: "send DATA, @FILE, or @- for standard input",
    manual: """
      Send DATA, or what `@FILE` or `@-`, standard input, holds, as JSON when it is that, else as a form, unless
      --header names its Content-Type.
      """)

  static let lastEventID = Flag(
    "last-event-id", .text("ID"), of: [.sse], in: .request, isCommon: true,
    summary: "begin after this event")

  static let stateFile = Flag(
    "state-file", .text("FILE"), of: [.sse], in: .request, isCommon: true,
    summary: "keep the last event's id in FILE, and begin there",
    manual: """
      Keep the id of the last event in FILE, and begin after the one that it holds, unless --last-event-id names
      another. The id is that of the last event of which the system took every byte; what a pipe has taken counts as
      printed, read or not: if its reader ends early, what lies in the pipe is lost to the next run. It is saved
      within a second, and at each end of the run: a run that is killed may leave the next one to print again what
      came in its last second, and leaves nothing out. The file names its URL, and is refused for another one; a
      different query is a warning. One run at a time can use it. It must be a regular file or not exist yet, and is
      replaced as a whole, with mode 0600. When standard output is a file that ends in the middle of a line, as a full
      disk leaves it, that line is ended first, and a message says so.
      """)

  static let acceptAnyType = Flag(
    "accept-any-type", of: [.sse], in: .request, summary: "read a stream whatever its Content-Type",
    manual: """
      Read the answer as an event stream whatever its Content-Type says; unless this is given, anything but
      text/event-stream ends the run with status 5.
      """)

  static let sending: [Flag] = [
    .triggerChannel, .triggerEvent, .triggerData, .triggerSocketID, .triggerInfo, .batch, .rate,
    .speed, .dryRun,
  ]

  static let triggerChannel = Flag(
    "channel", letter: "c", .text("NAME"), isRepeatable: true, of: [.trigger], in: .send,
    isCommon: true, summary: "send to channel NAME",
    manual: """
      Send to channel NAME, or to all connections of a user: `#server-to-user-ID`. May be repeated.
      """)

  static let triggerEvent = Flag(
    "event", letter: "e", .text("NAME"), of: [.trigger], in: .send, isCommon: true,
    summary: "name of the event")

  static let triggerData = Flag(
    "data", letter: "d", .text("DATA"), allowsEmpty: true, shows: .nothing, of: [.trigger],
    in: .send, isCommon: true, summary: "the data: text, @FILE, or @- for standard input",
    manual: """
      The event's data, if it is not given as an argument. In both places `@FILE` takes what a file holds and `@-`
      what standard input holds, without the last newline.
      """)

  static let triggerSocketID = Flag(
    "socket-id", .text("ID"), of: [.trigger], in: .send, isCommon: true,
    summary: "do not send to this connection")

  static let triggerInfo = Flag(
    "info", .text("WORDS"), offers: ["user_count", "subscription_count"], isRepeatable: true,
    of: [.trigger], in: .send, summary: "print user_count, subscription_count too",
    manual: """
      Print what the server tells of the channels as JSON: `user_count` and `subscription_count`, repeated or with
      commas between.
      """)

  static let batch = Flag(
    "batch", .integer(1...1000), of: [.trigger], in: .send,
    default: "\(BatchRequest.documentedCount)", summary: "with -: at most N events in a call",
    manual: """
      With `-`: send at most N events in one call; the default is {default}, which is what Pusher Channels takes.
      Events that have come are sent at once, however few.
      """)

  static let rate = Flag(
    "rate", .text("N"), excludes: ["speed"], of: [.trigger], in: .send,
    summary: "with -: at most N events a second",
    manual: "With `-`: send at most N events a second, such as `50` or `0.5`.")

  static let speed = Flag(
    "speed", .text("FACTOR"), of: [.trigger], in: .send,
    summary: "keep the pace of received_at, FACTOR times",
    manual: """
      Send the lines of standard input at the pace at which they came, by their `received_at` as `subscribe -t` prints
      it: 1 is as it was, 10 ten times as fast. A line without one follows the line before it at once.
      """)

  static let dryRun = Flag(
    "dry-run", of: [.trigger], in: .send, summary: "show the signed request and send nothing")

  static let asking: [Flag] = [
    .prefix, .info, .socketID, .signUserID, .signUserInfo, .signData, .signature, .timestamp,
  ]

  static let prefix = Flag(
    "prefix", .text("TEXT"), of: [.channels], in: .ask, isCommon: true,
    summary: "only channels whose names begin so",
    manual: "Only channels whose names begin with TEXT.")

  static let info = Flag(
    "info", .text("WORDS"), offers: ["user_count", "subscription_count", "cache"],
    isRepeatable: true, of: [.channels], in: .ask, isCommon: true,
    summary: "tell user_count, subscription_count, cache too",
    manual: """
      Tell `user_count` (of presence channels), `subscription_count` and, of one channel, `cache` too.
      """)

  static let socketID = Flag(
    "socket-id", .text("ID"), of: .signing, in: .ask, isCommon: true,
    summary: "the connection that asks")

  static let signUserID = Flag(
    "user-id", .text("ID"), of: .signing, in: .ask, isCommon: true,
    summary: "member of a presence channel, or who signs in",
    manual: "The member of a presence channel, or who signs in.")

  static let signUserInfo = Flag(
    "user-info", .text("JSON"), shows: .nothing, of: .signing, in: .ask,
    summary: "the member's information; @FILE reads a file",
    manual: "The member's information, which others see; `@FILE` reads a file.")

  static let signData = Flag(
    "data", letter: "d", .text("BODY"), allowsEmpty: true, shows: .nothing, of: [.sign, .verify],
    in: .ask, isCommon: true, summary: "the body: text, @FILE, or @- for standard input",
    manual: """
      The body of the request or webhook, byte for byte; `@FILE` reads a file and `@-` standard input.
      """)

  static let signature = Flag(
    "signature", .text("HEX"), shows: .nothing, of: [.verify], in: .ask, isCommon: true,
    summary: "the signature to compare with",
    manual: "The signature that `verify` compares; a request carries its own.")

  static let timestamp = Flag(
    "timestamp", .integer(0...Int.max, "SECONDS"), of: [.sign], in: .ask,
    summary: "sign a request for this time since 1970",
    manual: "Sign a request for this time since 1970 instead of now.")
}
