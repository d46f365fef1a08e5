import Foundation
import PusherCore
import Testing

@testable import pusher_cli

/// An answer to `sse`, and the end of the run that it leads to.
struct StreamEnd: CustomTestStringConvertible, Sendable {
  let testDescription: String
  /// The first answer, and every later one.
  let answer: ScriptedServer.Script
  let options: [String]
  let status: Int32
  /// The only message or a part of it; `nil` for none.
  let message: String?
  let printed: String

  init(
    _ name: String, _ answer: @escaping ScriptedServer.Script, options: [String] = [],
    _ status: Int32, _ message: String? = nil, printed: String = ""
  ) {
    (testDescription, self.answer, self.options) = (name, answer, options)
    (self.status, self.message, self.printed) = (status, message, printed)
  }

  static let event = line("1")
  private static func line(_ data: String) -> String {
    #"{"event":"message","data":\#(data)}"# + "\n"
  }

  // MARK: Answers

  private static let events = "text/event-stream"
  private static let ndjson = "application/x-ndjson"
  private static let json = "application/json"
  private static let chunked = [("Transfer-Encoding", "chunked")]

  private static func status(
    _ status: Int, _ fields: (String, String)..., reason: String = "Reason"
  ) -> ScriptedServer.Script {
    { connection in
      _ = try connection.question()
      try connection.answer(status, reason, fields)
    }
  }

  /// A stream that stays open.
  private static func open(
    _ text: String, _ fields: (String, String)..., type: String = events
  ) -> ScriptedServer.Script {
    { connection in
      try connection.beginStream(fields, type: type)
      try connection.send(stream: text)
      try connection.remain()
    }
  }

  /// A stream after which the server closes the connection.
  private static func closed(
    _ text: String, _ fields: [(String, String)] = [], type: String = events
  ) -> ScriptedServer.Script {
    { connection in
      try connection.beginStream(fields, type: type)
      try connection.send(stream: text)
    }
  }

  private static func counted(_ text: String, type: String = events) -> ScriptedServer.Script {
    { try $0.answer(body: text, type: type) }
  }

  /// Bytes in place of an answer, after which nothing comes.
  private static func bytes(_ text: String) -> ScriptedServer.Script {
    { connection in
      _ = try connection.question()
      try connection.send(stream: text)
      try connection.remain()
    }
  }

  /// A message from its beginning to its end.
  private static func whole(_ sentence: String) -> String { "pusher-cli: error: \(sentence)\n" }

  // MARK: Ends

  private static let never = ["--reconnect", "never"]
  private static let post = ["-d", "{}"]
  private static let unmarked = "the server closed the connection without marking the stream's end"
  private static let hinted = whole(
    "\(unmarked) (if an event marks the end, name it with --until or --until-event)")
  private static let inside = whole(
    "the stream ended in the middle of an event, which is not printed")

