import Foundation
import Testing

@Suite("--on-ready: a command once events are sure to come", .runsProgramsFirst)
struct ReadyCommandTests {
  @Test func `with all channels --on-ready begins, once, and prints on standard error`() throws {
    let isAllowed = Gate()
    let server = try ScriptedServer { connection in
      try connection.welcome()
      try connection.acceptSubscription()
      try connection.wait(for: isAllowed)
      try connection.acceptSubscription()
      try connection.close(code: 4200)
    }
    let program = try PusherCLI.subscribe(
      to: server, "one", "two", "-L", "--on-ready", "echo begun; cat")
    _ = try program.lines(2)
    #expect(program.peekAtErrors() == "")
    isAllowed.open()
    try program.errorLine(containing: "begun")
    // Two more greetings do not start the command again.
    while server.connectionCount < 3 { _ = try program.line() }
    program.send(SIGTERM)
    let result = try program.result()
    #expect(result.ending == .signalled(SIGTERM))
    #expect(!result.errorText.contains("begun") && !result.outputText.contains("begun"))
  }

  @Test func `what --on-ready sets off is not missed, and success waits for its end`() throws {
    let server = try LocalServer()
    let file = TemporaryFolder.shared.file("done")
    let trigger =
      "\(PusherCLI.word) trigger \(server.address.joined(separator: " ")) -c news -e e 1"
    let program = try server.start(
      "subscribe", "news", "-n", "1", "--on-ready", "\(trigger); sleep 0.2; echo >\(file)")
    try program.result().expect(0, prints: #"{"event":"e","channel":"news","data":1}"# + "\n")
    #expect(FileManager.default.fileExists(atPath: file))
  }

  @Test(arguments: ["exit 9", "kill -9 $$"])
  func `a failure of --on-ready ends the run with 7`(command: String) throws {
    let server = try LocalServer()
    let program = try server.start("subscribe", "news", "-L", "--on-ready", command)
    let result = try program.result()
    result.expect(7, telling: "error: --on-ready: the command ended with status ")
    #expect(
      result.outputText.hasSuffix(
        #""data":{"status":7,"reason":"on-ready","events":0}}"# + "\n"), "\(result.outputText)")
  }

  @Test(.needs(.movedClock))
  func `a time limit and a signal end --on-ready, and what does not listen is killed`() throws {
    let server = try ScriptedServer.joined { _ in }
    let stubborn = "trap '' TERM; echo begun; while :; do sleep 0.1; done"
    let clock = try MovedClock(standsStill: true)
    let late = try PusherCLI.subscribe(
      to: server, "news", "-W", "3", "--on-ready",
      "trap 'echo ended; exit' TERM; echo begun; sleep 60 & wait",
      environment: clock.environment())
    try late.errorLine(containing: "begun")
    let program = try PusherCLI.subscribe(to: server, "news", "--on-ready", stubborn)
    try program.errorLine(containing: "begun")
    try program.end()
    // The command was the last process that held its standard error.
    #expect(try program.result().errorText == "")
    #expect(try clock.move(.seconds(3), untilEndOf: late) == .exited(0))
    let lines = try late.result().errorLines.map(String.init)
    #expect(lines.first == "ended" && lines.count == 2)
    #expect(lines.last?.hasPrefix("pusher-cli: warning: nothing came; ") == true, "\(lines)")
  }

  @Test func `sse and webhook have --on-ready, and serve tells it the port`() throws {
    let server = try ScriptedServer.streaming("")
    let stream = try PusherCLI.sse(server, "--on-ready", "exit 1")
    #expect(try stream.wait() == .exited(7))
    let listening = ["--listen", "127.0.0.1:0"]
    let listener = try PusherCLI.start(
      ["webhook", "listen", "--local", "--on-ready", "echo at $PUSHER_CLI_PORT"] + listening)
    let place = try listener.errorLine(containing: "listening for webhooks on")
    #expect(
      try listener.errorLine(containing: "at ") == "at \(place.split(separator: ":").last ?? "")")
    listener.send(SIGTERM)
    let local = try PusherCLI.start(
      ["serve", "--on-ready", "echo at $PUSHER_CLI_PORT; exit 5"] + listening)
    try local.errorLine(containing: "at ")
    #expect(try local.wait() == .exited(7))
  }

  @Test func `--local waits for the server, as long as a connection may take`() throws {
    let port = String(try Loopback.closedPort())
    let early = try PusherCLI.start(
      ["trigger", "--local", "--port", port, "-c", "news", "-e", "e", "1", "-v"]
        + ["--connect-timeout", "60s"])
    try early.errorLine(
      containing: "nothing listens on 127.0.0.1 port \(port) yet; waiting up to 60 s")
    let server = try PusherCLI.start(["serve", "--listen", "127.0.0.1:\(port)"])
    #expect(try early.wait() == .exited(0))
    try server.end()
  }
}
