import Foundation
import PusherCore
import Testing

@Suite("subscribe and trigger with the program's own server", .runsPrograms) struct ServeTests {
  @Test func `one subscriber takes many channels, and data from files and standard input`() throws {
    let server = try LocalServer()
    let program = try server.subscribe(["news", "private-a", "presence-b"], "-L")
    let file = try TemporaryFolder.shared.file("data", holding: #"{"from":"a file"}"#)
    try server.trigger("private-a", "e", "@\(file)").expect(0)
    try server.trigger("news", "e", "plain text").expect(0)
    #expect(try program.line() == #"{"event":"e","channel":"private-a","data":{"from":"a file"}}"#)
    #expect(try program.line() == #"{"event":"e","channel":"news","data":"plain text"}"#)
    let words = ["-c", "presence-b", "-e", "e", "-d", "@-"]
    try PusherCLI.run(
      ["trigger"] + server.address + words, environment: LocalServer.environment(),
      input: .file(file)
    ).expect(0)
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
    try second.end()
    #expect(
      try first.line()
        == #"{"event":"pusher:member_removed","channel":"presence-lobby","data":{"user_id":"2"}}"#)
  }

  @Test(.needs(.movedClock), arguments: [SIGINT, SIGTERM])
  func `serve ends at once by the signal that it gets`(signal: Int32) throws {
    // The clock stands still, so the server waits for no time.
    let clock = try MovedClock(standsStill: true)
    let server = try LocalServer(environment: clock.environment())
    try server.program.end(by: signal)
  }
}

@Suite("subscribe and trigger with serve over TLS", .runsPrograms) struct ServeTLSTests {
  @Test(.needs(.certificates))
  func `with --insecure any certificate is accepted, and each run warns, also with -q`() throws {
    let certificates = try #require(CertificateMatrix.shared)
    let server = try LocalServer(certificate: certificates.server("wrong-host"))
    for voice in ["--no-quiet", "-q"] {
      let program = try server.subscribe(["news"], "-L", "-n", "1", "--insecure", voice)
      let sent = try server.trigger("news", "e", "{}", "--insecure", voice)
      for result in [sent, try program.result()] {
        result.expect(0, telling: "warning:")
        #expect(result.errorLines.count == 1, "\(result.errorText)")
      }
    }
  }

  @Test(.needs(.movedClock)) func `--drain closes the sockets one after another`() throws {
    let clock = try MovedClock(standsStill: true)
    let (server, port) = try PusherCLI.listening(
      ["serve", "--drain", "40s"], environment: clock.environment())
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
    for client in clients { #expect(try client.result().errorText.contains("4200")) }
    #expect(try server.wait() == .signalled(SIGTERM))
  }
}