  static let ends = [
    StreamEnd(
      "the last chunk", closed("9\r\ndata: 1\n\n\r\n0\r\n\r\n", chunked), options: never, 0,
      printed: event),
    StreamEnd(
      "the last byte of a counted body", counted("data: 1\n\n"), options: never, 0, printed: event),
    StreamEnd(
      "a close that nothing announces", closed("data: 1\n\n"), options: never, 4, hinted,
      printed: event),
    StreamEnd(
      "a close that nothing announces, after a POST", closed("data: 1\n\n"), options: post, 4,
      hinted,
      printed: event),
    StreamEnd(
      "a close that nothing announces, where an event marks the end", closed("data: 1\n\n"),
      options: post + ["--until", "[DONE]"], 4, whole("\(unmarked); --until '[DONE]' never came"),
      printed: event),
    StreamEnd(
      "a close between two chunks", closed("9\r\ndata: 1\n\n\r\n", chunked), options: never, 4,
      whole("the connection ended in the middle of the stream"), printed: event),
    StreamEnd(
      "a close inside an event", closed("data: 1\n\ndata: 2\n"), options: never, 4, inside,
      printed: event),
    StreamEnd(
      "a close inside a line", closed("data: 1\n\nda"), options: never, 4, inside, printed: event),
    StreamEnd(
      "a last chunk inside an event",
      closed("11\r\ndata: 1\n\ndata: 2\n\r\n0\r\n\r\n", chunked), options: never, 4, inside,
      printed: event),
    StreamEnd(
      "a counted body inside a JSON line", counted("1\n{\"n\":", type: ndjson), options: post, 4,
      inside,
      printed: event),
    StreamEnd(
      "a close after a JSON line that is whole", closed("1\n{\"n\":2}", type: ndjson),
      options: post, 4,
      unmarked, printed: event + line(#"{"n":2}"#)),
  ]

  // MARK: Failures

  private static let small = ["--max-event", "1k"]
  private static let brief = ["--connect-timeout", "300ms"]
  private static let long = open("[" + String(repeating: "1,", count: 1000), type: json)
  private static let tooLarge = whole(
    "an event's data is larger than 1024 bytes (--max-event SIZE raises the limit)")

  static let failures = [
    StreamEnd(
      "HTML", open("<html>", type: "text/html; charset=utf-8"), 5,
      "the answer is not an event stream, but of type text/html; charset=utf-8"),
    StreamEnd(
      "JSON without an option", counted("{}", type: json), 5,
      whole(
        "the answer is not an event stream, but of type application/json "
          + "(--accept-json takes it as one event, --lines each of its lines)")),
    StreamEnd(
      "401", status(401), 3,
      "the server answered HTTP 401 (Reason) (use -H @FILE for a token"),
    StreamEnd("403", status(403), 3, "the server answered HTTP 403"),
    StreamEnd("404", status(404), 5, "HTTP 404 (Reason) (nothing there: is the URL right?)"),
    StreamEnd(
      "406", status(406, reason: "Not Acceptable"), 5,
      whole(
        "the server answered HTTP 406 (Not Acceptable) (the server sends another type: "
          + "--accept-json also asks for JSON, and -H 'Accept: TYPE' for TYPE)")),
    StreamEnd("500", status(500), 4, "the server answered HTTP 500"),
    StreamEnd(
      "503 with Retry-After", status(503, ("Retry-After", "7")), 4,
      "HTTP 503 (Reason) and asks to wait 7 s"),
    StreamEnd(
      "a redirect loop", status(302, ("Location", "/again")), 5,
      "HTTP 302 (more than 5 redirects; the next is to /again)"),
    StreamEnd(
      "a redirect without a Location", status(302), 5, "HTTP 302 (a redirect without a Location)"),
    StreamEnd(
      "a redirect to silence",
      { connection in
        guard connection.number == 1 else { try connection.remain() }
        try status(307, ("Location", "/silence"))(connection)
      }, options: brief, 4, "did not answer the request within 0.3 s"),
    StreamEnd(
      "another content coding", open("", ("Content-Encoding", "br")), 5,
      "its content coding is neither gzip nor deflate: br"),
    StreamEnd(
      "gzip that is none", open("data: 1\n\n", ("Content-Encoding", "gzip")), 5,
      "the body does not match its content coding"),
    StreamEnd(
      "broken chunks", open("9\r\ndata: 1\n\n\r\nzz\r\n", ("Transfer-Encoding", "chunked")), 5,
      "the chunked HTTP body is malformed", printed: event),
    StreamEnd(
      "an SSH server", bytes("SSH-2.0-OpenSSH_9.2p1\r\n"), 5, "the other side is an SSH server"),
    StreamEnd(
      "a line past its limit", open("data: 1\n\n:" + String(repeating: "x", count: 2000)),
      options: small, 5,
      "a line of the event stream is longer than 1088 bytes (--max-event SIZE raises",
      printed: event),
    StreamEnd(
      "an event past its limit",
      open(
        "data: 1\n\n"
          + String(repeating: "data: " + String(repeating: "x", count: 99) + "\n", count: 11)),
      options: small, 5, "an event's data is larger than 1024 bytes", printed: event),
    StreamEnd("a JSON line past its limit", long, options: small + ["--lines"], 5, tooLarge),
    StreamEnd(
      "a JSON document past its limit", long, options: small + ["--accept-json"], 5, tooLarge),
    StreamEnd(
      "a bomb of a compressed stream",
      { connection in
        try connection.beginStream([("Content-Encoding", "deflate")])
        let (plain, packed) = (ByteBuffer(), ByteBuffer())
        plain.append([UInt8](repeating: 0x20, count: 64 << 20))
        Deflater(windowBits: 15).deflate(plain.view.raw, into: packed)
        try connection.send(packed)
        try connection.remain()
      }, options: ["--max-event", "1M"], 5, "longer than 1048640 bytes"),
    StreamEnd(
      "a stream that stalls", open("data: 1\n\ndata: 2\n"), options: ["--idle-timeout", "3s"], 124,
      "timed out: no event for 3 s", printed: event),
    StreamEnd(
      "the end of a stream, when it may not be repeated", closed("data: 1\n\n"),
      options: ["--max-retries", "0"], 4, "gave up after 0 attempts: \(unmarked)", printed: event),
    StreamEnd(
      "no answer", { _ = try $0.question() }, 4,
      "the server closed the connection before it answered"),
    StreamEnd(
      "an interim answer and a part of a head",
      bytes("HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\n"), options: brief, 4,
      whole(
        "the server did not finish the head of its answer (17 bytes received) within 0.3 s "
          + "(wait longer with --connect-timeout TIME)")),
  ]

  // MARK: Answers without an event

  private static func noEvent(
    _ name: String, _ text: String, type: String = events, options: [String] = post,
    _ message: String
  ) -> StreamEnd {
    StreamEnd(
      name, counted(text, type: type), options: options, 5,
      whole("the answer ended without an event: \(message)"))
  }

  static let eventless = [
    noEvent(
      "a page", "<html>\n<body>hi</body>\n", options: never,
      "23 bytes of text/event-stream, beginning with '<html> <body>hi</body>'"),
    noEvent(
      "JSON named an event stream", #"{"error":"no"}"#,
      #"14 bytes of text/event-stream, beginning with '{"error":"no"}' "#
        + "(--lines reads each line as an event)"),
    noEvent(
      "no document", "", type: json, options: post + ["--accept-json"],
      "an empty body of application/json"),
  ]
}

@Suite("sse: every end of a stream and of a run", .runsPrograms)
struct StreamEndTests {
  private func expect(_ end: StreamEnd) throws {
    let server = try ScriptedServer { try end.answer($0) }
    let result = try PusherCLI.run(["sse", server.url] + end.options)
    result.expect(end.status, prints: end.printed)
    #expect(result.errorLines.count == (end.message == nil ? 0 : 1), "\(result.errorText)")
    if let message = end.message {
      #expect(result.errorText.contains(message), "\(result.errorText)")
    }
  }

  @Test(arguments: StreamEnd.ends)
  func `without reconnecting the end of the stream decides the status`(_ end: StreamEnd) throws {
    try expect(end)
  }

  @Test(arguments: StreamEnd.failures)
  func `each failure has a line of its own and its status, and printed lines stay whole`(
    _ end: StreamEnd
  ) throws {
    try expect(end)
  }

  @Test(arguments: StreamEnd.eventless)
  func `an answer without an event never ends the run in silence or with 0`(
    _ end: StreamEnd
  ) throws {
    try expect(end)
  }

  @Test(.needs(.certificates), arguments: [true, false])
  func `with TLS the closing alert marks the end`(isMarked: Bool) throws {
    let certificates = try #require(CertificateMatrix.shared)
    let server = try ScriptedServer(certificate: certificates.trusted) { connection in
      try connection.beginStream()
      try connection.send(stream: "data: 1\n\n")
      if !isMarked { connection.drop() }
    }
    let result = try PusherCLI.sse(
      server, "--reconnect", "never", "--cacert", certificates.authority
    ).result()
    result.expect(isMarked ? 0 : 4, prints: StreamEnd.event)
    #expect(result.errorText.isEmpty == isMarked, "\(result.errorText)")
  }

  // MARK: --until

  @Test(arguments: ["[DONE]", "?DONE?", "*DONE*"])
  func `--until ends with 0 at its data, which is not printed`(text: String) throws {
    let server = try ScriptedServer.streaming("data: 1\n\ndata: D\n\ndata: [DONE]\n\ndata: 2\n\n")
    let result = try PusherCLI.sse(server, "--until", text, "-L", "--no-compression").result()
    #expect(result.ending == .exited(0))
    let lines = result.outputText.split(separator: "\n").filter { !$0.contains("pusher-cli:") }
    #expect(lines == [#"{"event":"message","data":1}"#, #"{"event":"message","data":"D"}"#])
    #expect(result.outputText.contains(#""status":0,"reason":"until","events":2"#))
  }

  @Test func `a text without a star is the text itself, brackets and all`() {
    #expect(DataPattern("[DONE]").matches("[DONE]"))
    #expect(!DataPattern("[DONE]").matches("D"))
    #expect(DataPattern("[DONE]*").matches("D!"))
    #expect(!DataPattern("é").matches("e\u{301}"))
  }

  // MARK: Attempts without an event

  @Test func `an event that is left out is an event`() throws {
    let server = try ScriptedServer {
      try $0.answer(body: "event: a\ndata: 1\n\n", type: "text/event-stream")
    }
    try PusherCLI.sse(server, "-d", "{}", "-x", "a").result().expect(0, says: "")
  }

  @Test func `a run that asks again warns of a page, not of a stream without events`() throws {
    let bodies = ["<p>starting</p>", ": nothing yet\n\n", "data: 1\n\n"]
    let server = try ScriptedServer {
      try $0.answer(body: bodies[min($0.number, 3) - 1], type: "text/event-stream")
    }
    let result = try PusherCLI.sse(server, "-n", "1", "--retry-delay", "10ms").result()
    #expect(result.ending == .exited(0))
    let losses = result.errorLines.filter { $0.contains("retrying in") }
    #expect(losses.count == 1, "\(result.errorText)")
    #expect(
      losses.first?.hasPrefix(
        "pusher-cli: warning: the answer ended without an event: 15 bytes of text/event-stream, "
          + "beginning with '<p>starting</p>'; retrying in ") == true, "\(result.errorText)")
  }

  @Test func `the last of several attempts counts`() throws {
    let server = try ScriptedServer { try $0.answer(body: "<p>", type: "text/event-stream") }
    try PusherCLI.sse(server, "--max-retries", "1", "--retry-delay", "10ms").result().expect(
      5,
      lastError: "gave up after 1 attempt: the answer ended without an event: "
        + "3 bytes of text/event-stream, beginning with '<p>'")
  }
}
