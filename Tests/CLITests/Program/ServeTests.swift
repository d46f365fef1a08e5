import Foundation
import PusherCore
import Testing

@Suite("subscribe and trigger with the program's own server", .runsPrograms)
struct ServeTests {
  @Test func `one subscriber takes many channels, and data from files and standard input`() throws {
    let server = try LocalServer()
    let program = try server.subscribe(["news", "private-a", "presence-b"], "-L")
    let file = try TemporaryFolder.shared.file("data", holding: #"{"from":"a file"}"#)
    #expect(try server.trigger("private-a", "e", "@\(file)").ending == .exited(0))
    #expect(try server.trigger("news", "e", "plain text").ending == .exited(0))
    #expect(try program.line() == #"{"event":"e","channel":"private-a","data":{"from":"a file"}}"#)
    #expect(try program.line() == #"{"event":"e","channel":"news","data":"plain text"}"#)
    let words = ["-c", "presence-b", "-e", "e", "-d", "@-"]
    let sent = try PusherCLI.start(
      ["trigger"] + server.address + words, environment: LocalServer.environment("local-secret"),
      input: .file(file))
    #expect(try sent.wait() == .exited(0))
    #expect(try program.line() == #"{"event":"e","channel":"presence-b","data":{"from":"a file"}}"#)
  }

  @Test func `members of a presence channel see each other come and go`() throws {
    let server = try LocalServer()
    let first = try server.subscribe(
      ["presence-lobby"], "-L", "--user-id", "1", "--user-info", #"{"name":"Ada"}"#)
    let second = try server.subscribe(["presence-lobby"], "-L", "--user-id", "2")
    #expect(
      try first.line()
        == #"{"event":"pusher:member_added","channel":"presence-lobby","data":{"user_id":"2"}}"#)
    second.send(SIGTERM)
    try second.wait()
    #expect(
      try first.line()
        == #"{"event":"pusher:member_removed","channel":"presence-lobby","data":{"user_id":"2"}}"#)
  }

  @Test func `the sender's own connection can be left out`() throws {
    let server = try LocalServer()
    let first = try PusherCLI.start(
      ["subscribe"] + server.address + ["news", "-L", "--key", LocalServer.key])
    let greeting = try JSONParser.parse(try first.line())
    _ = try first.line()
    let second = try server.subscribe(["news"], "-L")
    let id = try #require(greeting["data"]?["socket_id"]?.text)
    #expect(try server.trigger("news", "one", "{}", "--socket-id", id).ending == .exited(0))
    #expect(try server.trigger("news", "two", "{}").ending == .exited(0))
    #expect(try second.line().contains(#""event":"one""#))
    #expect(try second.line().contains(#""event":"two""#))
    #expect(try first.line().contains(#""event":"two""#))
  }

  @Test func `a server that is killed and started again is found again, and the gap told`() throws {
    let first = try LocalServer()
    let program = try first.subscribe(
      ["private-orders"], "-L", "--retry-max-delay", "300ms", "-n", "2")
    #expect(try first.trigger("private-orders", "one", "{}").ending == .exited(0))
    #expect(try program.line() == #"{"event":"one","channel":"private-orders","data":{}}"#)
    try first.kill()
    try program.errorLine(containing: "connection lost")
    let second = try LocalServer(port: first.port)
    try program.errorLine(containing: "back after")
    #expect(try second.trigger("private-orders", "two", "{}").ending == .exited(0))
    let result = try program.result()
    #expect(result.ending == .exited(0))
    let events = try Jq.run("-r", ".event", on: result.output).split(separator: "\n")
    #expect(
      events.filter { $0 != "pusher-cli:disconnected" } == [
        "pusher:connection_established", "pusher:subscription_succeeded", "pusher-cli:gap", "two",
        "pusher-cli:exit",
      ])
  }

  @Test(.needs(.movedClock), arguments: [SIGINT, SIGTERM])
  func `serve ends at once by the signal that it gets`(signal: Int32) throws {
    let file = TemporaryFolder.shared.file("port")
    // The clock stands still, so the server waits for no time.
    let clock = try MovedClock(standsStill: true)
    let server = try PusherCLI.start(
      ["serve", "--listen", "127.0.0.1:0", "--port-file", file], environment: clock.environment())
    let said = try server.errorLine(containing: "listening on")
    #expect(said.contains("http://127.0.0.1:"))
    server.send(signal)
    #expect(try server.wait() == .signalled(signal))
  }

  @Test func `a port that is taken is said, with its number`() throws {
    let server = try LocalServer()
    let second = try PusherCLI.run("serve", "--listen", "127.0.0.1:\(server.port)")
    #expect(second.ending == .exited(4))
    #expect(second.errorLines.count == 1)
    #expect(second.errorText.contains(server.port), "\(second.errorText)")
  }
}

@Suite("subscribe and trigger with the program's own server over TLS", .runsPrograms)
struct ServeTLSTests {
  @Test(.needs(.certificates))
  func `with --insecure it is not, and every run warns, also with -q`() throws {
    let certificates = try #require(CertificateMatrix.shared)
    let server = try LocalServer(certificate: certificates.server("wrong-host"))
    for voice in ["--no-quiet", "-q"] {
      let program = try server.subscribe(["news"], "-L", "-n", "1", "--insecure", voice)
      let sent = try server.trigger("news", "e", "{}", "--insecure", voice)
      #expect(sent.ending == .exited(0))
      #expect(sent.errorLines.count == 1 && sent.errorText.contains("warning:"))
      let result = try program.result()
      #expect(result.ending == .exited(0))
      #expect(result.errorLines.count == 1 && result.errorText.contains("warning:"))
    }
  }

  @Test(.needs(.movedClock)) func `--drain closes the sockets one after another`() throws {
    let clock = try MovedClock(standsStill: true)
    let file = TemporaryFolder.shared.file("port")
    let server = try PusherCLI.start(
      [
        "serve", "--listen", "127.0.0.1:0", "--port-file", file, "--drain", "40s",
      ],
      environment: clock.environment())
    let port = try server.port(in: file)
    let clients = try (0..<4).map { _ in
      let client = try PusherCLI.start(
        ["subscribe", "--local", "--port", "\(port)", "news", "-L", "--reconnect", "never"])
      _ = try client.lines(2)
      return client
    }
    server.send(SIGTERM)
    try waitUntil("no more connections are accepted") { try !Loopback.isListened(port) }
    var ended = 0
    for wave in 1...4 {
      clock.move(.seconds(10))
      // The answer proves that the server has checked its clock.
      server.send(SIGUSR1)
      try server.errorLine(containing: " connections")
      try waitUntil("wave \(wave)") {
        ended = clients.count { (try? $0.wait(within: .milliseconds(1))) != nil }
        return ended >= wave
      }
      #expect(ended == wave)
    }
    for client in clients {
      #expect(try client.result().errorText.contains("4200"))
    }
    #expect(try server.wait() == .signalled(SIGTERM))
  }
}
