import Foundation
import PusherCore
import Testing

/// A run waits for a value, not only for a name.
@Suite("--where", .runsPrograms)
struct WhereTests {
  private static let orders = [
    #"{"id":1,"status":"open","total":12.50}"#, #"{"id":2,"status":"paid","total":9}"#,
    #"{"id":3,"status":"paid","total":1.25e1}"#, "paid", #"{"id":4,"status":"void"}"#,
  ]

  private func run(
    _ options: [String], data: [String] = orders
  ) throws -> ProgramResult {
    let server = try ScriptedServer.joined { connection in
      for text in data { try connection.send(event: "order", data: text) }
      try connection.send(event: "last", data: "{}")
    }
    return try PusherCLI.run(
      ["subscribe"] + server.address
        + ["news", "--timeout", "10m", "--until-event", "last", "-x", "last"] + options)
  }

  private func lines(_ numbers: Int...) -> String {
    numbers.map { #"{"event":"order","channel":"news","data":\#(Self.orders[$0 - 1])}"# + "\n" }
      .joined()
  }

  @Test func `only events with the value are printed`() throws {
    let result = try run(["--where", #"data.status == "paid""#])
    #expect(result.ending == .exited(0) && result.errorText.isEmpty)
    #expect(result.outputText == lines(2, 3))
  }

  @Test func `with -n 1 the run ends at the first event with the value`() throws {
    let result = try run(["--where", "data.total > 12.5", "--where", "data.id", "-n", "1"])
    #expect(result.outputText.isEmpty)
    let equal = try run(["--where", "data.total >= 12.5", "--where", "data.id > 1", "-n", "1"])
    #expect(equal.ending == .exited(0) && equal.outputText == lines(3))
  }

  @Test(arguments: [
    ([#"data.status == "paid""#, "data.total < 10"], [2]), (["data.total == 12.5"], [1, 3]),
    ([#"data.status ~ "*o*""#], [1, 5]),
    ([#"data.status != "paid""#, "data.id"], [1, 5]),
    (["data.total != null"], [1, 2, 3]), (["data.total == null", "data.id"], [5]),
    ([#"event == "order""#, #"channel ~ "new*""#, "data.id <= 2"], [1, 2]),
    ([#"event == "other""#], []),
  ])
  func `all conditions must hold`(expressions: [String], numbers: [Int]) throws {
    let result = try run(expressions.flatMap { ["--where", $0] })
    #expect(result.ending == .exited(0))
    #expect(result.outputText == numbers.map { lines($0) }.joined(), "\(expressions)")
  }

  @Test func `data that is no JSON is compared as a text`() throws {
    let result = try run(["--where", #"data == "paid""#])
    #expect(result.outputText == #"{"event":"order","channel":"news","data":"paid"}"# + "\n")
  }

  @Test(arguments: [
    ["-o", "raw"], ["-o", "pretty"], ["-F", "%e"], ["-F", "%D"], ["--exec", "cat"], ["-0"], ["-t"],
    ["--summary"], ["--exec", "cat >/dev/null; echo", "--exec-jobs", "2"],
  ])
  func `other events reach no form of output and no command`(options: [String]) throws {
    let result = try run(["--where", #"data.status == "paid""#] + options)
    #expect(result.ending == .exited(0), "\(result.errorText)")
    let separator: Character = options == ["-0"] ? "\0" : "\n"
    let printed = result.outputText.split(separator: separator, omittingEmptySubsequences: false)
    #expect(printed.count == 3, "\(result.outputText)")
  }

  @Test func `--record keeps every event`() throws {
    let path = TemporaryFolder.shared.file("where-record")
    let result = try run(["--where", "data.id == 4", "--record", path])
    #expect(result.outputText == lines(5))
    let record = try String(contentsOfFile: path, encoding: .utf8)
    #expect(record.split(separator: "\n").count == Self.orders.count + 1)
  }

  @Test(arguments: [
    (#"id == "2""#, [2]), ("data.n >= 2", [2, 3]), (#"event != "a""#, [2, 3]),
    (#"data ~ "two*""#, [4]), ("data.n[0]", []), ("channel", []),
  ])
  func `sse has the same conditions`(expression: String, numbers: [Int]) throws {
    let server = try ScriptedServer.streaming(
      "id: 1\nevent: a\ndata: {\"n\":1}\n\nid: 2\nevent: b\ndata: {\"n\":2}\n\n"
        + "id: 3\nevent: b\ndata: {\"n\":3}\n\nid: 4\nevent: a\ndata: two\ndata: lines\n\n"
        + "event: last\ndata: 0\n\n")
    let result = try PusherCLI.sse(
      server, "--where", expression, "-x", "last", "--until-event", "last", "--timeout", "10m"
    ).result()
    #expect(result.ending == .exited(0))
    let all = [
      #"{"event":"a","id":"1","data":{"n":1}}"#, #"{"event":"b","id":"2","data":{"n":2}}"#,
      #"{"event":"b","id":"3","data":{"n":3}}"#, #"{"event":"a","id":"4","data":"two\nlines"}"#,
    ]
    #expect(result.outputText == numbers.map { all[$0 - 1] + "\n" }.joined(), "\(expression)")
  }
}
