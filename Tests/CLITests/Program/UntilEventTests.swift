import Foundation
import PusherCore
import Testing

/// All events are printed as usual; the run waits for one of them.
@Suite("--until-event", .runsPrograms)
struct UntilEventTests {
  private func server() throws -> ScriptedServer {
    try ScriptedServer { connection in
      try connection.join()
      for name in ["build.started", "build.step", "build.finished", "build.cleaned"] {
        try connection.send(event: name, data: "1")
      }
      try connection.stay()
    }
  }

  private func run(_ options: [String], timeout: String = "10m") throws -> ProgramResult {
    let server = try server()
    return try PusherCLI.start(
      ["subscribe"] + server.address + ["news", "--timeout", timeout] + options
    ).result()
  }

  private func line(_ name: String) -> String {
    #"{"event":"\#(name)","channel":"news","data":1}"# + "\n"
  }

  @Test(arguments: ["build.finished", "*.fin*", ".build.finished"])
  func `the run ends with 0 after the event, which is printed as all before it`(glob: String) throws
  {
    let result = try run(["--until-event", glob])
    #expect(result.ending == .exited(0) && result.errorText.isEmpty)
    #expect(
      result.outputText == line("build.started") + line("build.step") + line("build.finished"))
  }

  @Test func `one match of several is enough`() throws {
    let result = try run(["--until-event", "build.failed", "--until-event", "build.step"])
    #expect(result.outputText == line("build.started") + line("build.step"))
  }

  @Test(arguments: [["-e", "build.st*"], ["-x", "build.finished"]])
  func `an event that is left out ends the run too`(options: [String]) throws {
    let result = try run(["--until-event", "build.finished"] + options)
    #expect(result.ending == .exited(0))
    #expect(result.outputText == line("build.started") + line("build.step"))
  }

  @Test(arguments: [
    ["-o", "raw"], ["-o", "pretty"], ["-F", "%e"], ["--exec", "cat"], ["-0"], ["-t"],
    ["--summary"],
  ])
  func `--until-event ends every form of output`(options: [String]) throws {
    let result = try run(["--until-event", "build.finished"] + options)
    #expect(result.ending == .exited(0))
    let separator: Character = options == ["-0"] ? "\0" : "\n"
    #expect(result.outputText.split(separator: separator).count == 3, "\(result.outputText)")
  }

  @Test func `with -n the run ends with whichever comes first`() throws {
    let counted = try run(["--until-event", "build.finished", "-n", "2"])
    #expect(counted.outputText == line("build.started") + line("build.step"))
    let awaited = try run(["--until-event", "build.step", "-n", "3"])
    #expect(awaited.outputText == line("build.started") + line("build.step"))
  }

  @Test func `without the event the time limit ends the run with 124 and names what is missing`()
    throws
  {
    let result = try run(
      ["--until-event", "build.failed", "--until-event", "x"], timeout: "300ms")
    #expect(result.ending == .exited(124))
    #expect(
      result.errorText
        == "pusher-cli: error: timed out: 4 events within 0.3 s; --until-event 'build.failed' "
        + "or 'x' never came\n",
      "\(result.errorText)")
    #expect(result.outputText.split(separator: "\n").count == 4)
  }

  @Test func `-L tells at the end what ended the run`() throws {
    let result = try run(["--until-event", "build.step", "-L"])
    let last = result.outputText.split(separator: "\n").last ?? ""
    #expect(last.contains(#""status":0,"reason":"until","events":2"#), "\(last)")
  }

  @Test func `sse ends after the event too`() throws {
    let server = try ScriptedServer { connection in
      try connection.beginStream()
      try connection.send(
        stream: "event: a\ndata: 1\n\nevent: done\ndata: 2\n\nevent: later\ndata: 3\n\n")
      try connection.remain()
    }
    let result = try PusherCLI.sse(
      server, "--until-event", "done", "-x", "done", "--timeout", "10m"
    ).result()
    #expect(result.ending == .exited(0))
    #expect(result.outputText == #"{"event":"a","data":1}"# + "\n")
  }
}

