import Foundation
import Testing

@Suite("Watching a run: --trace and SIGUSR1")
struct ObservationTests {
  @Test func `a trace holds every message with its time and no signature`() throws {
    let server = try LocalServer(secret: "a-secret-to-keep")
    let file = TemporaryFolder.shared.file("trace")
    let program = try server.subscribe(["private-orders"], "-L", "-n", "1", "--trace", file)
    _ = try server.trigger("private-orders", "order.created", #"{"id":1}"#)
    #expect(try program.line().contains("order.created"))
    #expect(try program.wait() == .exited(0))
    let lines = try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n")
    let stamped = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z [<>] \{.*\}/
    #expect(lines.count == 4 && lines.allSatisfy { $0.wholeMatch(of: stamped) != nil })
    #expect(lines[1].contains(#"> {"event":"pusher:subscribe""#))
    #expect(lines[1].contains(#""auth":"…""#))
    #expect(!lines.joined().contains(/[0-9a-f]{64}/))
    #expect(!lines.joined().contains("a-secret-to-keep"))
    let mode = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int
    #expect(mode == 0o600)
  }

  @Test func `a trace that cannot be written is a mistake of the caller`() throws {
    let result = try PusherCLI.run("subscribe", "--local", "news", "--trace", "/nowhere/at/all")
    #expect(result.ending == .exited(2))
    #expect(
      result.errorText.hasPrefix("pusher-cli: error: --trace: cannot write '/nowhere/at/all'"))
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

  @Test func `a trace into a pipe that nobody reads does not wait`() throws {
    let pipe = TemporaryFolder.shared.file("unread-pipe")
    #expect(mkfifo(pipe, 0o600) == 0)
    let result = try PusherCLI.run("subscribe", "--local", "news", "--trace", pipe)
    #expect(result.ending == .exited(2))
    #expect(result.errorText.contains("'\(pipe)': it is a pipe that nobody reads"))
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
    program.send(SIGTERM)
    #expect(try program.wait() == .signalled(SIGTERM))
  }
}
