import Foundation
import PusherCore
import Testing

@Suite(
  "The console's page: check my app", .serialized, .sharesBrowser,
  .enabled(if: Browser.path != nil, Comment(rawValue: Browser.reason)), .runsProgramsFirst)
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

  @Test func `a right answer is right, and each usual mistake is named`() throws {
    try ConsoleSite.visit { _, view in
      try view.choose("check")
      let right = try answer("private-orders")
      // The whole answer is pasted and fills the known fields.
      try check(view, ["auth": right.text, "socket-id": "12.34", "channel": "private-orders"])
      #expect(try view.page.evaluate("document.getElementById('check-key').value") == "local-key")
      #expect(
        try view.page.evaluate("document.getElementById('check-auth').value") == right.value["auth"]
          ?? nil)
      #expect(try view.text("check-result") == "✓ Valid authorisation.")
      #expect(try view.text("check-string") == "12.34:private-orders")
      #expect(try view.page.evaluate("document.querySelectorAll('#check-findings li').length") == 0)

      try check(view, ["channel": "presence-orders", "channel-data": #"{"user_id":"ada"}"#])
      #expect(try view.text("check-result").hasPrefix("⚠ "))
      try check(view, ["channel": "orders", "channel-data": ""])
      #expect(try view.text("check-findings").contains("public channel"))
      try check(view, ["channel": "private-Orders"])
      #expect(try view.text("check-findings").contains("for channel 'private-orders'"))
      try check(view, ["channel": "private-orders", "key": "other"])
      #expect(try view.text("check-findings").contains("no app of this server has the key 'other'"))
      try check(view, ["key": "local-key", "socket-id": "12"])
      #expect(try view.text("check-findings").contains("two numbers joined by a dot"))
    }
  }

  @Test func `data that was left out of the signature is named`() throws {
    try ConsoleSite.visit { _, view in
      try view.choose("check")
      let presence = try answer("--user-id", "ada", "presence-room")
      try check(view, ["auth": presence.text, "socket-id": "12.34", "channel": "presence-room"])
      #expect(try view.text("check-result") == "✓ Valid authorisation.")
      let data = try #require(presence.value["channel_data"]?.text)
      #expect(
        try view.page.evaluate("document.getElementById('check-channel-data').value").text == data)
      try check(view, ["channel-data": ""])
      #expect(try view.text("check-findings").contains("needs channel_data with a user_id"))

      // The program never signs a presence channel without its data.
      let signed = Digest.hmacSHA256(
        Array("12.34:presence-room".utf8), key: Array("local-secret".utf8))
      try check(view, ["auth": "local-key:\(Hex.encode(signed))", "channel-data": data])
      #expect(try view.text("check-findings").contains("leaves out channel_data"))
      try check(view, ["auth": "local-key:00"])
      #expect(try view.text("check-findings").contains("not 64 hexadecimal digits"))
    }
  }
}
