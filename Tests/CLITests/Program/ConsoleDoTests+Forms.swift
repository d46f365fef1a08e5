import Foundation
import PusherCore
import Testing

extension ConsoleDoTests {
  // MARK: Replays

  /// Pastes text into a field in one step.
  private func paste(_ text: String, into id: String, _ page: BrowserPage) throws {
    try page.type(text, into: "#\(id)", replacing: true)
  }

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
      try paste((junk + lines).joined(separator: "\n"), into: "replay-lines", page)
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
      try paste(lines.joined(separator: "\n"), into: "replay-lines", page)
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
      let kinds =
        try page.evaluate(
          "[...document.getElementById('fault-kind').options].map((option) => option.value)"
        )
        .elements?.compactMap(\.text) ?? []
      #expect(kinds.count == 11)
      var staged: [JSONValue] = []
      for kind in kinds where kind != "storm" {
        let setting = kind == "auth-fail" ? "status" : "after"
        let value = kind == "auth-fail" ? "503" : "1000"
        try page.evaluate(
          "(() => { const kinds = document.getElementById('fault-kind'); kinds.value = '\(kind)'; kinds.dispatchEvent(new Event('change')) })()"
        )
        try page.type(value, into: "#fault-\(setting)")
        #expect(
          try page.evaluate("document.getElementById('fault-text').value").text
            == "\(kind):\(setting)=\(value)")
        try page.click("#fault-add")
        staged.append(.string("\(kind):\(setting)=\(value)"))
        try page.wait(
          until: "document.querySelectorAll('#fault-list li').length === \(staged.count)")
      }
      let told = try site.ask("/faults").body["faults"]
      #expect(told?.elements?.count == staged.count)
      let shown = try page.evaluate(
        "[...document.querySelectorAll('#fault-list code')].map((item) => item.textContent)")
      #expect(shown == told)
      for (text, fault) in zip(told?.elements?.compactMap(\.text) ?? [], staged) {
        #expect(text.contains(fault.text?.split(separator: ":").first ?? "?"))
      }
      try page.click("#fault-clear")
      try page.wait(until: "document.querySelectorAll('#fault-list li').length === 0")
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
}
