import Foundation
import PusherCore
import Testing

extension ConsoleListTests {
  /// A recording of five minutes with two events in its first second and three in its last.
  private static func recording() throws -> String {
    let times = ["21:50:00.100", "21:50:00.900", "21:54:59.000", "21:54:59.500", "21:54:59.999"]
    let lines = times.enumerated().map { number, time in
      #"{"time":"2026-11-22T\#(time)Z","kind":"event","app":"17","channel":"news","event":"e\#(number)","data":""}"#
    }
    return try TemporaryFolder.shared.file("run.jsonl", holding: lines.joined(separator: "\n"))
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
    let site = try ConsoleSite(["--open-recording", try Self.recording()])
    let view = try ConsoleView(site, state: "ended")
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
    #expect(
      try page.evaluate(value).text == "21:54:40 to 21:54:50; peak 3 events per second")
    try page.press("Escape")
    try view.wait("matches", shows: "5 of 5")
    try view.demandSound()
  }

  @Test func `events a second are an average of the last seconds`() throws {
    try ConsoleSite.visit { site, view in
      #expect(try view.text("stat-rate") == "0")
      for number in 1...10 { try site.trigger("news", "e\(number)") }
      // Each of the ten is in the last five seconds at some time.
      try view.page.wait(until: "Number(document.getElementById('stat-rate').textContent) > 0")
    }
  }
}
