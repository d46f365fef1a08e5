import Foundation
import PusherCore
import Testing

/// docs/console.md, "What the page remembers" and "An address that stays", tested by programs.
@Suite("serve --console, later and again", .runsPrograms)
struct ServeConsoleHistoryTests {
  private static let token = "a-token-of-our-own"

  private func tokenFile() throws -> String {
    try TemporaryFolder.shared.file("token", holding: Self.token + "\n")
  }

  private func stream(_ server: LocalServer, _ options: String...) throws -> ChildProgram {
    try PusherCLI.start(
      ["sse", "http://127.0.0.1:\(server.port)/console/events?token=\(Self.token)"] + options)
  }

  private func trigger(_ name: String, at server: LocalServer) throws {
    let result = try server.trigger("news", name, "1")
    #expect(result.ending == .exited(0), "\(result.errorText)")
  }

  private func nextEvent(_ stream: ChildProgram) throws -> String {
    try stream.outputLine(containing: #""kind":"event""#)
  }

  @Test func `without a history a reader begins with what is new`() throws {
    let server = try LocalServer(
      options: ["--console-token-file", try tokenFile(), "--console-history", "0"])
    try trigger("first", at: server)
    let stream = try stream(server)
    _ = try stream.outputLine(containing: #""hello""#)
    try trigger("second", at: server)
    #expect(try nextEvent(stream).contains(#""event":"second""#))
  }

  @Test func `sse resumes after its last entry, and counts what is no longer kept`() throws {
    let server = try LocalServer(
      options: ["--console-token-file", try tokenFile(), "--console-history", "4"])
    let state = TemporaryFolder.shared.file("state")
    try trigger("first", at: server)
    let first = try stream(server, "--state-file", state)
    #expect(try nextEvent(first).contains(#""event":"first""#))
    first.send(SIGTERM)
    _ = try first.wait()
    for number in 1...6 { try trigger("away-\(number)", at: server) }
    let second = try stream(server, "--state-file", state)
    #expect(try second.outputLine(containing: #""dropped""#).contains(#""reason":"expired""#))
    #expect(!(try nextEvent(second).contains(#""event":"first""#)))
  }

  @Test func `a server that comes back is reached with the same token, by who was there`() throws {
    let file = TemporaryFolder.shared.file("token")
    let options = ["--console-token-file", file, "-v"]
    let server = try LocalServer(options: options)
    let made = try server.errorLine(containing: "with a new token")
    #expect(made == "pusher-cli: --console-token-file: made '\(file)' with a new token")
    let token = try String(contentsOfFile: file, encoding: .utf8).dropLast()
    #expect(try server.errorLine(containing: "console at ").hasSuffix("?token=\(token)"))
    let stream = try PusherCLI.start([
      "sse", "http://127.0.0.1:\(server.port)/console/events?token=\(token)",
      "--reconnect-delay", "50ms",
    ])
    _ = try stream.outputLine(containing: #""hello""#)
    try trigger("before", at: server)
    #expect(try nextEvent(stream).contains(#""event":"before""#))
    try server.stop()
    let again = try LocalServer(options: options, port: server.port)
    #expect(try again.errorLine(containing: "console at ").hasSuffix("?token=\(token)"))
    let hello = try stream.outputLine(containing: #""hello""#)
    #expect(hello.contains(#""keeps_token":true"#))
    try trigger("after", at: again)
    #expect(try nextEvent(stream).contains(#""event":"after""#), "its numbers begin anew")
  }
}
