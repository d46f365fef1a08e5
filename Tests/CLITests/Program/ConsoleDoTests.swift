import Foundation
import PusherCore
import Testing

@Suite("Console page: what it does", .serialized, .sharesBrowser, .needsBrowser, .runsProgramsFirst)
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

  // MARK: Replays

  @Test func `a record and a subscriber's lines are replayed, all at once`() throws {
    let record = TemporaryFolder.shared.file("record.jsonl")
    let first = try ConsoleSite(["--record", record])
    let printer = try first.program(["subscribe"], "news", "-L", "-t")
    _ = try printer.lines(2)
    var lines: [String] = []
    for number in 1...3 {
      try first.trigger("news", "tick", #"{"number":\#(number).10}"#)
      lines.append(try printer.line())
    }
    try first.server.stop()
    try ConsoleSite.visit { site, view in
      let subscriber = try site.server.subscribe(["news"], "-L")
      let page = view.page
      func replay(_ words: String) throws {
        try view.wait("replay-count", shows: words)
        try page.click("#replay-once")
        try page.click("#replay-start")
        for number in 1...3 {
          #expect(
            try subscriber.line()
              == #"{"event":"tick","channel":"news","data":{"number":\#(number).10}}"#)
        }
        try view.wait("replay-result", shows: "Sent 3 of 3 events.")
        #expect(try page.evaluate("document.getElementById('replay-progress').value") == 1)
      }
      try view.choose("do")
      try page.choose(files: [record], in: "#replay-file")
      try replay("3 events to send; ")
      let junk = [
        "nonsense", #"{"event":"no channel"}"#, "", #"  {"event":"pusher:error","channel":null}"#,
      ]
      try page.type((junk + lines).joined(separator: "\n"), into: "#replay-lines", replacing: true)
      try replay(
        "3 events to send; 1 line cannot be sent: not JSON; 1 line cannot be sent: no channel; 1 line skipped"
      )
    }
  }

  @Test func `a replay keeps its pace, is made faster by a factor, and is stopped`() throws {
    try ConsoleSite.visit { site, view in
      let subscriber = try site.server.subscribe(["news"], "-L")
      let page = view.page
      let lines = (0...2).map { number in
        #"{"received_at":"2026-11-22T2\#(number):00:00.000Z","event":"tick","channel":"news","data":\#(number)}"#
      }
      try view.choose("do")
      try page.type(lines.joined(separator: "\n"), into: "#replay-lines", replacing: true)
      try page.click("#replay-start")
      #expect(try subscriber.line().contains(#""data":0"#))
      try view.wait("replay-result", shows: "1 of 3")
      try page.click("#replay-stop")
      try view.wait("replay-result", shows: "Stopped: sent 1 of 3 events.")
      // The value is in hours, the order in milliseconds.
      try page.type("1000000", into: "#replay-factor", replacing: true)
      try page.click("#replay-start")
      for number in 0...2 { #expect(try subscriber.line().contains(#""data":\#(number)"#)) }
      try view.wait("replay-result", shows: "Sent 3 of 3 events.")
    }
  }

  // MARK: Faults

  @Test func `each kind of fault is staged by its form, and all are lifted`() throws {
    try ConsoleSite.visit { site, view in
      let page = view.page
      try view.choose("do")
      let options = "[...document.getElementById('fault-kind').options]"
      let all = try page.evaluate("\(options).map((option) => option.value)").elements ?? []
      #expect(all.count == 13)
      let kinds = all.compactMap(\.text).filter { $0 != "storm" }
      for (number, kind) in kinds.enumerated() {
        let (setting, value) =
          switch kind {
          case "auth-fail": ("status", "503")
          case "expire-window", "reset-stream": ("channel", "a")
          default: ("after", "1000")
          }
        try view.select(kind, in: "fault-kind")
        try page.type(value, into: "#fault-\(setting)")
        #expect(
          try page.evaluate("document.getElementById('fault-text').value").text
            == "\(kind):\(setting)=\(value)")
        try page.click("#fault-add")
        try view.wait(number + 1, of: "#fault-list li")
      }
      let told = try site.ask("/faults").body["faults"]
      let texts = told?.elements?.compactMap(\.text) ?? []
      #expect(texts.count == kinds.count)
      for (text, kind) in zip(texts, kinds) { #expect(text.contains(kind)) }
      let shown =
        "[...document.querySelectorAll('#fault-list code')].map((item) => item.textContent)"
      #expect(try page.evaluate(shown) == told)
      try page.click("#fault-clear")
      try view.wait(0, of: "#fault-list li")
      #expect(try site.ask("/faults").body["faults"] == [])
    }
  }

  @Test func `a fault that is typed happens, and one that is none is refused in words`() throws {
    try ConsoleSite.visit(complaints: ["status of 400"]) { site, view in
      let subscriber = try site.server.subscribe(["news"], "-L")
      try view.choose("do")
      try view.page.type("duplicate:times=1", into: "#fault-text", replacing: true)
      try view.page.press("Enter")
      try view.wait("fault-result", shows: "Staged.")
      try site.trigger("news", "twice")
      #expect(try subscriber.line() == subscriber.line())
      try view.page.type("explode", into: "#fault-text", replacing: true)
      try view.page.click("#fault-add")
      try view.wait("fault-result", shows: "⚠ ")
      try view.page.type("storm:times=1", into: "#fault-text", replacing: true)
      try view.page.click("#fault-add")
      try view.wait("fault-list", shows: "storm")
    }
  }

  // MARK: What was sent

  @Test func `an event that was sent is filled in from the history, and sent again`() throws {
    try ConsoleSite.visit { site, view in
      let subscriber = try site.server.subscribe(["news"], "-L")
      let page = view.page
      try view.choose("do")
      try page.type("news", into: "#send-channel")
      for (event, data) in [("first", "1"), ("second", "2")] {
        try page.type(event, into: "#send-event", replacing: true)
        try page.type(data, into: "#send-data", replacing: true)
        try page.click("#send-go")
        #expect(try subscriber.line().contains(event))
        try view.wait("send-history", shows: event)
      }
      let rows =
        "[...document.querySelectorAll('#send-history .foreign')].map((row) => row.textContent)"
      #expect(try page.evaluate(rows) == ["second  news  2", "first  news  1"])
      try page.click("#send-history li:last-child button")
      #expect(try page.evaluate("document.activeElement.id") == "send-go")
      try page.press("Enter")
      #expect(try subscriber.line() == #"{"event":"first","channel":"news","data":1}"#)
      try page.wait(until: "\(rows)[0] === 'first  news  1'")
      #expect(try page.evaluate("\(rows).length") == 2)
    }
  }

  @Test func `channels and events are completed, also channels from before the page`() throws {
    try ConsoleSite.visit { site, view in
      let page = view.page
      let subscriber = try site.server.subscribe(["early", "news"], "-L")
      try site.trigger("news", "price", "1")
      try view.wait(line: "event", "news", "price")
      // Without its list, the page knows the channels only from the server.
      try page.open(site.address)
      try view.wait(state: "connected")
      try view.choose("do")
      let offered = { (list: String) in
        "[...document.getElementById('\(list)').options].map((option) => option.value)"
      }
      try page.click("#send-channel")
      try page.wait(until: "\(offered("known-channels")).includes('early')")
      try site.trigger("news", "price", "2")
      // The list is made when the field gets the focus, perhaps before the event is there.
      try page.wait(
        until: """
          (document.getElementById("send-event").dispatchEvent(new Event("focus")),
            \(offered("known-events")).includes("price"))
          """)
      _ = subscriber
    }
  }

  // MARK: Webhooks

  @Test func `a webhook is sent again from its details and from the list, signed anew`() throws {
    let receiver = try WebhookPair()
    try ConsoleSite.visit("--webhook", receiver.url) { site, view in
      let page = view.page
      try view.choose("do")
      try view.wait("webhook-empty", shows: "No webhooks yet. Subscribe to a channel:")
      let subscriber = try site.server.subscribe(["news"], "-L")
      // The receiver prints only webhooks with valid signatures.
      let first = try receiver.line()
      try view.wait("webhook-list", shows: "channel_occupied  newssent, status 200")
      try page.click("#webhook-list button")
      #expect(try receiver.line() == first)
      try view.wait("webhook-result", shows: "channel_occupied  sent, status 200.")
      #expect(try page.evaluate("document.querySelectorAll('#webhook-list li').length") == 1)
      try view.choose("live")
      try view.open(line: "channel_occupied")
      try page.click("#webhook-again")
      try view.wait("detail-result", shows: "Signed again")
      #expect(try receiver.line() == first)
      try page.wait(
        until: "document.querySelector('[data-kind=webhook] .number').textContent === '3'")
      _ = subscriber
    }
  }

  @Test func `a server without receivers says how to start one that has`() throws {
    try ConsoleSite.visit { _, view in
      try view.choose("do")
      try view.wait("webhook-empty", shows: "pusher-cli serve --webhook http://127.0.0.1:8000/hook")
    }
  }

  // MARK: Connect

  @Test func `the lines that connect an app are chosen and copied, without the secret`() throws {
    try ConsoleSite.visit { site, view in
      let page = view.page
      try view.choose("do")
      try view.wait("connect-text", shows: "wsPort: \(site.server.port)")
      try view.wait("connect-note", shows: "PUSHER_APP_SECRET is the secret of app '17'")
      let names = try page.evaluate(
        "[...document.getElementById('connect-library').options].map((option) => option.value)")
      let told = try site.ask("/snippets?app=17&url=http://\(site.place)").body["snippets"]
      let snippets = try #require(told?.elements)
      #expect(names.elements == snippets.compactMap { $0["name"] })
      for snippet in snippets {
        let (name, text) = (snippet["name"]?.text ?? "", snippet["text"]?.text ?? "")
        try view.select(name, in: "connect-library")
        #expect(try view.text("connect-text") == text)
        #expect(try view.copied(by: "connect-go", telling: "connect-result") == text)
      }
      #expect(
        try page.evaluate("document.documentElement.outerHTML.includes('local-secret')") == false)
    }
  }
}
