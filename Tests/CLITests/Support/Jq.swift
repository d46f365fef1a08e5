import Testing

/// jq, which most readers of our lines use.
enum Jq {
  static func run(_ options: String..., on input: [UInt8]) throws -> String {
    let result = try PusherCLI.tool(["jq"] + options, input: input)
    #expect(result.ending == .exited(0), "jq said: \(result.errorText)")
    return result.outputText
  }

  static func expectReads(_ input: [UInt8], lines: Int) throws {
    let events = try run("-c", ".event", on: input)
    #expect(events.split(separator: "\n").count == lines)
  }
}