/// A file with every event, whatever is printed.
@Suite("--record", .runsPrograms)
struct RecordTests {
  private let path = TemporaryFolder.shared.file("record")

  private func lines() throws -> [String] {
    try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").map { line in
      let (head, time) = (#"{"received_at":""#, "2026-11-22T11:44:24.243Z".count)
      #expect(line.hasPrefix(head))
      return "{" + line.dropFirst(head.count + time + 2)
    }
  }

  @Test(arguments: [[], ["-o", "pretty"], ["-F", "%e"], ["--exec", "cat"], ["-x", "b*"]])
  func `every event is recorded, printed or not`(options: [String]) throws {
    let server = try ScriptedServer { connection in
      try connection.join()
      for name in ["a", "b", "c"] { try connection.send(event: name, data: #"{"n":1.10}"#) }
      try connection.stay()
    }
    let result = try PusherCLI.start(
      ["subscribe"] + server.address
        + ["news", "--record", path, "-e", "c", "-n", "1", "--timeout", "10m"] + options
    ).result()
    #expect(result.ending == .exited(0), "\(result.errorText)")
    #expect(result.outputText.split(separator: "\n").count == 1)
    #expect(
      try lines()
        == ["a", "b", "c"].map { #"{"event":"\#($0)","channel":"news","data":{"n":1.10}}"# }
    )
    let permissions = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions]
    #expect(permissions as? Int == 0o600)
  }

  @Test func `sse records every event with its id`() throws {
    let server = try ScriptedServer { connection in
      try connection.beginStream()
      try connection.send(stream: "id: 1\nevent: a\ndata: 1\n\nid: 2\nevent: b\ndata: 2\n\n")
      try connection.remain()
    }
    let result = try PusherCLI.sse(
      server, "--record", path, "-e", "b", "-n", "1", "--timeout", "10m"
    ).result()
    #expect(result.outputText == #"{"event":"b","id":"2","data":2}"# + "\n")
    #expect(
      try lines() == [#"{"event":"a","id":"1","data":1}"#, #"{"event":"b","id":"2","data":2}"#])
  }

  @Test func `SIGHUP goes on with the file of the name`() throws {
    let server = try LocalServer()
    let program = try PusherCLI.start(
      ["subscribe"] + server.address + ["news", "--record", path, "-v"],
      environment: LocalServer.environment("local-secret"))
    _ = try program.errorLine(containing: "subscribed to news")
    _ = try server.trigger("news", "e", "1")
    try waitUntil("the event is recorded") { (try? lines())?.count == 1 }
    try FileManager.default.moveItem(atPath: path, toPath: path + ".1")
    program.send(SIGHUP)
    _ = try program.errorLine(containing: "reopened \(path)")
    _ = try server.trigger("news", "e", "2")
    try waitUntil("the next event is in the new file") { (try? lines())?.count == 1 }
    program.send(SIGTERM)
    #expect(try program.wait() == .signalled(SIGTERM))
    #expect(try lines() == [#"{"event":"e","channel":"news","data":2}"#])
  }

  @Test func `a device is refused`() throws {
    let result = try PusherCLI.start(
      ["subscribe", "--key", "k", "--record", "/dev/full", "news"]
    ).result()
    #expect(result.ending == .exited(2))
    #expect(
      result.errorText.hasPrefix(
        "pusher-cli: error: --record: cannot write '/dev/full': it is not a file"),
      "\(result.errorText)")
  }

  @Test func `one file for both outputs is refused`() throws {
    let result = try PusherCLI.start(
      ["subscribe", "--key", "k", "news", "--record", path, "--output-file", path]
    ).result()
    #expect(result.ending == .exited(2))
    #expect(result.errorText.contains("name the same file"))
  }
}
