import Foundation
import PusherCore
import Testing

@Suite("Console page: what happens", .serialized, .sharesBrowser, .needsBrowser, .runsProgramsFirst)
struct ConsoleLiveTests {
  // MARK: Lines

  private func reached(_ count: Int) -> String {
    PusherCLI.sharesChannels ? "" : "\(count) recipient\(count == 1 ? "" : "s")  "
  }

  @Test func `each kind of thing that happens becomes a line`() throws {
    let receiver = try WebhookPair()
    try ConsoleSite.visit("--webhook", receiver.url) { site, view in
      let member = try site.program(
        ["subscribe"], "presence-room", "private-chat", "-L", "--stdin", "--sign-in",
        "--user-id", "ada", "--user-info", #"{"name":"Ada"}"#, input: .pipe)
      _ = try member.lines(5)
      try view.wait(line: "user", "", "signed_in", "ada")
      try view.wait(line: "connection", "", "opened")
      try view.wait(line: "subscription", "presence-room", "subscribed", "ada")
      try view.wait(line: "channel", "presence-room", "occupied")
      try view.wait(line: "member", "presence-room", "added", #"ada  {"name":"Ada"}"#)
      try view.wait(line: "webhook", "", "channel_occupied  sent", "200")

      member.write(
        Array(#"{"event":"client-typing","channel":"private-chat","data":{"n":1}}"#.utf8 + [10]))
      try view.wait(line: "event", "private-chat", "client-typing", reached(0) + #"{"n":1}"#)
      try site.trigger("private-chat", "price", #"{"eur":1.10}"#)
      try view.wait(line: "event", "private-chat", "price", reached(1) + #"{"eur":1.10}"#)

      let refused = try site.server.trigger("news", "e", "1", secret: "wrong")
      #expect(refused.ending != .exited(0))
      try view.wait(line: "⚠ request", "", "POST  /apps/17/events", "401")
      let stranger = try site.server.start(["subscribe", "private-secret"], secret: "wrong")
      #expect(try stranger.wait() != .exited(0))
      try view.wait(line: "⚠ subscription", "private-secret", "refused", "signature")

      member.send(SIGTERM)
      _ = try member.wait()
      try view.wait(line: "connection", "", "closed")
      try view.wait(line: "member", "presence-room", "removed", "ada")
      try view.wait(line: "channel", "presence-room", "vacated")
    }
  }

  // MARK: Filters

  private func fill(_ site: ConsoleSite) throws {
    for number in 1...4 { try site.trigger("news", "price", #"{"number":\#(number)}"#) }
    try site.trigger("sports", "price", #"{"word":"NEEDLE"}"#)
    try site.trigger("sports", "goal")
    #expect(try site.server.trigger("news", "e", "1", secret: "wrong").ending != .exited(0))
  }

  private func wait(_ view: ConsoleView, matches: String) throws {
    try view.page.wait(until: "document.getElementById('matches').textContent === '\(matches)'")
  }

  @Test func `what is typed into the filters counts and shows just what matches`() throws {
    try ConsoleSite.visit { site, view in
      try fill(site)
      // An event and its call share a row; the refused call has its own. No client is present.
      let total = PusherCLI.sharesChannels ? 13 : 7
      try wait(view, matches: "\(total) of \(total)")
      for (field, text, count) in [
        ("channel", "SPORT", 2), ("event", "price", 5), ("text", "needle", 1), ("text", "401", 1),
        ("text", "\"number\":", 4), ("channel", "*s", 6), ("event", ".price*", 5),
      ] {
        try view.page.type(text, into: "#filter-\(field)", replacing: true)
        try wait(view, matches: "\(count) of \(total)")
        #expect(try view.lines().count == count)
        try view.page.type("", into: "#filter-\(field)", replacing: true)
        try wait(view, matches: "\(total) of \(total)")
      }
      try view.page.type("price", into: "#filter-event")
      try view.page.type("news", into: "#filter-channel")
      try wait(view, matches: "4 of \(total)")
      try view.page.type("", into: "#filter-event", replacing: true)
      try view.page.type("", into: "#filter-channel", replacing: true)
      let shared = PusherCLI.sharesChannels ? ["request"] : []
      for (kind, count, shown) in [
        ("event", 6, ["event"]), ("request", total, ["event", "⚠ request"] + shared),
        ("event", 7, ["request", "⚠ request"]),
      ] {
        try view.page.click("[data-kind=\(kind)]")
        try wait(view, matches: "\(count) of \(total)")
        // The number may be the one from before the click.
        let kinds = JSONValue.array(Set(shown).sorted().map(JSONValue.string)).jsonText
        try view.page.wait(
          until: """
            \(ConsoleView.lines).length === \(count) && JSON.stringify(\(kinds)) ===
              JSON.stringify([...new Set(\(ConsoleView.lines).map((cells) => cells[1]))].sort())
            """)
      }
      for (kind, count) in [("event", "6"), ("request", "7")] {
        let number = "document.querySelector('[data-kind=\(kind)] .number').textContent"
        #expect(try view.page.evaluate(number).text == count)
      }
    }
  }

  // MARK: Pause and clear

  @Test func `a pause loses nothing, and clear empties the list`() throws {
    try ConsoleSite.visit { site, view in
      try site.trigger("news", "first")
      try view.wait(line: "event", "news", "first")
      try view.page.click("[data-kind=event]")
      try view.page.wait(until: "\(ConsoleView.lines).length === 1")
      try view.page.click("#pause")
      try view.page.wait(until: "document.getElementById('pause').textContent === 'Resume (0)'")
      for number in 1...3 { try site.trigger("news", "later-\(number)") }
      // Their calls have no rows of their own.
      try view.wait("pause", shows: PusherCLI.sharesChannels ? "Resume (6)" : "Resume (3)")
      #expect(try view.lines().filter { $0[3].contains("later") } == [])
      #expect(try view.page.evaluate("document.getElementById('pause').ariaPressed") == "true")
      try view.page.click("#list")
      try view.page.press("p")
      try view.wait(line: "event", "news", "later-3")
      #expect(try view.lines().map { $0[3] }.suffix(3) == ["later-1", "later-2", "later-3"])
      #expect(try view.text("pause") == "Pause")
      try view.page.click("#clear")
      try view.wait(0, of: "#rows .row:not([hidden])")
      try view.wait("matches", shows: "0 of 0")
      try view.wait("empty", shows: "No entries yet")
      try site.trigger("news", "after")
      try view.wait(line: "event", "news", "after")
      #expect(try view.lines().count == 1)
    }
  }

  // MARK: Access

  @Test func `a server that comes back has another token, and the page says so`() throws {
    let lost = ["Failed to load resource", "net::ERR"]
    let site = try ConsoleSite()
    let view = try ConsoleView(site)
    try site.server.stop()
    try view.wait(state: "lost")
    try view.wait("state-text", shows: "disconnected, retrying in")
    try view.page.wait(until: "!document.getElementById('hint').hidden")
    try view.wait("hint", shows: "--console-token-file")
    let again = try ConsoleSite(port: site.server.port)
    try view.wait(state: "refused")
    try view.wait("state-text", shows: "open the address that the server printed")
    try view.demandSound(except: lost)
    let other = try ConsoleView(again)
    try other.demandSound()
  }

  // MARK: Long lists

  private static func recording(events count: Int) -> [String] {
    (1...count).map { number in
      #"{"n":\#(number),"time":"2026-11-22T21:50:00.000Z","kind":"event","source":"api","app":"17","#
        + #""channel":"news","event":"tick","data":"\#(number)","recipients":1}"#
    }
  }

  @Test func `of ten thousand entries only those that are seen stand in the document`() throws {
    let view = try ConsoleView(recording: Self.recording(events: 10_000))
    try view.page.wait(
      until: "document.getElementById('matches').textContent === '10,000 of 10,000'")
    // All have the same time, so they are one burst.
    try view.wait(line: "event", "news", "tick×10,000", "1 recipient  10000")
    #expect(try view.lines().count == 1)
    try view.page.click("#row-0 .times")
    try view.page.wait(until: "list.ariaRowCount === '10001'")
    /// Scrolls to a relative position in the list and waits for the line there.
    func scroll(to part: Double, shows number: Int) throws {
      try view.page.evaluate("list.scrollTop = \(part) * (list.scrollHeight - list.clientHeight)")
      try view.page.wait(
        until: "\(ConsoleView.lines).some((cells) => cells[4] === '1 recipient  \(number)')")
      let numbers = try view.lines().compactMap { Int($0[4].dropFirst("1 recipient  ".count)) }
      let first = try #require(numbers.first)
      #expect(numbers == Array(first..<first + numbers.count))
      #expect(
        try #require(try view.page.evaluate("document.querySelectorAll('.row').length").integer)
          < 100)
    }
    try scroll(to: 1, shows: 10_000)
    try scroll(to: 0, shows: 1)
    try scroll(to: 0.5, shows: 5_000)
    try scroll(to: 1, shows: 10_000)
    #expect(try view.page.evaluate("list.ariaRowCount") == "10001")
    try view.demandSound()
  }

  // MARK: Details

  private static let nested = #"{"list":[1,{"deep":{"deeper":true}}],"number":1.10,"text":"a"}"#

  @Test func `an entry is opened by mouse and by keys, and its JSON folds`() throws {
    try ConsoleSite.visit { site, view in
      let page = view.page
      try site.trigger("news", "tree", Self.nested)
      try site.trigger("news", "text", "no JSON")
      try view.wait(line: "event", "news", "text")
      try page.click("[data-kind=event]")
      try page.wait(until: "\(ConsoleView.lines).length === 2")
      try view.open(line: "tree")
      #expect(try view.text("detail-title") == "event  tree")
      for part in ["channel", "news", "source", "api"] {
        #expect(try view.text("detail-members").contains(part))
      }
      for part in ["POST", "/apps/17/events", "status200"] where !PusherCLI.sharesChannels {
        #expect(try view.text("detail-request").contains(part))
      }
      // Numbers keep their original spelling.
      #expect(try view.text("detail-data").contains("1.10"))
      let folds =
        "[...document.querySelectorAll('#detail-data .fold')].map((fold) => fold.ariaExpanded)"
      let before = try page.evaluate(folds)
      try page.click("#detail-data .fold")
      #expect(try page.evaluate(folds).elements?.first == "false")
      #expect(try page.evaluate("document.querySelector('#detail-data ul ul').hidden") == true)
      // The same with keys.
      try page.press("ArrowRight")
      #expect(try page.evaluate(folds) == before)
      try page.press("ArrowLeft")
      #expect(try page.evaluate(folds).elements?.first == "false")
      try page.press("Escape")
      try page.wait(until: "detail.hidden")

      #expect(try page.evaluate("document.activeElement.id") == "list")
      try page.press("Home")
      try page.press("j")
      try page.press("Enter")
      try page.wait(until: "!detail.hidden")
      #expect(try view.text("detail-title") == "event  text")
      #expect(try view.text("detail-data").contains("no JSON"))
      // The list is drawn in the next frame.
      try page.wait(
        until: "document.querySelector('[aria-selected=true].row').dataset.index === '1'")
      try page.press("k")
      try view.wait("detail-title", shows: "event  tree")
      try page.click("#detail-close")
      try page.wait(until: "detail.hidden")
    }
  }

  // MARK: Copies

  /// Data that a shell, a terminal or the program could misinterpret.
  private static let perilous = [
    #"$(touch X)'""#, "`touch X`; touch X & touch X | touch X #", #"'$(touch X)'\''; touch X"#,
    "a\nb\\n\\0101 \u{1B}[31m \u{7F}\u{202E}", "@/etc/passwd", "@-", "-n", "--help", "", "!!",
    "%s %n",
    #"{"a":"$(touch X)'\"\\"}"#, "\t tab \u{0}zero", "*", "~ $HOME ${IFS}", "grüße ✓ 🎉",
  ]

  private func run(_ line: String, _ site: ConsoleSite) throws -> String {
    let folder = try TemporaryFolder.shared.folder("shell")
    let variables = [
      "PUSHER_APP_SECRET": "local-secret", "PUSHER_CONSOLE_TOKEN": site.token, "LINE": line,
    ]
    try ChildProgram(
      "/bin/sh", ["-c", "cd '\(folder)' && eval \"$LINE\""],
      environment: PusherCLI.shellEnvironment.merging(variables) { $1 }
    ).result().expect()
    return folder
  }

  @Test func `copied lines send the same event again, and run nothing else`() throws {
    try ConsoleSite.visit { site, view in
      let page = view.page
      let subscriber = try site.server.subscribe(["news"], "-L")
      try page.click("[data-kind=event]")
      for data in Self.perilous {
        try page.evaluate("document.getElementById('clear').click()")
        let order: JSONValue = [
          "app": "17", "channel": "news", "event": .string("-e'\(data.prefix(3))"),
          "data": .string(data),
        ]
        try page.evaluate("call('trigger', \(order.jsonText))")
        let event = try subscriber.line()
        try page.wait(until: "\(ConsoleView.lines).length === 1")
        try page.click("#rows .row:not([hidden])")
        try page.wait(until: "!detail.hidden")
        for button in ["copy-curl", "copy-cli"] {
          let line = try view.copied(by: button)
          for secret in [site.token, "local-secret"] { #expect(!line.contains(secret)) }
          // Pasted text contains no terminal control characters.
          #expect(!line.unicodeScalars.contains { $0.value < 0x20 && $0 != "\n" || $0 == "\u{7F}" })
          let folder = try run(line, site)
          #expect(try subscriber.line() == event, "\(button): \(line)")
          #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == [], "\(line)")
        }
        // All lines are on the page before the list is cleared for the next case.
        try page.wait(until: "\(ConsoleView.lines).length === 3")
        let copy = try JSONParser.parse(try view.copied(by: "copy-json"))
        #expect(copy["data"]?.text == data)
        try page.click("#detail-close")
      }
    }
  }

  @Test func `an event is sent again from its details`() throws {
    try ConsoleSite.visit { site, view in
      let subscriber = try site.server.subscribe(["news"], "-L")
      try site.trigger("news", "price", #"{"eur":1.10}"#)
      let event = try subscriber.line()
      try view.open(line: "price")
      try view.page.click("#send-again")
      try view.page.wait(
        until: "!document.getElementById('do').hidden && document.activeElement.id === 'send-go'")
      #expect(
        try view.page.evaluate(
          "['channel', 'event', 'data'].map((name) => document.getElementById(`send-${name}`).value)"
        )
          == ["news", "price", #"{"eur":1.10}"#])
      try view.page.press("Enter")
      #expect(try subscriber.line() == event)
      try view.wait("send-result", shows: "Sent")
    }
  }
}
