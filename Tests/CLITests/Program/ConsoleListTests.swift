import Foundation
import PusherCore
import Testing

@Suite("Console page: the list", .serialized, .sharesBrowser, .needsBrowser, .runsProgramsFirst)
struct ConsoleListTests {
  private func send(_ name: String, times count: Int = 1, _ view: ConsoleView) throws {
    try view.page.evaluate(
      """
      (async () => {
        for (let number = 1; number <= \(count); number += 1) {
          await call("trigger", { app: "17", channel: "news", event: \(JSONValue.string(name).jsonText), data: `${number}` });
        }
      })()
      """)
  }

  /// The names of the events in the list.
  private static let names = "\(ConsoleView.lines).map((cells) => cells[3])"

  // MARK: Names

  /// Edges of the last event's name and of the box that cuts it.
  private static let edges = """
    (() => {
      const name = [...document.querySelectorAll("#rows .row:not([hidden]) .what .name")].at(-1);
      const [box, text] = [name, name.firstElementChild].map((one) => one.getBoundingClientRect());
      return [text.left - box.left, text.right - box.right, box.width, box.right - innerWidth]
        .map((edge) => Math.round(edge) + 0);
    })()
    """

  @Test(arguments: [390, 1280])
  func `the event's name is seen, and cut at its start where it is too long`(width: Int) throws {
    try ConsoleSite.visit { site, view in
      try view.page.setViewport(width: width, height: 800)
      let long = "App\\Events\\" + String(repeating: "Sales\\", count: 25) + "OrderShipped"
      for (name, isCut) in [("OrderShipped", false), (long, true)] {
        try send(name, view)
        try view.wait(line: "event", "news", name)
        let edges = try #require(try view.page.evaluate(Self.edges).elements?.compactMap(\.integer))
        #expect(edges.count == 4)
        #expect(edges[2] >= 80 && edges[3] <= 0, "\(width) \(name): \(edges)")
        #expect((edges[0] < 0) == isCut, "the beginning of \(name): \(edges)")
        // Short names begin at the left; long ones end at the right.
        #expect(isCut ? edges[1] == 0 : edges[0] == 0, "\(width) \(name): \(edges)")
      }
    }
  }

  // MARK: Bursts

  @Test func `a burst is one row, unfolds by mouse and keys, and folds again`() throws {
    try ConsoleSite.visit { site, view in
      let page = view.page
      try send("first", view)
      try send("tick", times: 7, view)
      try view.wait(Self.names, is: ["first", "tick×7"])
      #expect(try view.text("matches") == "8 of 8")
      try page.click("#row-1 .times")
      let all = ["first"] + Array(repeating: "tick", count: 7)
      try view.wait(Self.names, is: all)
      #expect(try page.evaluate("document.getElementById('detail').hidden") == true)
      try page.click("#list")
      try page.press("End")
      try page.press("ArrowLeft")
      try view.wait(Self.names, is: ["first", "tick×7"])
      try page.press("ArrowRight")
      try view.wait(Self.names, is: all)
      try page.click("#fold")
      try view.wait(Self.names, is: all)
      try page.click("#fold")
      try view.wait(Self.names, is: ["first", "tick×7"])
      // The row opens its last event.
      try page.click("#row-1 .time")
      try page.wait(until: "!detail.hidden")
      #expect(try view.text("detail-data").contains("7"))
    }
  }

  // MARK: The address

  @Test func `a filtered view stands in the address, and comes back from it`() throws {
    try ConsoleSite.visit { site, view in
      let page = view.page
      for name in ["order.created", "order.shipped", "price"] { try send(name, view) }
      try view.wait("matches", shows: "3 of 3")
      try page.type("order.*", into: "#filter-event")
      try page.click("[data-kind=event]")
      try page.click("#clock")
      try view.wait("matches", shows: "2 of 3")
      try page.wait(until: "location.hash === '#event=order.*&kind=event&time=distance'")
      let address = try #require(try page.evaluate("location.href").text)
      #expect(address.hasPrefix(site.address))

      let other = try SuiteBrowser.current().page()
      try other.open(address)
      try other.wait(until: "document.querySelector('#state').dataset.state === 'connected'")
      let shown = """
        [document.getElementById("filter-event").value, document.getElementById("clock").textContent,
          document.querySelector("[data-kind=event]").ariaPressed]
        """
      #expect(try other.evaluate(shown) == ["order.*", "Time: distance", "true"])
      // The page also has the events that were sent before it was opened.
      for name in ["price", "order.paid"] { try send(name, view) }
      try other.wait(until: "document.getElementById('matches').textContent === '3 of 5'")
      _ = try? other.call("Page.close")

      // Typing over the address changes the view; emptying the fields empties the address.
      try page.evaluate("location.hash = '#channel=new?'")
      try view.wait("matches", shows: "5 of 5")
      #expect(try page.evaluate("document.getElementById('filter-channel').value") == "new?")
      try page.type("", into: "#filter-channel", replacing: true)
      try page.wait(until: "location.href === '\(site.address)'")
    }
  }

