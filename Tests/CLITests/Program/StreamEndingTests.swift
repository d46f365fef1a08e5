import Foundation
import PusherCore
import Testing

@testable import pusher_cli

@Suite("sse: data that ends a run, other types, and the first wait", .runsPrograms)
struct StreamEndingTests {
  private static func server(
    _ body: String, type: String = "text/event-stream"
  ) throws -> ScriptedServer {
    try ScriptedServer { connection in
      _ = try connection.request()
      try connection.send(stream: "HTTP/1.1 200 OK\r\nContent-Type: \(type)\r\n\r\n\(body)")
      try connection.remain()
    }
  }

  private func sse(_ server: ScriptedServer, _ options: String...) throws -> ProgramResult {
    try PusherCLI.run(["sse", "http://127.0.0.1:\(server.port)/"] + options)
  }

  @Test(arguments: ["[DONE]", "?DONE?", "*DONE*"])
  func `--until ends with 0 at its data, which is not printed`(text: String) throws {
    let server = try Self.server("data: 1\n\ndata: D\n\ndata: [DONE]\n\ndata: 2\n\n")
    let result = try sse(server, "--until", text, "-L", "--no-compression")
    #expect(result.ending == .exited(0))
    let lines = result.outputText.split(separator: "\n").filter { !$0.contains("pusher-cli:") }
    #expect(lines == [#"{"event":"message","data":1}"#, #"{"event":"message","data":"D"}"#])
    #expect(result.outputText.contains(#""status":0,"reason":"until","events":2"#))
  }

  @Test func `a text without a star is the text itself, brackets and all`() {
    #expect(DataPattern("[DONE]").matches("[DONE]"))
    #expect(!DataPattern("[DONE]").matches("D"))
    #expect(DataPattern("[DONE]*").matches("D!"))
    #expect(!DataPattern("é").matches("e\u{301}"))
  }

  @Test func `--reconnect-delay is the first wait`() throws {
    let server = try ScriptedServer { connection in
      _ = try connection.request()
      try connection.send(
        stream: "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: 1\n\n")
    }
    let program = try PusherCLI.start([
      "sse", "http://127.0.0.1:\(server.port)/", "-n", "2", "-v", "--reconnect-delay", "200ms",
    ])
    #expect(try program.errorLine(containing: "retrying in ").contains("0.2 s"))
    #expect(try program.wait() == .exited(0))
  }
}
