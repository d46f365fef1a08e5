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
    _ port: String, _ method: String, _ parameters: String = "", _ options: String...
  ) throws -> ProgramResult {
    let own = "io.modelcontextprotocol/"
    let meta = #""\#(own)protocolVersion":"2026-07-28","\#(own)clientCapabilities":{}"#
    let question =
      #"{"jsonrpc":"2.0","id":1,"method":"\#(method)","params":{\#(parameters)"_meta":{"#
      + #""progressToken":1,\#(meta)}}}"#
    var fields = ["MCP-Protocol-Version:2026-07-28", "Mcp-Method:\(method)"]
    fields += parameters.split(separator: "\"").dropFirst(2).prefix(1).map { "Mcp-Name:\($0)" }
    return try PusherCLI.run(
      ["sse", "http://127.0.0.1:\(port)/mcp", "--accept-json", "-d", question]
        + fields.flatMap { ["-H", $0] } + options)
  }

  @Test(arguments: ["stream", "json"])
  func `tools are listed and called, whichever form the answer has`(form: String) throws {
    let server = try PythonPeer.start("mcp_server.py", [form])
    defer { server.send(SIGKILL) }
    let port = try server.line()
    let list = try ask(port, "tools/list")
    list.expect(0)
    let names = try Jq.run("-r", ".data.result.tools[].name", on: list.output)
    #expect(names == "add\ncount\nslow\n", "\(list.outputText)")
    try ask(
      port, "tools/call", #""name":"add","arguments":{"a":2,"b":3},"#, "--field",
      "result.content.0.text", "--join"
    ).expect(0, prints: "5\n")
  }

  @Test func `messages of a tool come before its result, and --where waits for that`() throws {
    let server = try PythonPeer.start("mcp_server.py", ["stream"])
    defer { server.send(SIGKILL) }
    let port = try server.line()
    let call = #""name":"count","arguments":{"to":3},"#
    let all = try ask(port, "tools/call", call)
    let filter = ".data.params.message // .data.result.content[0].text"
    let texts = try Jq.run("-r", filter, on: all.output)
    #expect(texts == "at 1\nat 2\nat 3\ndone\n", "\(all.outputText)")
    let last = try ask(port, "tools/call", call, "--where", "data.id == 1", "-n", "1")
    #expect(last.ending == .exited(0) && last.outputText.split(separator: "\n").count == 1)
  }
}
