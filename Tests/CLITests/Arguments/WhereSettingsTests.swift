import PusherCore
import TestSupport
import Testing

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
    (
      #"data.a ~ "(""#,
      #"--where 'data.a ~ "("': the pattern is invalid: "#
    ),
    (
      #"data.a ~ "(a)\\1""#,
      #"--where 'data.a ~ "(a)\\1"': the pattern is invalid: extended regular expressions have no "#
        + "back-references"
    ),
    (
      #"data.a ~ "a\u0000b""#,
      #"--where 'data.a ~ "a\u0000b"': the pattern is invalid: it holds a NUL"#
    ),
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
}

/// IEEE Std 1003.1, section 9.4.
@Suite("--where: patterns of the C library")
struct ExtendedPatternTests {
  private func matches(_ pattern: String, _ text: String, isCut: Bool = false) throws -> Bool {
    let pattern = try ExtendedPattern(pattern)
    return withView(Array(text.utf8) + [0]) {
      pattern.matches($0[0..<($0.count - 1)], isCut: isCut)
    }
  }

  private static let samples: [(String, String, Bool)] = [
    ("^pa", "paid", true), ("^pa", "unpaid", false), ("pa", "unpaid", true), ("id$", "paid", true),
    ("^(open|paid)$", "open", true), ("^(open|paid)$", "opened", false), ("", "", true),
    ("a{2,3}b", "aab", true), ("a{2,3}b", "ab", false), ("[[:digit:]]+", "a1", true),
    ("[^0-9]", "12", false), (#"a\.b"#, "a.b", true), (#"a\.b"#, "axb", false),
    (#"\\1"#, #"\1"#, true),
    ("^$", "", true), ("^$", "a", false), ("A", "a", false), ("\u{E9}t", "\u{E9}t\u{E9}", true),
  ]

  @Test(arguments: samples)
  func `a pattern is found anywhere in the text`(pattern: String, text: String, expected: Bool)
    throws
  {
    #expect(try matches(pattern, text) == expected, "\(pattern), \(text)")
  }

  @Test func `the end of a cut text, and a NUL, are not its end`() throws {
    #expect(try matches("a$", "aa"))
    #expect(try !matches("a$", "aa", isCut: true))
    #expect(try matches("^a", "aa", isCut: true))
    #expect(try !matches("a$", "a\0b"))
    #expect(try matches("^a", "a\0b"))
  }

  @Test(arguments: ["(", "[", "a{2,1}", "[b-a]", "[[:word:]]"])
  func `a pattern that does not compile is refused`(pattern: String) {
    #expect(throws: WhereFault.self) { try ExtendedPattern(pattern) }
  }

  @Test func `nested groups and repetitions do not trap`() throws {
    let depth = 200
    let pattern =
      String(repeating: "(", count: depth) + "a*" + String(repeating: ")*", count: depth)
    guard let compiled = try? ExtendedPattern(pattern) else { return }
    let text = String(repeating: "a", count: 64) + "b"
    withView(Array(text.utf8) + [0]) { _ = compiled.matches($0[0..<65], isCut: false) }
  }
}
