import PusherCore
import Testing

@testable import PusherLines
@testable import pusher_cli

@Suite("Settings of --field, --join, --fail-event and --fail-where")
struct FieldSettingsTests {
  @Test func `the path is read, for both commands`() throws {
    let form = try subscribe("a --key k --field a.b -0").printing.form
    #expect(form.field == (try FieldPath("a.b")))
    #expect(!form.joinsFields && form.terminator == 0)
    let joined = try sse("http://h/ --field choices.0.delta.content --join").printing.form
    #expect(joined.field == (try FieldPath("choices.0.delta.content")) && joined.joinsFields)
    #expect(try subscribe("a --key k").printing.form.field == nil)
  }

  @Test(arguments: [
    ("a..b", "--field: 'a..b' has an empty name"),
    ("a[b]", "--field: 'a[b]' has brackets that are not a place in an array, such as [0]"),
  ])
  func `a text that is no path is refused with the reason`(path: String, message: String) {
    #expect(refusal { _ = try sse("http://h/ --field \(path)") } == message)
  }

  @Test func `a path of more than 64 names is refused with the limit`() {
    let path = Array(repeating: "a", count: 65).joined(separator: ".")
    let message = refusal { _ = try sse("http://h/ --field \(path)") }
    #expect(message == "--field: '\(path)' has more than 64 names and places")
  }

  @Test func `other forms of output are refused, also by their short names`() {
    for option in ["-r", "-o raw", "-F %e", "-t", "-L"] {
      let message = refusal { _ = try sse("http://h/ --field a \(option)") }
      #expect(message?.contains("--field") == true, "\(option): \(message ?? "nothing")")
    }
    #expect(refusal { _ = try sse("http://h/ --join") } == "--join needs --field")
  }

  @Test func `a variable's format and colours do not apply to a field`() throws {
    let environment = ["PUSHER_CLI_OUTPUT": "pretty", "FORCE_COLOR": "1"]
    let form = try sse("http://h/ --field a", environment).printing.form
    #expect(form.field != nil && form.color == .auto)
  }

  @Test func `--fail-event is repeatable and keeps its order`() throws {
    let settings = try sse("http://h/ --fail-event error --fail-event *.failed").printing
    #expect(settings.failEvents == ["error", "*.failed"])
  }

  @Test func `--fail-where is repeatable, and its mistakes carry its name`() throws {
    let settings = try sse("http://h/ --fail-where data.error --fail-where data.n>3").printing
    #expect(settings.failConditions.map(\.text) == ["data.error", "data.n>3"])
    #expect(settings.conditions.isEmpty)
    let webhook = try WebhookSettings(
      arguments("webhook listen --fail-where data.error"),
      environment: ["PUSHER_APP_KEY": "k", "PUSHER_APP_SECRET": "s"], files: PretendFiles().access)
    #expect(webhook.failConditions.map(\.text) == ["data.error"])
    let message = refusal { _ = try sse("http://h/ --fail-where error") }
    #expect(message?.hasPrefix("--fail-where 'error': lines have no field") == true)
  }
}
