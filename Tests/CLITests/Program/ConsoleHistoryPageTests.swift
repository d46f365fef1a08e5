import Foundation
import PusherCore
import Testing

@Suite("Console page: its memory", .serialized, .sharesBrowser, .needsBrowser, .runsProgramsFirst)
struct ConsoleHistoryPageTests {
  @Test func `a page that is opened later, or loaded again, begins with what was sent`() throws {
    let site = try ConsoleSite()
    for name in ["first", "second"] { try site.trigger("news", name) }
    let view = try ConsoleView(site)
    for name in ["first", "second"] { try view.wait(line: "event", "news", name) }
    try site.trigger("news", "third")
    try view.wait(line: "event", "news", "third")
    try view.page.open(site.address)
    try view.wait(state: "connected")
    for name in ["first", "second", "third"] { try view.wait(line: "event", "news", name) }
    let events = try view.lines().filter { $0[1] == "event" }
    #expect(events.map { $0[3] } == ["first", "second", "third"])
    try view.demandSound()
  }

  @Test func `entries that are no longer there are a line that counts them`() throws {
    try ConsoleSite.visit { site, view in
      for (reason, words) in [
        ("expired", "the server no longer has them"), ("slow", "the page was too slow"),
      ] {
        try view.page.evaluate(
          """
          page.stream.handlers.dropped({ count: 3, reason: "\(reason)" });
          page.stream.handlers.batch();
          """)
        try view.wait(line: "⚠ dropped", "", "3 entries dropped", words)
      }
      try view.wait("stat-dropped", shows: "6")
    }
  }

  @Test func `a server that comes back with its token is reached again`() throws {
    let options = ["--console-token-file", TemporaryFolder.shared.file("token")]
    let site = try ConsoleSite(options)
    let view = try ConsoleView(site)
    try site.trigger("news", "before")
    try view.wait(line: "event", "news", "before")
    try site.server.stop()
    try view.wait(state: "lost")
    #expect(try view.page.evaluate("document.getElementById('hint').hidden") == true)
    let again = try ConsoleSite(options, port: site.server.port)
    #expect(again.address == site.address)
    try view.wait(state: "connected")
    try view.wait("state-text", shows: "connected, server restarted at ")
    try view.wait(line: "server", "", "restarted", "server restarted at ")
    let time =
      "document.getElementById('state-text').textContent.match(/[0-9]{2}:[0-9]{2}$/) !== null"
    #expect(try view.page.evaluate(time) == true)
    try again.trigger("news", "after")
    try view.wait(line: "event", "news", "after")
    try view.wait(line: "event", "news", "before")
    try view.demandSound(except: ["Failed to load resource", "net::ERR"])
  }
}