  @Test func `filters without a match are cleared by the button that says so`() throws {
    try ConsoleSite.visit { site, view in
      try send("price", view)
      try view.wait(line: "event", "news", "price")
      try view.page.type("nothing", into: "#filter-text")
      try view.page.click("[data-kind=error]")
      try view.wait("empty", shows: "No match. Change or clear the filters.")
      try view.page.click("#empty button")
      try view.wait("matches", shows: "1 of 1")
      #expect(try view.page.evaluate("document.activeElement.id") == "list")
    }
  }

  // MARK: Time

  @Test func `time is told as clock, or as distance from the row before`() throws {
    let lines = ["00.000", "01.250", "03.250"].enumerated().map { number, time in
      #"{"time":"2026-11-22T21:50:\#(time)Z","kind":"event","app":"17","channel":"news","event":"e\#(number)","data":""}"#
    }
    let view = try ConsoleView(recording: lines)
    func wait(_ times: [String]) throws {
      try view.wait("\(ConsoleView.lines).map((cells) => cells[0])", is: times)
    }
    try wait(["21:50:00.000", "21:50:01.250", "21:50:03.250"])
    try view.page.click("#clock")
    try wait(["", "+1.250 s", "+2.000 s"])
    // The distance is that of the rows that are seen.
    try view.page.type("e[02]", into: "#filter-event")
    try wait(["", "+3.250 s"])
    try view.page.click("#clock")
    try wait(["21:50:00.000", "21:50:03.250"])
    try view.demandSound()
  }

  /// A recording of five minutes with two events in its first second and three in its last.
  private static func recording() -> [String] {
    let times = ["21:50:00.100", "21:50:00.900", "21:54:59.000", "21:54:59.500", "21:54:59.999"]
    return times.enumerated().map { number, time in
      #"{"time":"2026-11-22T\#(time)Z","kind":"event","app":"17","channel":"news","event":"e\#(number)","data":""}"#
    }
  }

  /// Drags over the chart between two shares of its width.
  private func drag(_ page: BrowserPage, from start: Double, to end: Double) throws {
    let box = try page.evaluate(
      "(() => { const { left, top, width } = document.getElementById('chart').getBoundingClientRect(); return [left, top, width]; })()"
    )
    let edges = try #require(box.elements).compactMap(\.double)
    for (type, share) in [
      ("mouseMoved", start), ("mousePressed", start), ("mouseMoved", (start + end) / 2),
      ("mouseMoved", end), ("mouseReleased", end),
    ] {
      let isHeld = type != "mouseMoved" || share != start
      try page.call(
        "Input.dispatchMouseEvent",
        [
          "type": .init(type), "x": .init(edges[0] + share * edges[2]), "y": .init(edges[1] + 10),
          "button": isHeld ? "left" : "none", "buttons": .init(isHeld ? 1 : 0), "clickCount": 1,
        ])
    }
  }

  @Test func `a span that is dragged over in the chart is shown alone`() throws {
    let view = try ConsoleView(recording: Self.recording())
    let page = view.page
    try view.wait("matches", shows: "5 of 5")
    try view.wait("chart-peak", shows: "peak 3/s")
    try drag(page, from: 270.5 / 300, to: 299.5 / 300)
    try view.wait("matches", shows: "3 of 5")
    try view.wait("chart-clear", shows: "21:54:30 to 21:55:00 ✕")
    try page.click("#chart-clear")
    try view.wait("matches", shows: "5 of 5")
    // The same from right to left.
    try drag(page, from: 30.5 / 300, to: 0.5 / 300)
    try view.wait("matches", shows: "2 of 5")
    // A click shows all.
    try page.click("#chart")
    try view.wait("matches", shows: "5 of 5")

    // The same with keys.
    try page.evaluate("document.getElementById('chart').focus()")
    try page.press("ArrowLeft")
    try view.wait("matches", shows: "3 of 5")
    try page.press("ArrowLeft")
    try view.wait("matches", shows: "0 of 5")
    let value = "document.getElementById('chart').ariaValueText"
    #expect(try page.evaluate(value).text == "21:54:40 to 21:54:50; peak 3 events per second")
    try page.press("Escape")
    try view.wait("matches", shows: "5 of 5")
    try view.demandSound()
  }
}
