import Foundation
import PusherCore
import Testing

/// SIGHUP for a run whose settings come from files.
@Suite("SIGHUP and settings from files", .runsPrograms)
struct RereadTests {
  private let file = TemporaryFolder.shared.file("app.env")

  private func server(_ secret: String) throws -> LocalServer { try LocalServer(secret: secret) }

  private func write(_ server: LocalServer, secret: String, more: String = "") throws {
    let text = """
      PUSHER_APP_KEY=\(LocalServer.key)
      PUSHER_APP_SECRET=\(secret)
      PUSHER_APP_ID=\(LocalServer.appID)
      PUSHER_HOST=127.0.0.1
      PUSHER_PORT=\(server.port)
      PUSHER_SCHEME=http
      \(more)
      """
    try write(text)
  }

  private func write(_ text: String) throws {
    try text.write(toFile: file, atomically: true, encoding: .utf8)
    #expect(chmod(file, 0o600) == 0)
  }

  private func joined(_ options: String...) throws -> ChildProgram {
    let program = try PusherCLI.start(
      ["subscribe", "--env-file", file, "private-a", "-L"] + options)
    #expect(try program.lines(2)[1].contains("subscription_succeeded"))
    return program
  }

  @Test func `another server and secret are taken, and the run goes on with its counts`() throws {
    let (first, second) = (try server("first-secret"), try server("second-secret"))
    try write(first, secret: "first-secret")
    let program = try joined("-n", "2")
    _ = try first.trigger("private-a", "e", "1")
    #expect(try program.line().contains(#""data":1"#))
    try write(second, secret: "second-secret")
    program.send(SIGHUP)
    let words = try program.errorLine(containing: "again")
    #expect(
      words == "pusher-cli: read \(file) again: port, credentials changed; now using "
        + "127.0.0.1:\(second.port)")
    let lines = try program.lines(4)
    #expect(lines[0].contains(#""reason":"the settings have changed","retry_in":0,"#))
    #expect(lines[2].contains(#"subscription_succeeded","channel":"private-a""#))
    #expect(lines[3].contains("pusher-cli:gap"))
    _ = try second.trigger("private-a", "e", "2")
    let result = try program.result()
    #expect(result.ending == .exited(0))
    #expect(result.outputText.contains(#""data":2"#))
    #expect(result.outputText.contains(#""reason":"count","events":2"#))
    #expect(!result.errorText.contains("secret") && !result.errorText.contains("connection lost"))
  }

  @Test func `settings that are the same change nothing, others count from the next start`() throws
  {
    let server = try server("first-secret")
    let config = try TemporaryFolder.shared.file(
      "reread-config", holding: "[subscribe]\nstats = 1h\n")
    try write(server, secret: "first-secret")
    let program = try joined("--config", config)
    program.send(SIGHUP)
    let same = "pusher-cli: read \(file), \(config) again: nothing has changed"
    #expect(try program.errorLine(containing: "again") == same)
    try "[subscribe]\nstats = 2h\n".write(toFile: config, atomically: true, encoding: .utf8)
    program.send(SIGHUP)
    #expect(
      try program.errorLine(containing: "again")
        == "pusher-cli: read \(file), \(config) again: other settings apply after a restart")
    // The connection is still the same.
    _ = try server.trigger("private-a", "e", "1")
    #expect(try program.line().contains(#""data":1"#))
  }

  @Test func `files that are wrong or gone are warned of, and the old settings stay`() throws {
    let server = try server("first-secret")
    try write(server, secret: "first-secret")
    let program = try joined()
    for (text, reason) in [
      ("PUSHER_PORT=1\n", "no app key in \(file)"),
      ("PUSHER_APP_KEY=k\nPUSHER_HOST=127.0.0.1\nPUSHER_PORT=x\n", "is not a port from 1 to 65535"),
    ] {
      try write(text)
      program.send(SIGHUP)
      let line = try program.errorLine(containing: "SIGHUP")
      #expect(line.hasPrefix("pusher-cli: warning: SIGHUP: ") && line.contains(reason), "\(line)")
      #expect(line.hasSuffix("; the settings stay as they are"))
    }
    try FileManager.default.removeItem(atPath: file)
    program.send(SIGHUP)
    #expect(try program.errorLine(containing: "SIGHUP").contains("cannot read '\(file)'"))
    _ = try server.trigger("private-a", "e", "1")
    #expect(try program.line().contains(#""data":1"#))
  }

  @Test func `a server that is out of reach is tried again, and the former connection stays`()
    throws
  {
    let first = try server("first-secret")
    let second = try server("second-secret")
    try write(first, secret: "first-secret")
    let program = try joined("--reconnect-delay", "10ms", "--retry-max-delay", "10ms")
    try second.kill()
    try write(second, secret: "second-secret")
    program.send(SIGHUP)
    let words = try program.errorLine()
    #expect(
      words.hasPrefix("pusher-cli: warning: SIGHUP: 127.0.0.1: ")
        && words.hasSuffix("; keeping the current connection and retrying in 10 ms"), "\(words)")
    _ = try first.trigger("private-a", "e", "1")
    #expect(try program.line().contains(#""data":1"#))
    let third = try LocalServer(secret: "second-secret", port: second.port)
    try program.errorLine(containing: "now using")
    #expect(try program.lines(4)[3].contains("pusher-cli:gap"))
    _ = try third.trigger("private-a", "e", "2")
    #expect(try program.line().contains(#""data":2"#))
  }

  @Test func `a wrong key is told, and the healthy connection goes on`() throws {
    let server = try server("first-secret")
    try write(server, secret: "first-secret")
    let program = try joined("-n", "2")
    let right = try String(contentsOfFile: file, encoding: .utf8)
    try write(right.replacing("PUSHER_APP_KEY=\(LocalServer.key)", with: "PUSHER_APP_KEY=7777-key"))
    program.send(SIGHUP)
    let words = try program.errorLine()
    #expect(
      words.hasPrefix("pusher-cli: warning: SIGHUP: 127.0.0.1: closed by the server with code 4001")
    )
    #expect(words.contains("(is key 7777… right"), "\(words)")
    #expect(words.hasSuffix("; the settings stay as they are"))
    _ = try server.trigger("private-a", "e", "1")
    #expect(try program.line() == #"{"event":"e","channel":"private-a","data":1}"#)
    // Later valid settings take effect.
    let second = try self.server("second-secret")
    try write(second, secret: "second-secret")
    program.send(SIGHUP)
    try program.errorLine(containing: "now using")
    _ = try second.trigger("private-a", "e", "2")
    let result = try program.result()
    #expect(result.ending == .exited(0))
    #expect(result.outputText.contains(#"{"event":"e","channel":"private-a","data":2}"#))
  }

  @Test func `a wrong secret, whose channel is refused, is told, and the feed goes on`() throws {
    let server = try server("first-secret")
    try write(server, secret: "first-secret")
    let program = try joined("-n", "1")
    try write(server, secret: "wrong-secret")
    program.send(SIGHUP)
    let words = try program.errorLine()
    #expect(words.hasPrefix("pusher-cli: warning: SIGHUP: 127.0.0.1: private-a refused: "))
    #expect(words.hasSuffix("; the settings stay as they are"), "\(words)")
    _ = try server.trigger("private-a", "e", "1")
    let result = try program.result()
    #expect(result.ending == .exited(0))
    #expect(!result.outputText.contains("subscription_error"))
  }

  @Test func `the former connection ends once everything is subscribed, and no event before that`()
    throws
  {
    let (asked, go, confirm) = (Gate(), Gate(), Gate())
    let former = try ScriptedServer { connection in
      try connection.join(2)
      try connection.wait(for: go)
      try connection.send(event: "former", channel: "b", data: "1")
      guard case .closed = try connection.event() else { throw Unexpected("no goodbye") }
    }
    let next = try ScriptedServer { connection in
      try connection.welcome()
      try connection.acceptSubscription()
      // The event arrives before the last channel is confirmed.
      try connection.send(event: "next", channel: "a", data: "2")
      _ = try connection.subscription()
      asked.open()
      try connection.wait(for: confirm)
      try connection.send(
        event: "pusher_internal:subscription_succeeded", channel: "b", data: "{}")
      try connection.send(event: "next", channel: "b", data: "3")
      try connection.stay()
    }
    func write(port: UInt16) throws {
      try self.write(
        "PUSHER_APP_KEY=k\nPUSHER_HOST=127.0.0.1\nPUSHER_PORT=\(port)\nPUSHER_SCHEME=http\n")
    }
    try write(port: former.port)
    let program = try PusherCLI.start(["subscribe", "--env-file", file, "a", "b", "-L"])
    _ = try program.lines(3)
    try write(port: next.port)
    program.send(SIGHUP)
    try asked.wait()
    go.open()
    #expect(try program.line() == #"{"event":"former","channel":"b","data":1}"#)
    confirm.open()
    let lines = try program.lines(7).map { try JSONParser.parse($0) }
    #expect(
      lines.map { $0["event"]?.text } == [
        "pusher-cli:disconnected", "pusher:connection_established",
        "pusher:subscription_succeeded", "next", "pusher:subscription_succeeded",
        "pusher-cli:gap", "next",
      ])
    #expect(lines.compactMap { $0["data"]?.integer } == [2, 3])
  }

  @Test func `without a file, and for other commands, SIGHUP ends the run`() throws {
    let server = try server("first-secret")
    let program = try server.subscribe(["private-a"], "-L")
    program.send(SIGHUP)
    #expect(try program.wait() == .signalled(SIGHUP))
    let input = try PusherCLI.start(
      ["subscribe", "--env-file", "-", "public", "-L"], input: .pipe)
    input.write(
      Array(
        "PUSHER_APP_KEY=\(LocalServer.key)\nPUSHER_HOST=127.0.0.1\nPUSHER_PORT=\(server.port)\nPUSHER_SCHEME=http\n"
          .utf8))
    input.closeInput()
    _ = try input.lines(2)
    input.send(SIGHUP)
    #expect(try input.wait() == .signalled(SIGHUP))
    let stream = try ScriptedServer { connection in
      try connection.beginStream()
      try connection.send(stream: "data: 1\n\n")
      try connection.remain()
    }
    let config = try TemporaryFolder.shared.file("stream-config", holding: "[sse]\nstats = 1h\n")
    let reader = try PusherCLI.sse(stream, "--config", config)
    _ = try reader.line()
    reader.send(SIGHUP)
    #expect(try reader.wait() == .signalled(SIGHUP))
  }

  @Test func `a terminal that hangs up ends the run`() throws {
    let server = try server("first-secret")
    try write(server, secret: "first-secret")
    let ready = TemporaryFolder.shared.file("ready")
    var terminal: PseudoTerminal? = try PseudoTerminal()
    // The output goes elsewhere. Only the signal reports the loss of the terminal.
    let program = try ChildProgram(
      "/bin/sh",
      [
        "-c", #"exec "$0" "$@" >"$OUT" 2>&1"#, PusherCLI.path, "subscribe", "--env-file", file,
        "private-a", "--on-ready", "echo >'\(ready)'",
      ],
      environment: PusherCLI.environment.merging(["OUT": ready + "-output"]) { $1 },
      on: try #require(terminal?.path))
    try waitUntil("the channel is joined") { FileManager.default.fileExists(atPath: ready) }
    terminal = nil
    #expect(try program.wait() == .signalled(SIGHUP))
  }
}
