import Foundation
import PusherCore
import Testing

/// An event that reports a failure inside the stream.
@Suite("--fail-event", .runsPrograms)
struct FailEventTests {
  private func sse(_ stream: String, _ options: String...) throws -> ProgramResult {
    let server = try ScriptedServer { connection in
      try connection.beginStream()
      try connection.send(stream: stream)
      try connection.remain()
    }
    return try PusherCLI.start(["sse", server.url, "--timeout", "10m"] + options).result()
  }

  private func subscribe(_ options: [String]) throws -> ProgramResult {
    let server = try ScriptedServer { connection in
      try connection.join()
      for name in ["build.started", "build.step", "build.failed", "build.cleaned"] {
        try connection.send(event: name, data: #"{"n": 1}"#)
      }
      try connection.stay()
    }
    return try PusherCLI.start(
      ["subscribe"] + server.address + ["news", "--timeout", "10m"] + options
    ).result()
  }

  private static let failure = "pusher-cli: error: the server sent 'build.failed': {\"n\": 1}\n"

  private func line(_ name: String) -> String {
    #"{"event":"\#(name)","channel":"news","data":{"n":1}}"# + "\n"
  }

  @Test(arguments: ["error", "err*", ".error"])
  func `an error inside an answer ends it with 5, after the text so far`(glob: String) throws {
    let result = try sse(
      ModelStreams.message("Hel", "lo", end: ModelStreams.overloaded + ModelStreams.messageStop),
      "--field", "delta.text", "--join", "--until-event", "message_stop", "--fail-event", glob)
    #expect(result.ending == .exited(5))
    #expect(result.outputText == "Hello\n")
    #expect(
      result.errorText
        == "pusher-cli: error: the server sent 'error': \(ModelStreams.overload)\n",
      "\(result.errorText)")
  }

  @Test func `without the option such an event is one like any other`() throws {
    let result = try sse(ModelStreams.overloaded, "-n", "1")
    #expect(result.ending == .exited(0) && result.errorText.isEmpty)
    #expect(result.outputText == #"{"event":"error","data":\#(ModelStreams.overload)}"# + "\n")
  }

  @Test func `subscribe ends too; events before are printed, the event itself is not`() throws {
    let result = try subscribe(["--fail-event", "build.failed"])
    #expect(result.ending == .exited(5))
    #expect(result.outputText == line("build.started") + line("build.step"))
    #expect(result.errorText == Self.failure, "\(result.errorText)")
  }

  @Test(arguments: [
    ["-e", "build.st*"], ["-x", "build.failed"], ["-e", "build.st*", "-x", "*ed"],
  ])
  func `an event that is left out ends the run too`(options: [String]) throws {
    let result = try subscribe(["--fail-event", "*.failed"] + options)
    #expect(result.ending == .exited(5))
    #expect(result.errorText == Self.failure, "\(result.errorText)")
  }

  @Test(arguments: [
    ["-o", "raw"], ["-o", "pretty"], ["-F", "%e"], ["-F", "%N"], ["--exec", "cat"], ["-0"], ["-t"],
    ["--field", "n"],
  ])
  func `--fail-event ends every form of output`(options: [String]) throws {
    let result = try subscribe(["--fail-event", "build.failed"] + options)
    #expect(result.ending == .exited(5))
    let separator: Character = options == ["-0"] ? "\0" : "\n"
    #expect(result.outputText.split(separator: separator).count == 2, "\(result.outputText)")
    #expect(result.errorText == Self.failure, "\(result.errorText)")
  }

  @Test func `--fail-event beats --until-event, and the run ends with whichever event comes first`()
    throws
  {
    let both = try subscribe(["--fail-event", "build.failed", "--until-event", "build.f*"])
    #expect(both.ending == .exited(5))
    let earlier = try subscribe(["--fail-event", "build.failed", "--until-event", "build.step"])
    #expect(earlier.ending == .exited(0) && earlier.errorText.isEmpty)
    let counted = try subscribe(["--fail-event", "build.failed", "-n", "2"])
    #expect(counted.ending == .exited(0) && counted.errorText.isEmpty)
    let uncounted = try subscribe(["--fail-event", "build.failed", "-n", "3"])
    #expect(uncounted.ending == .exited(5))
  }

  @Test func `one match of several is enough`() throws {
    let result = try subscribe(["--fail-event", "x", "--fail-event", "build.step"])
    #expect(result.ending == .exited(5))
    #expect(result.outputText == line("build.started"))
  }

  @Test func `-L tells at the end what ended the run`() throws {
    let result = try subscribe(["--fail-event", "build.failed", "-L"])
    let last = result.outputText.split(separator: "\n").last ?? ""
    #expect(last.contains(#""status":5,"reason":"fail-event","events":2"#), "\(last)")
  }

  @Test func `--record gets the event`() throws {
    let path = TemporaryFolder.shared.file("record")
    let result = try subscribe(["--fail-event", "build.failed", "--record", path])
    #expect(result.ending == .exited(5))
    let last = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").last ?? ""
    #expect(last.hasSuffix(String(line("build.failed").dropFirst().dropLast())), "\(last)")
  }

  @Test func `foreign data stays one line without control characters`() throws {
    let result = try sse(
      "event: error\ndata: a\u{1B}[2J\ndata: b\u{7F}\n\n", "--fail-event", "error")
    #expect(result.ending == .exited(5))
    #expect(
      result.errorText
        == #"pusher-cli: error: the server sent 'error': a\u{1b}[2J\nb\u{7f}"# + "\n",
      "\(result.errorText)")
  }

  @Test func `long data is cut, and the rest counted`() throws {
    let data = String(repeating: "x", count: 100_000)
    let result = try sse("event: error\ndata: \(data)\n\n", "--fail-event", "error")
    #expect(result.ending == .exited(5))
    #expect(result.errors.count < 4300)
    #expect(result.errorText.hasSuffix(" more bytes)\n"), "\(result.errorText.suffix(60))")
    #expect(result.errorLines.count == 1)
  }

  @Test func `an event without data is named alone`() throws {
    let server = try ScriptedServer { connection in
      try connection.join()
      try connection.send(text: #"{"event":"stopped","channel":"news"}"#)
      try connection.stay()
    }
    let result = try PusherCLI.subscribe(to: server, "news", "--fail-event", "stopped").result()
    #expect(result.ending == .exited(5))
    #expect(
      result.errorText == "pusher-cli: error: the server sent 'stopped'\n", "\(result.errorText)")
  }
}
