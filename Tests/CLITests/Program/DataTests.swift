import Foundation
import PusherCore
import Testing

@Suite("Data of every kind comes out as one line that jq reads", .runsPrograms)
struct DataTests {
  /// Value of `"data":` on the wire and in the printed line.
  struct Case: Sendable {
    var wire: String?
    var printed: String

    init(_ wire: String?, _ printed: String) { (self.wire, self.printed) = (wire, printed) }

    /// Data whose string holds `text`.
    init(text: String, _ printed: String) { self.init(JSONWriter.text(.string(text)), printed) }

    var message: String {
      let data = wire.map { #","data":"# + $0 } ?? ""
      return #"{"event":"case","channel":"news"\#(data)}"#
    }

    var line: String { #"{"event":"case","channel":"news","data":\#(printed)}"# }
  }

  private static func nested(_ depth: Int) -> String {
    String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
  }

  static let cases = [
    Case(text: #"{ "b" : 1.10,\#n "a" : [ 1 , 2 ] }"#, #"{"b":1.10,"a":[1,2]}"#),
    Case(text: "1e400", "1e400"), Case(text: "-0", "-0"),
    // Lone surrogates, high and low, which jq refuses; a pair stays.
    Case(text: #"{"a":"\ud800"}"#, #"{"a":"\ufffd"}"#),
    Case(text: #"{"a":"\udc00x"}"#, #"{"a":"\ufffdx"}"#),
    Case(text: #""\ud83d\ude00""#, #""\ud83d\ude00""#),
    Case(text: nested(250), nested(250)),
    Case(text: nested(300), JSONWriter.text(.string(nested(300)))),
    Case(nested(300), JSONWriter.text(.string(nested(300)))),
    Case(#""a\u0000b""#, #""a\u0000b""#), Case(text: "\"\u{7F}\"", "\"\u{7F}\""),
    Case(text: "\u{1B}[31mred", #""\u001b[31mred""#),
    Case(text: "line one\nline two\r\n", #""line one\nline two\r\n""#),
    Case(text: "", #""""#), Case("null", "null"), Case(nil, "null"), Case("[1, 2,\t3]", "[1,2,3]"),
  ]

  private func run(_ options: String...) throws -> ProgramResult {
    let server = try ScriptedServer.joined { connection in
      for item in Self.cases { try connection.send(text: item.message) }
    }
    let result = try server.subscribed(["news", "-n", "\(Self.cases.count)"] + options)
    result.expect(says: "")
    return result
  }

  @Test func `each line is what the schema says, and jq reads all of them`() throws {
    let result = try run()
    let lines = result.outputText.split(separator: "\n", omittingEmptySubsequences: false)
    #expect(lines.count == Self.cases.count + 1)
    for (line, item) in zip(lines, Self.cases) { #expect(line == item.line) }
    try Jq.expectReads(result.output, lines: Self.cases.count)
  }

  @Test func `with time stamps and lifecycle lines jq reads all of them, too`() throws {
    let result = try run("-t", "-L")
    // Beside the events: connected, subscribed, exit.
    try Jq.expectReads(result.output, lines: Self.cases.count + 3)
  }
}
