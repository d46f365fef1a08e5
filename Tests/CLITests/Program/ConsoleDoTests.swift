import Foundation
import PusherCore
import Testing

@Suite(
  "The console's page: what it does", .serialized, .sharesBrowser,
  .enabled(if: Browser.path != nil, Comment(rawValue: Browser.reason)), .runsProgramsFirst)
struct ConsoleDoTests {
  // MARK: Events

  @Test func `an event is sent, its data checked while it is typed`() throws {
    try ConsoleSite.visit(complaints: ["status of 400"]) { site, view in
      let subscriber = try site.server.subscribe(["news"], "-L")
      try view.choose("do")
      let page = view.page
      try page.type("news", into: "#send-channel")
      try page.type("price", into: "#send-event")
      for (data, verdict) in [
        (#"{"eur":1.10}"#, "Valid JSON"), ("[1,2", "Not JSON, sent as text"),
        ("{\n  \"a\": nope}", "line 2"),
        ("1 2", "Not JSON"), ("\"a\u{7}\"", "Not JSON"), ("-1.5e3", "Valid JSON"),
        ("", "Not JSON"),
      ] {
        try page.type(data, into: "#send-data", replacing: true)
        try view.wait("send-json", shows: verdict)
      }
      try page.type(#"{"eur":1.10}"#, into: "#send-data", replacing: true)
      try page.click("#send-go")
      try view.wait("send-result", shows: "Sent.")
      #expect(try subscriber.line() == #"{"event":"price","channel":"news","data":{"eur":1.10}}"#)
      let answer = try site.ask("/connections?app=17").body
      let socket = try #require(answer["connections"]?.elements?.first?["socket_id"]?.text)
      try page.type(socket, into: "#send-socket")
      try page.type("unheard", into: "#send-event", replacing: true)
      try page.evaluate("document.getElementById('send-result').textContent = ''")
      try page.click("#send-go")
      try view.wait("send-result", shows: "Sent.")
      try page.type("", into: "#send-socket", replacing: true)
      try page.type("last", into: "#send-event", replacing: true)
      try page.press("Enter")
      #expect(try subscriber.line().contains("last"))
      try page.type("bad channel", into: "#send-channel", replacing: true)
      try page.click("#send-go")
      try view.wait("send-result", shows: "⚠ ")
    }
  }

  // MARK: Signatures

  private func printed(_ words: String...) throws -> JSONValue {
    let result = try PusherCLI.run(words, environment: ConsoleSite.environment)
    return try JSONParser.parse(result.outputText.trimmingCharacters(in: .newlines))
  }

  @Test func `an authorisation is the one that the program signs`() throws {
    try ConsoleSite.visit { site, view in
      try view.choose("do")
      let page = view.page
      try page.type("12.34", into: "#sign-socket-id")
      try page.type("presence-room", into: "#sign-channel")
      let expected = try printed(
        "auth", "--socket-id", "12.34", "--user-id", "ada", "presence-room")
      let data = try #require(expected["channel_data"]?.text)
      try page.type(data, into: "#sign-channel-data")
      try page.click("#sign-go")
      try view.wait("sign-string", shows: "12.34:presence-room:\(data)")
      #expect(try JSONParser.parse(try view.text("sign-answer")) == expected)
      try page.evaluate("navigator.clipboard.writeText('nothing')")
      try page.click("#sign-copy")
      try waitUntil("the answer is on the clipboard") {
        try page.clipboard() == view.text("sign-answer")
      }

      try page.click("#sign-for-user")
      let user = try printed("auth", "--socket-id", "12.34", "--user-id", "ada")
      let userData = try #require(user["user_data"]?.text)
      try page.type(userData, into: "#sign-user-data")
      try page.click("#sign-go")
      try view.wait("sign-string", shows: "12.34::user::\(userData)")
      #expect(try JSONParser.parse(try view.text("sign-answer")) == user)
    }
  }

  @Test func `a socket id that is none is refused in words`() throws {
    try ConsoleSite.visit(complaints: ["status of 400"]) { _, view in
      try view.choose("do")
      try view.page.type("1", into: "#sign-socket-id")
      try view.page.type("private-a", into: "#sign-channel")
      try view.page.click("#sign-go")
      try view.wait(
        "sign-result", shows: "⚠ socket_id must be two numbers joined by a dot, not '1'")
      #expect(try view.page.evaluate("document.getElementById('sign-output').hidden") == true)
    }
  }

  // MARK: Webhooks

  @Test func `a webhook is sent again, signed anew`() throws {
    let receiver = try WebhookPair()
    try ConsoleSite.visit("--webhook", receiver.url) { site, view in
      let subscriber = try site.server.subscribe(["news"], "-L")
      let first = try receiver.line()
      #expect(first.contains("channel_occupied"))
      try view.open(line: "channel_occupied")
      try view.page.click("#webhook-again")
      try view.wait("detail-result", shows: "Signed again")
      // The receiver prints only webhooks with valid signatures.
      #expect(try receiver.line() == first)
      try view.page.wait(
        until: "document.querySelector('[data-kind=webhook] .number').textContent === '2'")
      _ = subscriber
    }
  }
}
