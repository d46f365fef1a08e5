import Testing

@Suite("Names and colours as people meet them", .runsPrograms)
struct EventNameTests {
  private static let name = #"App\\Events\\OrderShipped"#

  private func run(_ options: [String], _ environment: [String: String] = [:]) throws
    -> ProgramResult
  {
    let server = try ScriptedServer.joined { connection in
      let message = #"{"event":"\#(Self.name)","channel":"news","data":"1"}"#
      try connection.send(text: message)
      try connection.send(event: "order.shipped", data: "2")
      try connection.send(event: "last", data: "3")
    }
    return try server.subscribed(["news"] + options, environment: environment)
  }

  @Test(
    arguments: [
      #"App\Events\OrderShipped"#, #"\App\Events\OrderShipped"#, #"App\\Events\\OrderShipped"#,
      #"App\Events\*"#, #"*\OrderShipped"#,
    ])
  func `a class is matched as Laravel prints it, and left out`(pattern: String) throws {
    let matched = try run(["-e", pattern, "-n", "1", "-W", "10s"])
    #expect(matched.outputText == #"{"event":"\#(Self.name)","channel":"news","data":1}"# + "\n")
    let others = try run(["-x", pattern, "-n", "2", "-W", "10s", "-F", "%e"])
    #expect(others.outputText == "order.shipped\nlast\n")
  }

  @Test func `an alias is matched with the dot that Laravel Echo wants`() throws {
    #expect(try run(["-e", ".order.shipped", "-n", "1", "-F", "%d"]).outputText == "2\n")
    #expect(try run(["-x", ".order.*", "-n", "2", "-F", "%d"]).outputText == "1\n3\n")
  }

  @Test(arguments: [["FORCE_COLOR": "1"], ["CLICOLOR_FORCE": "1"], ["PUSHER_CLI_COLOR": "always"]])
  func `JSON in a pipe stays JSON where colour is forced`(environment: [String: String]) throws {
    for form in [[], ["-o", "raw"], ["-F", "%j"]] {
      let result = try run(["-n", "3"] + form, environment)
      #expect(!result.output.contains(0x1B), "\(form) \(result.outputText)")
    }
    #expect(try run(["-n", "3", "-o", "pretty"], environment).output.contains(0x1B))
    #expect(try run(["-n", "3", "--color", "always"]).output.contains(0x1B))
    #expect(
      try !run(["-n", "3", "-o", "pretty", "--color", "never"], environment).output.contains(0x1B))
  }
}
