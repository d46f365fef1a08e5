import Foundation
import PusherCore
import Testing

struct BadStream: Sendable, CustomStringConvertible {
  var description: String
  var options: [String] = []
  /// The first answer, and every later one.
  var answer: ScriptedServer.Script
  var status: Int32
  var message: String
  var printed = ""

  private static let event = #"{"event":"message","data":1}"# + "\n"

  private static func status(
    _ status: Int, _ fields: (String, String)...
  ) -> ScriptedServer.Script {
    { connection in
      _ = try connection.question()
      try connection.answer(status, "Reason", fields)
    }
  }

  private static func stream(
    _ text: String, _ fields: (String, String)..., type: String = "text/event-stream"
  ) -> ScriptedServer.Script {
    { connection in
      try connection.beginStream(fields, type: type)
      try connection.send(stream: text)
      try connection.remain()
    }
  }

  static let answers = [
    BadStream(
      description: "HTML", answer: stream("<html>", type: "text/html; charset=utf-8"), status: 5,
      message: "the answer is not an event stream, but of type text/html; charset=utf-8"),
    BadStream(
      description: "a type that only begins so", answer: stream("", type: "text/event-streams"),
      status: 5, message: "but of type text/event-streams"),
    BadStream(
      description: "401", answer: status(401), status: 3,
      message: "the server answered HTTP 401 (Reason) (use -H @FILE for a token"),
    BadStream(
      description: "403", answer: status(403), status: 3, message: "the server answered HTTP 403"),
    BadStream(
      description: "404", answer: status(404), status: 5,
      message: "HTTP 404 (Reason) (nothing there: is the URL right?)"),
    BadStream(
      description: "500", answer: status(500), status: 4, message: "the server answered HTTP 500"),
    BadStream(
      description: "503 with Retry-After", answer: status(503, ("Retry-After", "7")), status: 4,
      message: "HTTP 503 (Reason) and asks to wait 7 s"),
    BadStream(
      description: "a redirect loop", answer: status(302, ("Location", "/again")), status: 5,
      message: "HTTP 302 (more than 5 redirects; the next is to /again)"),
    BadStream(
      description: "a redirect without a Location", answer: status(302), status: 5,
      message: "HTTP 302 (a redirect without a Location)"),
    BadStream(
      description: "a redirect to another protocol",
      answer: status(302, ("Location", "ftp://a/")), status: 5,
      message: "HTTP 302 (a redirect to an invalid URL"),
    BadStream(
      description: "another content coding", answer: stream("", ("Content-Encoding", "br")),
      status: 5, message: "its content coding is neither gzip nor deflate: br"),
    BadStream(
      description: "gzip that is none", answer: stream("data: 1\n\n", ("Content-Encoding", "gzip")),
      status: 5, message: "the body does not match its content coding"),
    BadStream(
      description: "broken chunks",
      answer: stream(
        "9\r\ndata: 1\n\n\r\nzz\r\n", ("Transfer-Encoding", "chunked")),
      status: 5, message: "the chunked HTTP body is malformed", printed: event),
    BadStream(
      description: "an SSH server",
      answer: { connection in
        try connection.send(stream: "SSH-2.0-OpenSSH_9.2p1\r\n")
        try connection.remain()
      }, status: 5, message: "the other side is an SSH server"),
    BadStream(
      description: "a line past its limit", options: ["--max-event", "1k"],
      answer: stream("data: 1\n\n:" + String(repeating: "x", count: 2000)), status: 5,
      message: "a line of the event stream is longer than 1088 bytes (--max-event SIZE raises",
      printed: event),
    BadStream(
      description: "an event past its limit", options: ["--max-event", "1k"],
      answer: stream(
        "data: 1\n\n"
          + String(repeating: "data: " + String(repeating: "x", count: 99) + "\n", count: 11)
      ), status: 5, message: "an event's data is larger than 1024 bytes", printed: event),
    BadStream(
      description: "a stream that stalls", options: ["--idle-timeout", "3s"],
      answer: stream("data: 1\n\ndata: 2\n"), status: 124,
      message: "timed out: no event for 3 s", printed: event),
    BadStream(
      description: "silence", options: ["--activity-timeout", "2s", "--reconnect", "never"],
      answer: stream("data: 1\n\n"), status: 4,
      message: "the server sent nothing for 2 s (--activity-timeout TIME sets the limit)",
      printed: event),
    BadStream(
      description: "the end of a stream, when it may not be repeated",
      options: ["--max-retries", "0"],
      answer: { connection in
        try connection.beginStream()
        try connection.send(stream: "data: 1\n\n")
      }, status: 4,
      message: "gave up after 0 attempts: the server closed the connection without marking",
      printed: event),
    BadStream(
      description: "no answer", answer: { _ = try $0.question() }, status: 4,
      message: "the server closed the connection before it answered"),
  ]
}

