import Testing

@Suite("--count, in every form of output", .runsPrograms) struct CountTests {
  private static let json = #"{"event":"tick","channel":"news","data":{"n":1}}"#

  /// Options of a form of output, and one event in it.
  static let forms: [([String], String)] = [
    ([], json + "\n"), (["-o", "json"], json + "\n"), (["-o", "raw"], #"{"n":1}"# + "\n"),
    (["-0"], json + "\0"), (["-o", "raw", "-0"], #"{"n":1}"# + "\0"),
    (["--color", "never"], json + "\n"),
    (["-F", "%e of %c: %d"], #"tick of news: {"n":1}"# + "\n"), (["-F", "%e", "-0"], "tick\0"),
    (["--exec", "cat"], json + "\n"),
    (["--exec", "true", "--tee", "-o", "raw"], #"{"n":1}"# + "\n"),
  ]

  private func ticking() throws -> ScriptedServer {
    try ScriptedServer.joined { for _ in 0..<5 { try $0.send(event: "tick", data: #"{"n":1}"#) } }
  }

  @Test(arguments: forms)
  func `the program returns at the last event asked for`(options: [String], event: String) throws {
    let server = try ticking()
    try server.subscribed(["news", "-n", "2", "--timeout", "10m"] + options).expect(
      prints: event + event, says: "")
  }
}
