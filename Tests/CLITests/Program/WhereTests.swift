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

  private func run(_ options: [String]) throws -> ProgramResult {
    let server = try ScriptedServer.joined { connection in
      for text in Self.orders { try connection.send(event: "order", data: text) }
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
    try run(["--where", #"data.status == "paid""#, "--where", "data.id"])
      .expect(0, prints: lines(2, 3), says: "")
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
}
