import Foundation
import PusherCore
import Testing

/// The official server library of the Model Context Protocol, which answers a POST by a stream or
/// by one JSON text.
@Suite(
  "sse, against a server of the Model Context Protocol",
  .enabled(if: PythonPeer.isWanted, Comment(rawValue: PythonPeer.reason)), .runsPrograms)
struct MCPServerTests {
  private func ask(
    _ form: String, _ method: String, _ parameters: String = "{}", _ options: String...
  ) throws -> ProgramResult {
    let server = try PythonPeer.start("mcp_server.py", [form])
    defer { server.send(SIGKILL) }
    let port = try server.line()
    let question =
      #"{"jsonrpc":"2.0","id":1,"method":"\#(method)","params":\#(parameters)}"#
    return try PusherCLI.run(
      ["sse", "http://127.0.0.1:\(port)/mcp", "--accept-json", "-d", question]
        + options)
  }

  @Test(arguments: ["stream", "json"])
  func `its tools are listed, whichever form the answer has`(form: String) throws {
    let result = try ask(form, "tools/list")
    #expect(result.ending == .exited(0), "\(result.errorText)")
    #expect(
      try Jq.run("-r", ".data.result.tools[].name", on: result.output) == "add\ncount\n",
      "\(result.outputText)")
  }

  @Test(arguments: ["stream", "json"])
  func `a tool is called, and its result printed`(form: String) throws {
    let result = try ask(
      form, "tools/call", #"{"name":"add","arguments":{"a":2,"b":3}}"#, "--field",
      "result.content.0.text", "--join")
    #expect(result.ending == .exited(0), "\(result.errorText)")
    #expect(result.outputText == "5\n")
  }

  @Test func `messages of a tool come before its result, and --where waits for that`() throws {
    let call = #"{"name":"count","arguments":{"to":3}}"#
    let all = try ask("stream", "tools/call", call)
    let filter = ".data.params.data // .data.result.content[0].text"
    let texts = try Jq.run("-r", filter, on: all.output)
    #expect(texts == "at 1\nat 2\nat 3\ndone\n", "\(all.outputText)")
    let last = try ask("stream", "tools/call", call, "--where", "data.id == 1", "-n", "1")
    #expect(last.ending == .exited(0))
    #expect(last.outputText.split(separator: "\n").count == 1)
  }
}
