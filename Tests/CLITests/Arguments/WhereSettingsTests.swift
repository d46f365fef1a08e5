import PusherCore
import TestSupport
import Testing

@testable import PusherLines
@testable import pusher_cli

struct `--where: settings` {
  private func settings(_ options: String...) throws -> SubscribeSettings {
    try SubscribeSettings(
      arguments(["subscribe", "--key", "k", "news"] + options), environment: [:],
      files: PretendFiles().access)
  }

  @Test func `each mention of --where is a condition, and without it there is none`() throws {
    #expect(try settings().printing.conditions.isEmpty)
    let two = try settings("--where", #"data.status == "paid""#, "--where", "data.total >= 10")
    #expect(two.printing.conditions.map(\.text) == [#"data.status == "paid""#, "data.total >= 10"])
  }

  @Test(
    arguments: """
      status == 1
        => --where 'status == 1': lines have no field 'status'; a path begins with event, channel,
        user_id, id or data, as in data.status…
      data.a == paid
        => --where 'data.a == paid': 'paid' is no value; write a text in double quotes, a number,
        true, false or null…
      data.a = 1 => --where 'data.a = 1': '= 1' is none of == != < <= > >= ~…
      """ as Table)
  func `a bad expression is named with its reason`(row: Table.Row) {
    row.expectRefusal { _ = try settings("--where", row.input) }
  }

  @Test func `an expression that is too long is not repeated`() {
    let long = "data." + String(repeating: "a", count: 5000)
    #expect(
      refusal { _ = try settings("--where", long) }
        == "--where: the expression is longer than 4096 bytes")
  }

  @Test(arguments: [
    ("^A", true), (".*x", true), ("x$", true), ("A*", false), ("order.*", false),
    ("*[0-9]", false), ("a.b", false), ("", false),
  ])
  func `a pattern is a glob for the whole text, and an expression is warned of`(
    pattern: String, isWarnedOf: Bool
  ) throws {
    let condition = "data.a ~ \"\(pattern)\""
    let warning =
      "--where '\(condition)': ~ takes a pattern such as \"A*\", not a regular expression"
    #expect(
      try settings("--where", condition).warnings.map(\.text) == (isWarnedOf ? [warning] : []))
  }

  @Test(arguments: ["-e", "-x", "--until-event", "--fail-event"])
  func `a pattern has up to 4096 bytes`(option: String) throws {
    let longest = String(repeating: "a", count: 4096)
    _ = try settings(option, longest)
    let message = refusal { _ = try settings(option, longest + "a") }
    #expect(message?.hasSuffix(": a pattern has at most 4096 bytes; this one has 4097") == true)
  }
}
