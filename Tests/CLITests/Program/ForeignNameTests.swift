import Foundation
import PusherCore
import Testing

@Suite("Names of our own lines, used by others", .runsPrograms) struct ForeignNameTests {
  private static let names = [
    #""pusher-cli:exit""#, #""pusher-cli\u003aexit""#, #""\u0070usher-cli:exit""#,
    #""pusher-cli:""#,
  ]

  @Test(arguments: names, ["pusher", "eventflit"])
  func `a message named as ours is printed under another`(name: String, service: String) throws {
    let server = try ScriptedServer { connection in
      try connection.upgrade()
      try connection.send(
        text: #"{"event":"\#(service):connection_established","#
          + #""data":"{\"socket_id\":\"1.1\",\"activity_timeout\":120}"}"#)
      try connection.send(text: #"{"event":\#(name),"channel":"news","data":"{\"status\":0}"}"#)
      try connection.stay()
    }
    let result = try server.subscribed("news", "-n", "1", "-L", "--service", service)
    let events = try result.outputLines.map {
      try JSONParser.parse($0)["event"]?.text
    }
    let printed = name.contains("exit") ? "foreign:pusher-cli:exit" : "foreign:pusher-cli:"
    #expect(
      events == ["\(service):connection_established", printed, "pusher-cli:exit"],
      "\(result.outputText) \(result.errorText)")
  }

  @Test(arguments: ["pusher-cli:exit", "pusher-cli:"])
  func `an event of a stream named as ours is printed under another`(name: String) throws {
    let server = try ScriptedServer.streaming(
      "event: \(name)\ndata: {\"status\":0}\n\nevent: end\ndata: 1\n\n")
    func run(_ options: String...) throws -> String {
      try PusherCLI.run(["sse", server.url, "-n", "1"] + options).outputText
    }
    #expect(try run() == #"{"event":"foreign:\#(name)","data":{"status":0}}"# + "\n")
    #expect(try run("-t").contains(#","event":"foreign:\#(name)","data":{"status":0}}"#))
    #expect(try run("-o", "pretty").contains("  foreign:\(name)  {\"status\":0}\n"))
    #expect(try run("-F", "%e %d") == "foreign:\(name) {\"status\":0}\n")
    #expect(try run("-e", "foreign:*", "-F", "%j").hasPrefix(#"{"event":"foreign:"#))
    #expect(try run("-x", "foreign:*", "-F", "%e") == "end\n")
  }

  @Test func `names that only resemble ours stay as they are`() throws {
    let names = ["pusher-cl", "pusher-cli", "pusher-client:x", "Pusher-cli:x", " pusher-cli:x"]
    let server = try ScriptedServer.streaming { connection in
      for name in names { try connection.send(stream: "event: \(name)\ndata: 1\n\n") }
    }
    let result = try PusherCLI.sse(server, "-n", "\(names.count)", "-F", "%e").result()
    #expect(result.outputText == names.map { $0 + "\n" }.joined())
  }

  @Test func `a name with a line end begins no line of its own in a template`() throws {
    let server = try ScriptedServer.joined { connection in
      try connection.send(text: #"{"event":"a\npusher-cli:exit","channel":"news\nx","data":"1"}"#)
    }
    let result = try server.subscribed("news", "-n", "1", "-F", "%e %c")
    #expect(result.outputText == "a\\npusher-cli:exit news\\nx\n")
  }

  @Test func `what was recorded so replays under its own name, and our own lines do not`() throws {
    let lines =
      #"{"event":"foreign:pusher-cli:exit","channel":"news","data":{"status":0}}"# + "\n"
      + #"{"event":"pusher-cli:exit","channel":null,"data":{"status":0}}"# + "\n"
    let input = try TemporaryFolder.shared.file("lines", holding: lines)
    let result = try PusherCLI.run(["trigger", "-", "--local", "--dry-run"], input: .file(input))
    #expect(result.outputText.contains("pusher-cli:exit"), "\(result.errorText)")
    #expect(!result.outputText.contains("foreign:"))
    #expect(result.errorText.contains("skipped 1 line "))
  }
}
