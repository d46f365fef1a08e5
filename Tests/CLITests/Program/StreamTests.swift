import Foundation
import PusherCore
import Testing

@Suite("sse, against a scripted server", .runsPrograms)
struct StreamTests {
  private static let stream =
    "\u{FEFF}: hello\r\nid: 1\r\ndata: {\"a\": 1}\r\n\r\nevent: up\rdata: two\rdata: lines\r\r"
    + "id: 2\ndata: é\n\nretry: 20\n\n"
  private static let lines = [
    #"{"event":"message","id":"1","data":{"a":1}}"#,
    #"{"event":"up","id":"1","data":"two\nlines"}"#, #"{"event":"message","id":"2","data":"é"}"#,
  ]

  @Test func `a stream that comes byte by byte is printed, each event at once`() throws {
    let server = try ScriptedServer.streaming { connection in
      for byte in Array(Self.stream.utf8) {
        try connection.send(bytes: [byte])
        try connection.awaitAcknowledgement()
      }
    }
    let program = try PusherCLI.sse(server, "-n", "3")
    #expect(try program.lines(3) == Self.lines)
    #expect(try program.wait() == .exited(0))
  }

  @Test func `the request is that of the standard`() throws {
    let (server, heads) = try ScriptedServer.recording("data: 1\n\n")
    try PusherCLI.sse(
      server, "-n", "1", "-H", "X-Test: yes", "-H", "accept: text/event-stream;q=1",
      "--last-event-id", "ä 7"
    ).result().expect(0)
    let head = try #require(heads.values.first)
    #expect(head.method == "GET" && head.target == "/stream")
    #expect(
      ["Cache-Control", "Accept", "X-Test", "Last-Event-ID", "Accept-Encoding"]
        .map(head.headers.all)
        == [["no-cache"], ["text/event-stream;q=1"], ["yes"], ["ä 7"], []])
    #expect(head.headers["User-Agent"]?.hasPrefix("pusher-cli/") == true)
  }

  @Test func `a stream that ends or breaks goes on behind the last whole event`() throws {
    let ids = Record<String?>()
    let server = try ScriptedServer { connection in
      let question = try connection.beginStream(
        connection.number == 1 ? [] : [("Transfer-Encoding", "chunked")])
      ids.add(question.head.headers["Last-Event-ID"])
      switch connection.number {
      case 1: try connection.send(stream: "retry: 10\nid: 1\ndata: 1\n\n")
      case 2: try connection.send(chunk: "id: 2\ndata: 2\n\ndata: half")
      default:
        try connection.send(chunk: "data: 3\n\n")
        try connection.remain()
      }
    }
    let program = try PusherCLI.sse(server, "-L", "-n", "3", "-v")
    let events = try program.lines(9).map { line in
      try #require(line.firstMatch(of: /"event":"([^"]*)"/)).output.1
    }
    #expect(
      events == [
        "pusher-cli:connected", "message", "pusher-cli:disconnected", "pusher-cli:connected",
        "pusher-cli:gap", "message", "pusher-cli:disconnected", "pusher-cli:connected",
        "pusher-cli:gap",
      ])
    #expect(try program.line() == #"{"event":"message","id":"2","data":3}"#)
    #expect(ids.values == [nil, "1", "2"])
    try program.errorLine(
      containing: "closed the connection without marking the stream's end; retrying in 10 ms")
    try program.errorLine(containing: "after event 1")
    try program.errorLine(containing: "warning: the connection ended in the middle of the stream")
  }

  @Test func `an id that no request can name is told, and the one before is asked for`() throws {
    let ids = Record<String?>()
    let server = try ScriptedServer { connection in
      ids.add(try connection.beginStream().head.headers["Last-Event-ID"])
      switch connection.number {
      case 1: try connection.send(stream: "retry: 10\nid: 7\ndata: 1\n\nid: 8\u{7F}\ndata: 2\n\n")
      default:
        try connection.send(stream: "data: 3\n\n")
        try connection.remain()
      }
    }
    let program = try PusherCLI.sse(server, "-L", "-n", "3")
    _ = try program.lines(4)
    #expect(try program.line().contains(#""last_event_id":"7""#))
    try program.errorLine(
      containing:
        ", continuing after event 7, because the last event's id has a control character: events may "
        + "come again")
    #expect(try program.wait() == .exited(0))
    #expect(ids.values == [nil, "7"])
  }

  @Test func `redirects are followed, and what is secret stays with the first server`() throws {
    let (other, heads) = try ScriptedServer.recording("data: there\n\n")
    let server = try ScriptedServer { connection in
      let question = try connection.question()
      heads.add(question.head)
      let target = connection.number == 1 ? "/moved" : other.url
      try connection.answer(connection.number == 1 ? 301 : 307, "Moved", [("Location", target)])
    }
    let secret = try TemporaryFolder.shared.file(
      "token", holding: "Authorization: Bearer x\nX-Other: y\n")
    let result = try PusherCLI.sse(server, "-n", "1", "-H", "@\(secret)", "-v").result()
    #expect(result.outputText == #"{"event":"message","data":"there"}"# + "\n")
    #expect(heads.values.map(\.target) == ["/stream", "/moved", "/stream"])
    #expect(heads.values.map { $0.headers["Authorization"] } == ["Bearer x", "Bearer x", nil])
    #expect(result.errorText.contains("redirected (301) to http://127.0.0.1:"))
  }

  @Test func `name and password from a file become basic authorisation`() throws {
    let (server, heads) = try ScriptedServer.recording("data: 1\n\n")
    let place = server.url.replacing("//", with: "//me:p%40ss@")
    let file = try TemporaryFolder.shared.file("place", holding: place + "\n")
    let result = try PusherCLI.run("sse", "@\(file)", "-n", "1", "-v")
    result.expect(0)
    #expect(!result.errorText.contains("p%40ss"))
    #expect(heads.values.map { $0.headers["Authorization"] } == ["Basic bWU6cEBzcw=="])
  }

  @Test func `a POST sends its data once, and ends with the stream`() throws {
    let questions = Record<ScriptedConnection.Question>()
    let server = try ScriptedServer { connection in
      questions.add(try connection.beginStream([("Transfer-Encoding", "chunked")]))
      try connection.send(chunk: "data: {\"token\":\"a\"}\n\ndata: [DONE]\n\n")
      try connection.send(chunk: "")
    }
    try PusherCLI.sse(server, "-d", #"{"stream":true}"#).result().expect(
      0,
      prints: #"{"event":"message","data":{"token":"a"}}"# + "\n"
        + #"{"event":"message","data":"[DONE]"}"# + "\n")
    let seen = questions.values.map {
      [$0.head.method, $0.body, $0.head.headers["Content-Type"] ?? ""]
    }
    #expect(seen == [["POST", #"{"stream":true}"#, "application/json"]])
  }

  @Test func `a compressed stream is printed event by event`() throws {
    let gate = Gate()
    let server = try ScriptedServer { connection in
      let question = try connection.beginStream([("Content-Encoding", "deflate")])
      #expect(question.head.headers["Accept-Encoding"] == "gzip, deflate")
      let deflater = Deflater(windowBits: 15)
      for number in 1...3 {
        let plain = ByteBuffer()
        plain.append("data: \(number)\n\n")
        let packed = ByteBuffer()
        deflater.deflate(plain.view.raw, into: packed)
        try connection.send(bytes: packed.array + [0, 0, 0xFF, 0xFF])
        try connection.wait(for: gate)
      }
      try connection.remain()
    }
    let program = try PusherCLI.sse(server, "--compression", "-n", "3")
    for number in 1...3 {
      #expect(try program.line() == #"{"event":"message","data":\#(number)}"#)
      gate.open()
    }
    #expect(try program.wait() == .exited(0))
  }

  @Test func `filters, count, shapes and terminators are those of subscribe`() throws {
    let server = try ScriptedServer.streaming(
      "event: a.x\ndata: 1\n\nevent: b\ndata: 2\n\nevent: a.y\ndata: {\"z\":\"q\"}\n\n")
    let filtered = try PusherCLI.sse(server, "-e", "a.*", "-x", "*x", "-n", "1", "-0").result()
    #expect(filtered.outputText == #"{"event":"a.y","data":{"z":"q"}}"# + "\0")
    let raw = try PusherCLI.sse(server, "-o", "raw", "-n", "3").result()
    #expect(raw.outputText == "1\n2\n{\"z\":\"q\"}\n")
    let format = "%N %e [%d] %w%% %s"
    let formatted = try PusherCLI.sse(server, "-F", format, "-x", "b", "-n", "2").result()
    #expect(
      formatted.outputText.contains(
        /^1 a\.x \[1\] 1% \d+\.\d{3}\n2 a\.y \[\{"z":"q"\}\] \{"z":"q"\}% \d+\.\d{3}\n$/))
    let stamped = try PusherCLI.sse(server, "-t", "-n", "1").result()
    #expect(stamped.outputText.contains(/^\{"received_at":"[-0-9T:.]+Z","event":"a\.x","data":1\}/))
  }

  // MARK: Sessions

  /// Names a session in the first answer, and records what each request says of one.
  private func server(
    _ sessions: Record<[String]>, then next: @escaping ScriptedServer.Script
  ) throws -> ScriptedServer {
    try ScriptedServer { connection in
      sessions.add(try connection.question().head.headers.all("Mcp-Session-Id"))
      guard connection.number == 1 else { return try next(connection) }
      try connection.beginAnswer([("mcp-session-id", "s-1")], type: "text/event-stream")
      try connection.send(stream: "retry: 10\n\ndata: 1\n\n")
    }
  }

  @Test(arguments: [[], ["--session-header", "Mcp-Session-Id"]])
  func `a session of the answer goes back with --session-header, which -v names without it`(
    option: [String]
  ) throws {
    let sessions = Record<[String]>()
    let server = try server(sessions) { connection in
      try connection.beginAnswer(type: "text/event-stream")
      try connection.send(stream: "data: 2\n\n")
      try connection.remain()
    }
    let result = try PusherCLI.run(["sse", server.url, "-n", "2", "-v", "-i"] + option)
    #expect(result.ending == .exited(0), "\(result.errorText)")
    #expect(sessions.values == [[], option.isEmpty ? [] : ["s-1"]])
    let advice = "/stream, mcp-session-id s-1 (--session-header mcp-session-id sends it back)\n"
    #expect(result.errorText.contains("pusher-cli: HTTP/1.1 200 "))
    #expect(result.errorText.contains("pusher-cli: mcp-session-id: s-1\n"))
    #expect(result.errorText.lowercased().contains(advice) == option.isEmpty, "\(result.errorText)")
  }

  @Test func `an answer that begins with an id alone is continued by GET until an event`() throws {
    let questions = Record<ScriptedConnection.Question>()
    let server = try ScriptedServer { connection in
      questions.add(try connection.question())
      try connection.beginAnswer([("Mcp-Session-Id", "s")], type: "text/event-stream")
      let isFirst = connection.number == 1
      try connection.send(stream: isFirst ? "retry: 10\nid: 7\ndata:\n\n" : "data: 2\n\n")
    }
    let arguments = ["sse", server.url, "-d", "{}", "--session-header", "Mcp-Session-Id", "-n"]
    let line = #"{"event":"message","id":"7","data":2}"# + "\n"
    try PusherCLI.run(arguments + ["1"]).expect(0, prints: line)
    let get = try #require(questions.values.last)
    #expect(get.head.method == "GET" && get.body.isEmpty)
    let names = ["Last-Event-ID", "Mcp-Session-Id", "Content-Type"]
    #expect(names.map { get.head.headers[$0] } == ["7", "s", nil])
    // Without such an event, the request has had its answer.
    try PusherCLI.run(arguments + ["2"]).expect(4)
    #expect(questions.values.map(\.head.method) == ["POST", "GET", "POST"])
  }

  @Test func `a session stays with the server that named it`() throws {
    let (second, heads) = try ScriptedServer.recording("data: 2\n\n")
    let server = try server(Record()) {
      try $0.answer(307, "See", [("Location", second.url)])
    }
    let result = try PusherCLI.sse(server, "-n", "2", "--session-header", "Mcp-Session-Id").result()
    #expect(result.ending == .exited(0), "\(result.errorText)")
    #expect(heads.values.map { $0.headers.all("Mcp-Session-Id") } == [[]])
  }
}
