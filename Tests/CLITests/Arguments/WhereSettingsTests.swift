import PusherCore
import TestSupport
import Testing

@testable import PusherLines
@testable import pusher_cli

@Suite("--where: settings")
struct WhereSettingsTests {
  private func words(_ expressions: [String]) -> [String] {
    expressions.flatMap { ["--where", $0] }
  }

  private func conditions(_ expressions: String...) throws -> [WhereClause] {
    let settings = try SubscribeSettings(
      arguments(["subscribe", "--key", "k", "news"] + words(expressions)), environment: [:],
      files: PretendFiles().access)
    return settings.printing.conditions
  }

  @Test func `each mention is a condition, and there is none without`() throws {
    #expect(try conditions().isEmpty)
    let two = try conditions(#"data.status == "paid""#, "data.total >= 10")
    #expect(two.map(\.text) == [#"data.status == "paid""#, "data.total >= 10"])
  }

  @Test func `sse and webhook listen take it too`() throws {
    let stream = try StreamSettings(
      arguments(["sse", "http://h/", "--where", "id"]), environment: [:],
      files: PretendFiles().access)
    #expect(stream.printing.conditions.map(\.text) == ["id"])
    let webhook = try WebhookSettings(
      arguments(["webhook", "listen", "--where", "user_id"]),
      environment: ["PUSHER_APP_KEY": "k", "PUSHER_APP_SECRET": "s"], files: PretendFiles().access)
    #expect(webhook.conditions.map(\.text) == ["user_id"])
  }

  @Test func `other commands refuse it`() {
    #expect(refusal(of: "trigger --where data")?.hasPrefix("trigger has no option --where") == true)
  }

  @Test(arguments: [
    (
      "status == 1",
      "--where 'status == 1': lines have no field 'status'; a path begins with event, channel, "
        + "user_id, id or data, as in data.status"
    ),
    (
      "data.a == paid",
      "--where 'data.a == paid': 'paid' is no value; write a text in double quotes, a number, true, "
        + "false or null"
    ),
    ("data.a = 1", "--where 'data.a = 1': '= 1' is none of == != < <= > >= ~"),
  ])
  func `a bad expression is named with its reason`(expression: String, message: String) {
    let found = refusal { _ = try conditions(expression) } ?? ""
    #expect(found.hasPrefix(message), "\(found)")
  }

  @Test func `an expression that is too long is not repeated`() {
    let long = "data." + String(repeating: "a", count: 5000)
    #expect(
      refusal { _ = try conditions(long) } == "--where: the expression is longer than 4096 bytes")
  }

  @Test func `a pattern is a glob for the whole text, and an expression is warned of`() throws {
    for pattern in ["^A", ".*x", "x$"] {
      let settings = try subscribe(arguments: ["--where", "data.a ~ \"\(pattern)\""])
      #expect(
        settings.warnings.map(\.text) == [
          "--where 'data.a ~ \"\(pattern)\"': ~ takes a pattern such as \"A*\", not a regular "
            + "expression"
        ])
    }
    for pattern in ["A*", "order.*", "*[0-9]", "a.b", ""] {
      #expect(
        try subscribe(arguments: ["--where", "data.a ~ \"\(pattern)\""]).warnings.isEmpty,
        "\(pattern)")
    }
  }

  private func subscribe(arguments words: [String]) throws -> SubscribeSettings {
    try SubscribeSettings(
      arguments(["subscribe", "--key", "k", "news"] + words), environment: [:],
      files: PretendFiles().access)
  }

  @Test(arguments: ["-e", "-x", "--until-event", "--fail-event"])
  func `a pattern has up to 4096 bytes`(option: String) throws {
    let longest = String(repeating: "a", count: 4096)
    _ = try subscribe(arguments: [option, longest])
    let message = refusal { _ = try subscribe(arguments: [option, longest + "a"]) }
    #expect(message?.hasSuffix(": a pattern has at most 4096 bytes; this one has 4097") == true)
  }
}