@Suite("sse, what goes wrong", .runsPrograms)
struct StreamFailureTests {
  @Test(arguments: BadStream.answers)
  func `each failure has a line of its own and its status, and printed lines stay whole`(
    _ bad: BadStream
  ) throws {
    let server = try ScriptedServer { connection in try bad.answer(connection) }
    let program = try PusherCLI.start(["sse", server.url] + bad.options)
    let result = try program.result()
    #expect(result.ending == .exited(bad.status), "\(result.errorText)")
    #expect(result.outputText == bad.printed)
    #expect(result.errorLines.count == 1, "\(result.errorText)")
    #expect(result.errorText.contains(bad.message), "\(result.errorText)")
  }

  @Test func `bytes that are not UTF-8 become replacement characters`() throws {
    let server = try ScriptedServer.streaming { connection in
      try connection.send(
        bytes: Array("data: a".utf8) + [0xFF, 0xE2, 0x82] + Array("b\n\n".utf8))
    }
    let result = try PusherCLI.sse(server, "-n", "1").result()
    #expect(result.outputText == "{\"event\":\"message\",\"data\":\"a\u{FFFD}\u{FFFD}b\"}\n")
  }

  @Test func `a bomb of a compressed stream ends at the limit`() throws {
    let server = try ScriptedServer { connection in
      try connection.beginStream([("Content-Encoding", "deflate")])
      let packed = ByteBuffer()
      let plain = ByteBuffer()
      plain.append([UInt8](repeating: 0x20, count: 64 << 20))
      Deflater(windowBits: 15).deflate(plain.view.raw, into: packed)
      try connection.send(packed)
      try connection.remain()
    }
    let result = try PusherCLI.sse(server, "--max-event", "1M").result()
    #expect(result.ending == .exited(5))
    #expect(result.errorText.contains("longer than 1048640 bytes"), "\(result.errorText)")
  }

  @Test func `a reader that stalls holds the server back, and nothing is lost`() throws {
    let total = 40_000
    let server = try ScriptedServer { connection in
      try connection.beginStream([("Transfer-Encoding", "chunked")])
      let block = ByteBuffer()
      for number in 0..<total {
        let event = "id: \(number)\ndata: {\"n\":\(number),\"x\":\(Flood.data)}\n\n"
        block.append("\(String(event.utf8.count, radix: 16))\r\n\(event)\r\n")
        if block.count > 65_536 { try connection.send(block) }
      }
      try connection.send(block)
      try connection.remain()
    }
    let program = try PusherCLI.sse(server, "-n", "\(total)", "--buffer", "64k")
    try program.awaitFullPipe()
    for number in 0..<total {
      let line = try program.lineBytes()
      guard String(decoding: line, as: UTF8.self).contains(#""id":"\#(number)","#) else {
        Issue.record("line \(number) is \(String(decoding: line, as: UTF8.self))")
        return
      }
    }
    #expect(try program.wait() == .exited(0))
  }
}
