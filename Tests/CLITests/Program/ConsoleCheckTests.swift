import Foundation
import PusherCore
import Testing

@Suite("Console page: check my app", .serialized, .sharesBrowser, .needsBrowser, .runsProgramsFirst)
struct ConsoleCheckTests {
  private func answer(_ words: String...) throws -> (text: String, value: JSONValue) {
    let result = try PusherCLI.run(
      ["auth", "--socket-id", "12.34"] + words, environment: ConsoleSite.environment)
    let text = result.outputText.trimmingCharacters(in: .newlines)
    return (text, try JSONParser.parse(text))
  }

  private func check(_ view: ConsoleView, _ fields: KeyValuePairs<String, String>) throws {
    for (field, text) in fields {
      try view.page.type(text, into: "#check-\(field)", replacing: true)
    }
    try view.page.evaluate("document.getElementById('check-result').textContent = ''")
    try view.page.click("#check-go")
    try view.page.wait(until: "document.getElementById('check-result').textContent !== ''")
  }

  @Test func `a right answer is right, and a mistake is named`() throws {
    try ConsoleSite.visit { _, view in
      try view.choose("check")
      let presence = try answer("--user-id", "ada", "presence-room")
      // The whole answer is pasted and fills the known fields.
      try check(view, ["auth": presence.text, "socket-id": "12.34", "channel": "presence-room"])
      for (field, value) in [
        ("key", "local-key"), ("auth", presence.value["auth"]?.text),
        ("channel-data", presence.value["channel_data"]?.text),
      ] {
        let shown = try view.page.evaluate("document.getElementById('check-\(field)').value")
        #expect(shown.text == value, "\(field)")
      }
      #expect(try view.text("check-result") == "✓ Valid authorisation.")
      #expect(try view.text("check-string").hasPrefix("12.34:presence-room:"))
      #expect(try view.page.evaluate("document.querySelectorAll('#check-findings li').length") == 0)

      try check(view, ["channel-data": ""])
      #expect(try view.text("check-result").hasPrefix("⚠ "))
      #expect(try view.text("check-findings").contains("needs channel_data with a user_id"))
      try check(view, ["key": "other"])
      #expect(try view.text("check-findings").contains("no app of this server has the key 'other'"))
    }
  }
}
