import Foundation
import PusherCore
import Testing

@Suite("sse, what it asks and what it takes", .runsPrograms)
struct StreamRequestTests {
  private static let first = #"{"event":"message","data":1}"# + "\n"

  @Test func `--session-header sends a field of the answer back`() throws {
    let sessions = Record<[String]>()
    let server = try ScriptedServer { connection in
      let question = try connection.question()
      sessions.add(question.head.headers.all("Mcp-Session-Id"))
      let type = "text/event-stream"
      switch connection.number {
      case 1:
        try connection.beginAnswer([("mcp-session-id", "s-1")], type: type)
        try connection.send(stream: "retry: 10\n\ndata: 1\n\n")
      default:
        try connection.beginAnswer(type: type)
        try connection.send(stream: "data: 2\n\n")
        try connection.remain()
      }
    }
    let result = try PusherCLI.sse(
      server, "-n", "2", "--session-header", "Mcp-Session-Id"
    ).result()
    #expect(result.ending == .exited(0), "\(result.errorText)")
    #expect(sessions.values == [[], ["s-1"]])
  }

  @Test func `-v shows a session of MCP, which no request repeats without --session-header`() throws
  {
    let sessions = Record<[String]>()
    let server = try ScriptedServer { connection in
      sessions.add(try connection.question().head.headers.all("Mcp-Session-Id"))
      try connection.beginAnswer([("Mcp-Session-Id", "s-1")], type: "text/event-stream")
      try connection.send(stream: "retry: 10\n\ndata: \(connection.number)\n\n")
      if connection.number == 2 { try connection.remain() }
    }
    let result = try PusherCLI.sse(server, "-n", "2", "-v").result()
    #expect(sessions.values == [[], []])
    #expect(
      result.errorText.contains(
        "/stream, Mcp-Session-Id s-1 (--session-header Mcp-Session-Id sends it back)\n"),
      "\(result.errorText)")
  }

  @Test func `a session stays with the server that named it`() throws {
    let other = Record<[String]>()
    let second = try ScriptedServer { connection in
      other.add(try connection.beginStream().head.headers.all("Mcp-Session-Id"))
      try connection.send(stream: "data: 2\n\n")
      try connection.remain()
    }
    let server = try ScriptedServer { connection in
      _ = try connection.question()
      if connection.number == 1 {
        try connection.beginAnswer([("Mcp-Session-Id", "s-1")], type: "text/event-stream")
        try connection.send(stream: "retry: 10\n\ndata: 1\n\n")
      } else {
        try connection.send(
          stream: "HTTP/1.1 307 See\r\nLocation: \(second.url)\r\nContent-Length: 0\r\n\r\n")
      }
    }
    let result = try PusherCLI.sse(
      server, "-n", "2", "--session-header", "Mcp-Session-Id"
    ).result()
    #expect(result.ending == .exited(0), "\(result.errorText)")
    #expect(other.values == [[]])
  }

  @Test func `a type that the server does not have leads to the options that ask for others`()
    throws
  {
    let server = try ScriptedServer { connection in
      _ = try connection.question()
      try connection.send(
        stream: "HTTP/1.1 406 Not Acceptable\r\nContent-Length: 0\r\n\r\n")
    }
    let result = try PusherCLI.sse(server).result()
    #expect(result.ending == .exited(5))
    #expect(
      result.errorText
        == "pusher-cli: error: the server answered HTTP 406 (Not Acceptable) (the server sends another type: --accept-json also asks for JSON, and -H 'Accept: TYPE' for TYPE)\n"
    )
  }

  /// Answers that curl and Node accept although RFC 9112 requires more of senders.
  @Test(arguments: [
    "HTTP/1.1 200 OK\nContent-Type: text/event-stream\n\ndata: 1\n\n",
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\n\r\ndata: 1\n\n",
    "HTTP/1.1 200 OK\r\nContent-Type:\r\n text/event-stream;\r\n\tcharset=utf-8\r\n\r\ndata: 1\n\n",
    "HTTP/1.0 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
      + "9\r\ndata: 1\n\n\r\n",
  ])
  func `an answer that curl takes is taken`(answer: String) throws {
    let server = try ScriptedServer { connection in
      _ = try connection.question()
      try connection.send(stream: answer)
      try connection.remain()
    }
    let result = try PusherCLI.sse(server, "-n", "1").result()
    #expect(result.outputText == Self.first, "\(result.errorText)")
  }

  @Test func `a Location with blanks and letters beyond ASCII is followed, encoded`() throws {
    let targets = Record<String>()
    let server = try ScriptedServer { connection in
      if connection.number == 1 {
        targets.add(try connection.question().head.target)
        try connection.send(
          stream: "HTTP/1.1 302 Found\r\nLocation: /näh er?q=ü b\r\nContent-Length: 0\r\n\r\n")
      } else {
        targets.add(try connection.beginStream().head.target)
        try connection.send(stream: "data: 1\n\n")
      }
      try connection.remain()
    }
    let result = try PusherCLI.sse(server, "-n", "1").result()
    #expect(result.outputText == Self.first, "\(result.errorText)")
    #expect(targets.values == ["/stream", "/n%C3%A4h%20er?q=%C3%BC%20b"])
  }

  @Test func `a server that takes the request and never answers is given up`() throws {
    let server = try ScriptedServer { connection in
      _ = try connection.question()
      // An interim answer and a partial head are not an answer.
      try connection.send(stream: "HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\n")
      try connection.remain()
    }
    let result = try PusherCLI.sse(server, "--connect-timeout", "300ms").result()
    #expect(result.ending == .exited(4))
    #expect(
      result.errorText
        == "pusher-cli: error: the server did not finish the head of its answer "
        + "(17 bytes received) within 0.3 s (wait longer with --connect-timeout TIME)\n")
  }

  @Test func `a redirect to a server that never answers is given up in the same time`() throws {
    let silent = try ScriptedServer { connection in try connection.remain() }
    let server = try ScriptedServer { connection in
      _ = try connection.question()
      try connection.send(
        stream: "HTTP/1.1 307 Moved\r\nLocation: \(silent.url)\r\nContent-Length: 0\r\n\r\n")
      try connection.remain()
    }
    let result = try PusherCLI.sse(server, "--connect-timeout", "300ms").result()
    #expect(result.ending == .exited(4))
    #expect(
      result.errorText.contains("did not answer the request within 0.3 s"), "\(result.errorText)")
  }
}
