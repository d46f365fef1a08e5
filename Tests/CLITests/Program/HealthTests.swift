import Foundation
import PusherCore
import Testing

@Suite("--metrics: /healthz, and who may ask", .runsPrograms) struct HealthTests {
  private static let metrics = ["--metrics", "127.0.0.1:0"]

  private func expectHealth(
    _ at: Monitored, _ status: Int, _ body: String,
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let answer = try at.ask("/healthz")
    #expect(answer.status == status, sourceLocation: sourceLocation)
    #expect(answer.body == body + "\n", sourceLocation: sourceLocation)
  }

  @Test func `subscribe is healthy with all channels, and says which part is missing`() throws {
    let (greets, confirms, drops, isBack) = (Gate(), Gate(), Gate(), Gate())
    let server = try ScriptedServer { connection in
      if connection.number == 2 { try isBack.wait() }
      if connection.number == 1 { try greets.wait() }
      try connection.welcome()
      if connection.number == 1 { try confirms.wait() }
      try connection.acceptSubscription()
      if connection.number == 1 { return try drops.wait() }
      try connection.stay()
    }
    let program = try PusherCLI.start(
      ["subscribe"] + server.address + ["news", "-L", "--retry-max-delay", "10ms"] + Self.metrics)
    let at = try Monitored(program, of: server)
    try expectHealth(at, 503, "no connection (connecting)")
    greets.open()
    _ = try program.line()
    try expectHealth(at, 503, "not subscribed to every channel")
    confirms.open()
    _ = try program.line()
    try expectHealth(at, 200, "ok")
    drops.open()
    _ = try program.line()
    try expectHealth(at, 503, "no connection (reconnecting)")
    isBack.open()
    _ = try program.lines(2)
    try expectHealth(at, 200, "ok")
  }

  @Test func `sse is well while there is a stream`() throws {
    let begins = Gate()
    let server = try ScriptedServer { connection in
      try begins.wait()
      try connection.beginStream()
      try connection.send(stream: "data: 1\n\n")
      try connection.remain()
    }
    let program = try PusherCLI.start(["sse", server.url] + Self.metrics)
    let at = try Monitored(program, of: server)
    try expectHealth(at, 503, "no stream (connecting)")
    begins.open()
    _ = try program.line()
    try expectHealth(at, 200, "ok")
  }

  @Test(.needs(.movedClock)) func `a run whose output nobody reads is not well`() throws {
    let clock = try MovedClock()
    let server = try ScriptedServer.joined { connection in
      for _ in 0..<1500 {
        try connection.send(event: "flood", data: #"{"flood":\#(Flood.data)}"#)
      }
    }
    let program = try PusherCLI.start(
      ["subscribe"] + server.address + ["news", "--buffer", "64k"] + Self.metrics,
      environment: clock.environment())
    let at = try Monitored(program, of: server)
    try program.awaitFullPipe()
    try waitUntil("/healthz says that nothing is read") {
      clock.move(.seconds(6))
      return try at.ask("/healthz").status == 503
    }
    #expect(
      try at.ask("/healthz").body == "the output or the event handler is slow; nothing is read\n")
    program.closeOutput()
  }

  @Test func `connections that stand idle keep no question out`() throws {
    let at = try Monitored(try LocalServer(options: Self.metrics))
    let port = try #require(at.url.split(separator: ":").last.flatMap { UInt16($0) })
    let idlers = try (0..<80).map { _ in
      let client = try RawClient(port)
      try client.send("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
      try client.await("200 OK")
      return client
    }
    try expectHealth(at, 200, "ok")
    #expect(idlers.count == 80)
  }

  @Test func `pages and names of others are refused, and only GET and HEAD are answered`() throws {
    let at = try Monitored(try LocalServer(options: Self.metrics))
    #expect(try at.ask("/metrics", "-H", "Origin: https://shop.example").status == 403)
    #expect(try at.ask("/metrics", "-H", "Host: shop.example").status == 403)
    #expect(try at.ask("/metrics", "--data", "x").status == 413)
    #expect(try at.ask("/metrics", "--request", "POST").status == 405)
    #expect(try at.ask("/metrics?x=1").status == 200)
    #expect(try at.ask("/healthz", "--head").status == 200)
    #expect(try at.ask("/").body == "unknown path: use /metrics or /healthz\n")
    #expect(try at.ask("/").status == 404)
    #expect(
      try at.ask("/metrics", "--head").body.contains(
        "Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n"))
  }

  @Test(arguments: ["subscribe", "sse", "serve"])
  func `an address that is taken ends the run before anything else`(command: String) throws {
    let taken = try LocalServer()
    let arguments: [String] =
      switch command {
      case "subscribe": ["subscribe"] + taken.address + ["news"]
      case "sse": ["sse", "http://127.0.0.1:\(taken.port)/"]
      default: ["serve", "--listen", "127.0.0.1:0"]
      }
    try PusherCLI.run(
      arguments + ["--metrics", "127.0.0.1:\(taken.port)"],
      environment: LocalServer.environment("local-secret")
    ).expect(4, telling: "127.0.0.1:\(taken.port)", "in use")
  }

  @Test func `a port of your own is told with -v only, and a wrong address is named`() throws {
    let server = try Hooked.counting(1)
    let port = try Loopback.closedPort()
    let result = try server.subscribed("news", "-n", "1", "--metrics", ":\(port)")
    #expect(result.errorText == "")
    try PusherCLI.run("serve", "--metrics", "9464").expect(
      2, telling: "--metrics: '9464' is not of the form HOST:PORT, such as 127.0.0.1:9464")
  }
}
