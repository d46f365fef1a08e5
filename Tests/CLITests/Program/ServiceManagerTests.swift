import Foundation
import PusherCore
import Testing

/// Notifications of sd_notify(3).
@Suite("What the service manager is told", .runsPrograms) struct ServiceManagerTests {
  private static let commands = [
    (["serve"], "READY=1\nSTATUS=listening on 127.0.0.1:"),
    (["webhook", "listen", "--local"], "READY=1\nSTATUS=listening for webhooks on http://"),
  ]

  @Test(arguments: [false, true], commands)
  func `a command is ready when it listens, gives signs of life, and tells that it ends`(
    isAbstract: Bool, command: ([String], String)
  ) throws {
    let manager = try ListeningManager(isAbstract: isAbstract)
    let program = try PusherCLI.start(
      command.0 + ["--listen", "127.0.0.1:0"],
      environment: ["NOTIFY_SOCKET": manager.name, "WATCHDOG_USEC": "40000"])
    #expect(manager.next().hasPrefix(command.1))
    #expect((0..<3).allSatisfy { _ in manager.next() == "WATCHDOG=1" })
    try program.end()
    #expect(manager.await("STOPPING=1"))
  }

  @Test func `subscribe is ready when all channels are subscribed`() throws {
    let manager = try ListeningManager(isAbstract: false)
    let server = try LocalServer()
    let program = try PusherCLI.start(
      ["subscribe"] + server.address + ["news", "private-a", "-L"],
      environment: LocalServer.environment().merging(["NOTIFY_SOCKET": manager.name]) { $1 })
    #expect(
      (0..<3).map { _ in manager.next() } == [
        "STATUS=connecting to 127.0.0.1", "STATUS=connected to 127.0.0.1",
        "READY=1\nSTATUS=subscribed to 2 channels of 127.0.0.1",
      ])
    #expect(try program.lines(3).last?.contains("subscription_succeeded") == true)
    program.send(SIGTERM)
    #expect(manager.next() == "STOPPING=1")
    #expect(try program.wait() == .signalled(SIGTERM))
  }

  @Test func `the status tells how many events came, and when the last did`() throws {
    let manager = try ListeningManager(isAbstract: false)
    let (isReady, shouldRetry) = (Gate(), Gate())
    let server = try ScriptedServer.joined { connection in
      try isReady.wait()
      try connection.send(event: "e", data: "1")
      try shouldRetry.wait()
      for _ in 0..<2 { try connection.send(event: "e", data: "1") }
    }
    let program = try PusherCLI.start(
      ["subscribe"] + server.address + ["news"], environment: ["NOTIFY_SOCKET": manager.name])
    let ready = "STATUS=subscribed to 1 channel of 127.0.0.1"
    #expect(manager.await("READY=1\n\(ready)"))
    isReady.open()
    _ = try program.line()
    let year = Calendar(identifier: .gregorian).component(.year, from: .now)
    #expect(manager.next().hasPrefix("\(ready); 1 event, the last at \(year)-"))
    shouldRetry.open()
    _ = try program.lines(2)
    // At the latest when the second is over.
    var last = ""
    repeat { last = manager.next() } while last.hasPrefix("\(ready); 2 events, the last at ")
    #expect(last.hasPrefix("\(ready); 3 events, the last at \(year)-"), "\(last)")
  }

  @Test func `subscribe gives signs of life only while the server answers, and has it answer`()
    throws
  {
    let manager = try ListeningManager(isAbstract: false)
    let isFrozen = Gate()
    let server = try ScriptedServer { connection in
      try connection.join()
      // Pongs only.
      for _ in 0..<6 {
        guard case .text(let text) = try connection.event(), text.contains("pusher:ping") else {
          throw Unexpected("no ping")
        }
        try connection.send(event: "pusher:pong", channel: nil, data: "{}")
      }
      isFrozen.open()
      try connection.stall()
    }
    let program = try PusherCLI.start(
      ["subscribe"] + server.address + ["news", "--pong-timeout", "1s", "--reconnect", "never"],
      environment: ["NOTIFY_SOCKET": manager.name, "WATCHDOG_USEC": "400000"])
    #expect(manager.await("READY=1\nSTATUS=subscribed to 1 channel of 127.0.0.1"))
    for _ in 0..<3 { #expect(manager.await("WATCHDOG=1")) }
    try isFrozen.wait()
    #expect(try program.wait() == .exited(4))
    // At most one for the last pong and one for earlier bytes in transit.
    let rest = manager.rest()
    #expect(rest.count { $0 == "WATCHDOG=1" } <= 2, "\(rest)")
    #expect(rest.suffix(2) == ["STATUS=connection to 127.0.0.1 lost", "STOPPING=1"])
  }

  @Test func `sse is ready when the stream is there, and alive while something comes`() throws {
    let manager = try ListeningManager(isAbstract: false)
    let (isSeen, isSilent) = (Gate(), Gate())
    let server = try ScriptedServer.streaming { connection in
      repeat { try connection.send(stream: ": still here\n") } while !isSeen.isOpened(within: 0.02)
      isSilent.open()
    }
    let program = try PusherCLI.start(
      ["sse", server.url], environment: ["NOTIFY_SOCKET": manager.name, "WATCHDOG_USEC": "200000"])
    #expect(manager.next() == "STATUS=connecting to \(server.url)")
    #expect(manager.await("READY=1\nSTATUS=receiving events from \(server.url)"))
    for _ in 0..<2 { #expect(manager.await("WATCHDOG=1")) }
    isSeen.open()
    try isSilent.wait()
    // One for the bytes before the silence, then none at any further deadline.
    manager.limit(seconds: 1)
    while manager.next() == "WATCHDOG=1" {}
    #expect(manager.next() == "")
    try program.end()
    #expect(manager.await("STOPPING=1"))
  }

  @Test(arguments: ["/nonexistent/socket", "@nobody", "relative", "vsock:2:1234"])
  func `a manager that is not there harms nothing`(name: String) throws {
    let server = try PusherCLI.start(
      ["serve", "--listen", "127.0.0.1:0"], environment: ["NOTIFY_SOCKET": name])
    try server.errorLine(containing: "listening on")
    try server.end()
  }
}
