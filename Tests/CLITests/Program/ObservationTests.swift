import Foundation
import Testing

@Suite("Watching a run: --trace and SIGUSR1", .runsPrograms) struct ObservationTests {
  @Test func `-vv says where the settings come from, and which addresses follow`() throws {
    let server = try ScriptedServer.joined { try $0.send(event: "e", data: "1") }
    let file = try TemporaryFolder.shared.file(
      "env",
      holding: "PUSHER_APP_KEY=secretive-key\nPUSHER_HOST=127.0.0.1\nPUSHER_APP_SECRET=hidden\n")
    let words = ["subscribe", "news", "-n", "1", "--env-file", file, "--scheme", "http"]
    let loud = try PusherCLI.run(words + ["-vv", "-p", "\(server.port)"]).errorText
    #expect(
      loud.hasPrefix(
        """
        pusher-cli: key: secr…, from PUSHER_APP_KEY in \(file)
        pusher-cli: secret: (set), from PUSHER_APP_SECRET in \(file)
        pusher-cli: host: 127.0.0.1, from PUSHER_HOST in \(file)
        pusher-cli: port: \(server.port), from --port
        pusher-cli: scheme: http, from --scheme
        pusher-cli: websocket: ws://127.0.0.1:\(server.port)/app/secr…, from the above
        """))
    let brief = try PusherCLI.run(words + ["-v", "-p", "\(server.port)"]).errorText
    #expect(!brief.contains("from"))
    #expect(!loud.contains("hidden"))
  }

  @Test func `a trace holds every message with its time and no signature`() throws {
    let server = try LocalServer(secret: "a-secret-to-keep")
    let file = TemporaryFolder.shared.file("trace")
    let program = try server.subscribe(["private-orders"], "-L", "-n", "1", "--trace", file)
    _ = try server.trigger("private-orders", "order.created", #"{"id":1}"#)
    #expect(try program.line().contains("order.created"))
    #expect(try program.wait() == .exited(0))
    let lines = try SystemFile.text(file).split(separator: "\n")
    let stamped = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z [<>] \{.*\}/
    #expect(lines.count == 4 && lines.allSatisfy { $0.wholeMatch(of: stamped) != nil })
    #expect(lines[1].contains(#"> {"event":"pusher:subscribe""#))
    #expect(lines[1].contains(#""auth":"…""#))
    #expect(!lines.joined().contains(/[0-9a-f]{64}/))
    #expect(!lines.joined().contains("a-secret-to-keep"))
    #expect(try SystemFile.mode(file) == 0o600)
  }

  @Test func `a trace takes the place of a file that others could read`() throws {
    let file = TemporaryFolder.shared.file("old-trace")
    let isMade = FileManager.default.createFile(
      atPath: file, contents: Data("old".utf8), attributes: [.posixPermissions: 0o644])
    #expect(isMade)
    _ = try PusherCLI.run(
      "subscribe", "--host", "127.0.0.1", "--port", "1", "--scheme", "http", "--key", "k", "news",
      "--trace", file, "--reconnect", "never")
    let attributes = try FileManager.default.attributesOfItem(atPath: file)
    #expect(attributes[.posixPermissions] as? Int == 0o600)
    #expect(attributes[.size] as? Int == 0)
  }

  @Test func `SIGUSR1 is answered on standard error, also with -q`() throws {
    let server = try LocalServer()
    let program = try server.subscribe(["news"], "-L", "-q")
    _ = try server.trigger("news", "e", "1")
    _ = try program.line()
    program.send(SIGUSR1)
    let answer = try program.errorLine(containing: "connected, up")
    #expect(answer.contains(" 1 events ("))
    #expect(answer.contains("0 reconnects, 0 bytes queued"))
    try program.end()
  }

  @Test func `serve, webhook listen and trigger answer it too, and go on`() throws {
    let server = try LocalServer()
    server.signal(SIGUSR1)
    #expect(
      try server.errorLine(containing: "listening on 127.0.0.1:\(server.port), up ")
        .hasSuffix(", 0 connections"))
    let listener = try PusherCLI.start(
      ["webhook", "listen", "--local", "--listen", "127.0.0.1:0", "-q", "--on-ready", "echo begun"])
    try listener.errorLine(containing: "begun")
    listener.send(SIGUSR1)
    #expect(
      try listener.errorLine(containing: "listening for webhooks, up ")
        .hasSuffix(", 0 events, 0 requests refused, 0 bytes queued"))
    try listener.end()
    let received = try server.subscribe(["news"], "-L")
    let sender = try server.start("trigger", "-", input: .pipe)
    sender.write(line: #"{"event":"e","channel":"news","data":1}"#)
    #expect(try received.line().contains(#""event":"e""#))
    sender.send(SIGUSR1)
    let answer = try sender.errorLine(containing: "read 1 line, sent ")
    #expect(answer.contains(" in 1 call, up "))
    sender.closeInput()
    #expect(try sender.wait() == .exited(0))
  }

  @Test func `the program lives on while it reads standard input or awaits an answer`() throws {
    let reader = try PusherCLI.start(
      [
        "trigger", "--host", "127.0.0.1", "--port", "1", "--scheme", "http", "--key", "k",
        "--app-id", "1", "--secret-file", "-", "-c", "news", "-e", "e", "1",
      ], input: .pipe)
    // The program installs its handler before it reads; an earlier signal would kill it.
    try waitUntil("it has a handler") {
      try SystemFile.text("/proc/\(reader.id)/status").contains(
        /SigCgt:\t[0-9a-f]*[2367abef][0-9a-f]{2}\n/)
    }
    reader.send(SIGUSR1)
    reader.write(line: "secret")
    reader.closeInput()
    #expect(try reader.wait() == .exited(4))
    let asked = Gate()
    let server = try ScriptedServer { connection in
      _ = try connection.question()
      asked.open()
      try connection.remain()
    }
    let caller = try PusherCLI.start(
      ["channels"] + server.address, environment: LocalServer.environment("s"))
    try asked.wait()
    caller.send(SIGUSR1)
    try caller.errorLine(containing: "waiting for 127.0.0.1 to answer, up ")
    try caller.end()
  }
}
