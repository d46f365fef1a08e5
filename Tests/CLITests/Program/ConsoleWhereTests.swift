import Foundation
import PusherCore
import Testing

@Suite("Console page: who is where", .serialized, .sharesBrowser, .needsBrowser, .runsProgramsFirst)
struct ConsoleWhereTests {
  private func rows(_ id: String) -> String {
    "[...document.getElementById('\(id)').children].map((row) => [...row.children].map((cell) => cell.textContent))"
  }

  private func wait(_ view: ConsoleView, _ id: String, _ column: Int, is texts: [String]) throws {
    try view.wait("\(rows(id)).map((cells) => cells[\(column)])", is: texts)
  }

  private func member(_ user: String, _ site: ConsoleSite) throws -> ChildProgram {
    let program = try site.program(
      ["subscribe"], "presence-room", "news", "-L", "--sign-in", "--user-id", user,
      "--user-info", #"{"name":"\#(user.uppercased())"}"#)
    // Greeting, sign-in, the user's channel and the two channels.
    _ = try program.lines(5)
    return program
  }

  // MARK: Channels

  @Test func `channels are listed with counts and rates, and opened with members`() throws {
    try ConsoleSite.visit { site, view in
      let members = [try member("ada", site), try member("bob", site)]
      let reader = try site.server.subscribe(["cache-price"], "-L")
      try site.trigger("cache-price", "price", #"{"eur":1.10}"#)
      for _ in 1...3 { try site.trigger("news", "hello") }
      try view.choose("where")
      let users = ["#server-to-user-ada", "#server-to-user-bob"]
      try wait(view, "channel-rows", 0, is: users + ["cache-price", "news", "presence-room"])
      try wait(view, "channel-rows", 1, is: ["1", "1", "1", "2", "2"])
      try wait(view, "channel-rows", 2, is: ["", "", "", "", "2"])
      try wait(view, "channel-rows", 4, is: ["0", "0", "1", "3", "0"])
      let label = "document.querySelector('#channel-rows tr:nth-child(4) svg').ariaLabel"
      #expect(try view.page.evaluate(label).text?.hasPrefix("Peak: ") == true)
      try view.page.type("presence-r", into: "#where-filter")
      try wait(view, "channel-rows", 0, is: ["presence-room"])
      try view.page.click("#channel-rows button")
      try view.wait(2, of: "#channel-members > li")
      try view.wait("channel-counts", shows: "2 subscribers, 2 users")
      #expect(try view.text("channel-name") == "presence-room")
      for part in ["ada", #""ADA""#, "bob", #""BOB""#] {
        #expect(try view.text("channel-members").contains(part))
      }
      #expect(
        try view.page.evaluate("document.querySelectorAll('#channel-sockets li').length") == 2)
      #expect(try view.text("channel-cached") == "None. Only cache channels keep an event.")
      // A leaving client disappears from the list without a reload.
      members[1].send(SIGTERM)
      try view.wait(1, of: "#channel-members > li")
      try view.page.type("cache", into: "#where-filter", replacing: true)
      try wait(view, "channel-rows", 0, is: ["cache-price"])
      try view.page.click("#channel-rows button")
      try view.wait("channel-cached", shows: "1.10")
      #expect(try view.text("where-note") == "")
      try view.page.click("#channel-close")
      try view.page.wait(until: "document.getElementById('channel').hidden")
      _ = reader
    }
  }

  // MARK: Connections

  @Test func `a connection is listed, and closed for good once that is confirmed`() throws {
    try ConsoleSite.visit { site, view in
      let program = try site.server.subscribe(["news", "sport"], "-L")
      let other = try site.server.subscribe(["other"], "-L")
      try site.trigger("news", "hello")
      _ = try program.line()
      try view.choose("where")
      try view.page.click("#where-connections")
      try wait(view, "connection-rows", 4, is: ["news, sport", "other"])
      let cells = try #require(
        try view.page.evaluate("\(rows("connection-rows"))[0]").elements?.compactMap(\.text))
      #expect(cells[1].hasPrefix("127.0.0.1:"))
      #expect(cells[2].hasSuffix(" s ago"))
      // Two subscriptions; their answers, the greeting and the event.
      #expect(cells[5] == "2" && cells[6] == "4", "\(cells)")
      try view.page.type("sport", into: "#where-filter")
      try wait(view, "connection-rows", 0, is: [cells[0]])
      let button = "#connection-rows [data-disconnect=\"\(cells[0])\"]"
      try view.page.click(button)
      try view.page.click("[data-confirm=no]")
      #expect(try view.page.evaluate("document.getElementById('ask').open") == false)
      try view.page.click(button)
      #expect(try view.text("ask-question") == "Close connection \(cells[0])?")
      try view.page.press("Escape")
      try view.page.wait(until: "!document.getElementById('ask').open")
      #expect(try view.page.evaluate("document.activeElement.dataset.disconnect").text == cells[0])
      try view.page.click(button)
      try view.page.click("[data-confirm=yes]")
      let result = try program.result()
      #expect(result.ending != .exited(0))
      #expect(result.errorText.contains("4009"), "\(result.errorText)")
      try view.wait("where-note", shows: "The connection is closed.")
      try wait(view, "connection-rows", 0, is: [])
      try view.wait("where-empty", shows: "No match. Change or clear the filter.")
      try view.page.type("", into: "#where-filter", replacing: true)
      try wait(view, "connection-rows", 4, is: ["other"])
      _ = other
    }
  }

  @Test func `a user is ended with all connections, and nobody else`() throws {
    try ConsoleSite.visit { site, view in
      let programs = [try member("ada", site), try member("ada", site)]
      let other = try member("bob", site)
      try view.choose("where")
      try view.page.click("#where-connections")
      try view.wait(2, of: "[data-terminate=ada]")
      try view.page.click("[data-terminate=ada]")
      try view.page.click("[data-confirm=yes]")
      for program in programs {
        let result = try program.result()
        #expect(result.errorText.contains("4009"), "\(result.errorText)")
      }
      try view.wait(1, of: "#connection-rows tr")
      #expect(try view.text("connection-rows").contains("bob"))
      try site.trigger("news", "still")
      // The server reports the departure first.
      while try !other.line().contains("still") {}
    }
  }
}
