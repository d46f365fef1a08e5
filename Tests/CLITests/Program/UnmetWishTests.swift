import Foundation
import PusherCore
import Testing

/// A run that ends before the event that it waits for: the wiring of `TruthTableTests`.
@Suite("A run that ends before its wish ends with 5", .runsPrograms) struct UnmetWishTests {
  private static let two = "data: 1\n\nevent: tick\ndata: 2\n\n"
  private static let lines =
    #"{"event":"message","data":1}"# + "\n" + #"{"event":"tick","data":2}"# + "\n"
  private static let post = ["-d", "{}"]

  private func sse(
    _ stream: String, _ options: [String], isChunked: Bool = false
  ) throws -> ProgramResult {
    let server = try ScriptedServer { connection in
      guard isChunked else {
        try connection.answer(body: stream, type: "text/event-stream")
        return
      }
      try connection.beginStream([("Transfer-Encoding", "chunked")])
      try connection.send(chunk: stream)
      try connection.send(chunk: "")
    }
    return try PusherCLI.run(["sse", server.url] + options)
  }

  @Test(
    arguments: [
      (["-n", "3"], "2 of 3 events"),
      (["--until", "[DONE]"], "2 events; --until '[DONE]' never came"),
      (["--until-event", "done"], "2 events; --until-event 'done' never came"),
    ], [["--reconnect", "never"], post])
  func `every wish is named at each end's mark`(wish: ([String], String), rest: [String]) throws {
    for isChunked in [true, false] {
      try sse(Self.two, wish.0 + rest, isChunked: isChunked)
        .expect(5, prints: Self.lines, error: "the stream ended after \(wish.1)")
    }
  }

  @Test(arguments: [
    (
      ["-e", "done", "-n", "1"],
      "0 of 1 events (2 other events came, none matches -e: 'message', 'tick')"
    ),
    (
      ["--field", "text", "--until", "[DONE]"],
      "0 events; --until '[DONE]' never came (2 events came without the field 'text', one of "
        + "them: 2)"
    ),
  ])
  func `the sentence names what was left out`(options: [String], words: String) throws {
    try sse(Self.two, Self.post + options)
      .expect(5, prints: "", error: "the stream ended after \(words)")
  }

  private static let text = Self.post + ["--field", "text", "--join"]
  private static let error = #"{"error":{"message":"overloaded"}}"#
  private static let broken = #"data: {"text":"Hel"}"# + "\n\ndata: \(error)\n\n"

  @Test func `an error in the middle of an answer is quoted`() throws {
    try sse(Self.broken, Self.text + ["--until", "[DONE]"]).expect(
      5, prints: "Hel\n",
      error: "the stream ended after 1 event; --until '[DONE]' never came (1 event came without "
        + "the field 'text': \(Self.error))")
  }

  @Test(arguments: [
    (["--until", "[DONE]"], "1 event came without the field 'text': "),
    (["-n", "2"], "1 event came without the field 'text': "),
    ([], "2 events came without the field 'text', one of them: "),
  ])
  func `a warning quotes an error in a whole answer`(options: [String], words: String) throws {
    let whole = Self.broken + #"data: {"text":"lo"}"# + "\n\ndata: [DONE]\n\n"
    try sse(whole, Self.text + options)
      .expect(0, prints: "Hello\n", says: "pusher-cli: warning: \(words)\(Self.error)\n")
  }

  @Test(arguments: [
    (["-n", "3"], "; 1 of 3 events came"),
    (["--until-event", "b"], "; --until-event 'b' never came"), ([], ""),
  ])
  func `a server that closes the socket is a lost connection, and the wish is named`(
    options: [String], words: String
  ) throws {
    let server = try ScriptedServer { connection in
      try connection.join()
      try connection.send(event: "a", data: "1")
      try connection.close(code: 1000)
    }
    try PusherCLI.run(
      ["subscribe"] + server.address + ["news", "--reconnect", "never"] + options
    ).expect(4, error: "closed by the server with code 1000\(words)")
  }

  @Test(arguments: [true, false])
  func `on a terminal joined text ends its line before the message`(isMarked: Bool) throws {
    let text = #"data: {"text":"Hel"}"# + "\n\n"
    let server = try ScriptedServer { connection in
      try connection.beginStream(isMarked ? [("Content-Length", "\(text.utf8.count)")] : [])
      try connection.send(stream: text)
    }
    let terminal = try PseudoTerminal()
    let program = try ChildProgram(
      "/bin/sh",
      ["-c", #"exec "$0" "$@" 2>&1"#, PusherCLI.path, "sse", server.url, "-q"] + Self.text + [
        "--until", "[DONE]",
      ], environment: PusherCLI.environment, on: terminal.path)
    #expect(try program.wait() == .exited(isMarked ? 5 : 4))
    #expect(
      terminal.text.hasPrefix("Hel\r\n") && terminal.text.contains("error:"),
      "\(terminal.text.debugDescription)")
  }

  @Test(arguments: ["", "\n \n", #"{"event":"pusher-cli:exit"}"# + "\n"])
  func `trigger - that has nothing to send says so`(input: String) throws {
    let server = try LocalServer()
    let program = try server.start("trigger", "-", input: .pipe)
    program.write(Array(input.utf8))
    program.closeInput()
    let result = try program.result()
    #expect(result.ending == .exited(0))
    #expect(
      result.errorLines.last
        == "pusher-cli: warning: nothing was sent: standard input has no event",
      "\(result.errorText)")
  }
}
