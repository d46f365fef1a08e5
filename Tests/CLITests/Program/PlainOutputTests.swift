import Foundation
import Testing

@Suite("What people read, on both outputs", .runsPrograms)
struct PlainOutputTests {
  private func result(of messages: [String], _ options: String...) throws -> ProgramResult {
    let server = try ScriptedServer.joined { connection in
      for message in messages { try connection.send(text: message) }
      try connection.send(event: "last", data: "done")
    }
    return try PusherCLI.run(["subscribe"] + server.address + ["news", "-n", "2"] + options)
  }

  @Test(arguments: ["raw", "pretty"])
  func `data nested too deep for a value is shown as its text`(format: String) throws {
    let deep = String(repeating: "[", count: 300) + String(repeating: "]", count: 300)
    let message = #"{"event":"deep","channel":"news","data":\#(deep)}"#
    let result = try result(of: [message], "-o", format)
    #expect(result.ending == .exited(0))
    // The page wraps the text.
    let text = result.outputText.filter { !$0.isWhitespace }
    #expect(text.contains(deep), "\(text)")
  }

  @Test func `a name with a line end does not break the head of a pretty event`() throws {
    let message = #"{"event":"one\ntwo\u001b[2J","channel":"news","data":"1"}"#
    let result = try result(of: [message], "-o", "pretty")
    let lines = result.outputText.split(separator: "\n")
    #expect(lines.count == 2)
    #expect(lines.first?.hasSuffix(#"news  one\ntwo\u{1b}[2J  1"#) ?? false, "\(lines)")
  }

  @Test func `each of several errors of the server is told`() throws {
    let messages = (1...3).map {
      #"{"event":"pusher:error","data":{"code":null,"message":"trouble \#($0)"}}"#
    }
    let event = #"{"event":"first","channel":"news","data":"1"}"#
    let result = try result(of: messages + [event])
    for number in 1...3 {
      #expect(result.errorText.contains("trouble \(number)"), "\(result.errorText)")
    }
  }
}
