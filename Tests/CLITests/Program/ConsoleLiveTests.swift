import Foundation
import PusherCore
import Testing

@Suite(
  "The console's page: what happens", .serialized, .sharesBrowser,
  .enabled(if: Browser.path != nil, Comment(rawValue: Browser.reason)), .runsProgramsFirst)
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
      let stranger = try PusherCLI.start(
        ["subscribe"] + site.server.address + ["private-secret"],
        environment: LocalServer.environment("wrong"))
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
        ("text", "\"number\":", 4), ("text", ".*", 0), ("channel", "news", 4),
        ("channel", "*s", 6), ("channel", "SPORT*", 0), ("event", "[pq]rice", 5),
        ("event", "?rice", 5), ("event", ".price*", 5),
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
      try view.page.wait(
        until: "document.querySelectorAll('#rows .row:not([hidden])').length === 0")
      try view.wait("matches", shows: "0 of 0")
      try view.wait("empty", shows: "No entries yet")
      try site.trigger("news", "after")
      try view.wait(line: "event", "news", "after")
      #expect(try view.lines().count == 1)
    }
  }

  // MARK: Access

  @Test(arguments: ["", "?token=", "?token=0f7f4d0b43c0b16f4b5cf0a1e5a4c7d2"])
  func `without the token of the run there is no page`(query: String) throws {
    let site = try ConsoleSite()
    let page = try SuiteBrowser.current().page()
    try page.open(site.url + query)
    #expect(try page.evaluate("document.body.innerText").text?.contains("needs the token") == true)
    #expect(try page.evaluate("document.scripts.length") == 0)
    let answer = try PusherCLI.tool([
      "curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", site.url + query,
    ])
    #expect(answer.outputText == "403")
  }

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
}
