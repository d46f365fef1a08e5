import Foundation
import PusherCore
import Testing

@Suite("Console: dialogs and keys", .serialized, .sharesBrowser, .needsBrowser, .runsProgramsFirst)
struct ConsoleDialogTests {
  /// Buttons and words of the open dialog that lie outside of it or over each other.
  private static let misplaced = """
    (() => {
      const dialog = document.querySelector("dialog[open]");
      const frame = dialog.getBoundingClientRect();
      const boxes = [...dialog.querySelectorAll("p, button")].map((one) => [one, one.getBoundingClientRect()]);
      const isOut = ({ left, right, top, bottom }, { left: l, right: r, top: t, bottom: b }) =>
        left < l || right > r || top < t || bottom > b;
      const meets = (one, other) => one.left < other.right && other.left < one.right && one.top < other.bottom && other.top < one.bottom;
      return [
        ...isOut(frame, { left: 0, right: innerWidth, top: 0, bottom: innerHeight }) ? ["dialog"] : [],
        ...boxes.filter(([one, box]) => isOut(box, frame) || one.scrollWidth > one.clientWidth + 1).map(([one]) => one.outerHTML),
        ...boxes.flatMap(([one, box], index) => boxes.slice(index + 1).filter(([, other]) => meets(box, other)).map(() => one.outerHTML)),
      ];
    })()
    """

  @Test(arguments: [320, 390, 1280])
  func `the confirmations of Disconnect and Terminate fit, within reach`(width: Int) throws {
    try ConsoleSite.visit { site, view in
      let page = view.page
      try page.setViewport(width: width, height: 700)
      let user = String(repeating: "a-user-with-a-long-name", count: 3)
      let program = try site.program(["subscribe"], "news", "-L", "--sign-in", "--user-id", user)
      _ = try program.lines(4)
      try view.choose("where")
      try page.click("#where-connections")
      try view.wait(1, of: "#connection-rows tr")
      for button in ["[data-disconnect]", "[data-terminate]"] {
        let place = "document.querySelector('#connection-rows \(button)').getBoundingClientRect()"
        if button == "[data-disconnect]", width < 1280 {
          #expect(try page.evaluate("\(place).left >= 0 && \(place).right <= innerWidth") == true)
        }
        try page.click("#connection-rows \(button)")
        try page.wait(until: "document.getElementById('ask').open")
        #expect(try page.evaluate(Self.misplaced) == [], "\(width) \(button)")
        #expect(try page.evaluate(ConsoleLook.wide) == [], "\(width) \(button)")
        #expect(try page.evaluate("document.activeElement.id") == "ask-no")
        try page.click("#ask-no")
        try page.wait(until: "!document.getElementById('ask').open")
      }
      // Nothing was closed.
      #expect(try site.ask("/connections?app=17").body["total"] == .integer(1))
    }
  }

  @Test func `keys filter, move, open and pause, and a list tells them`() throws {
    try ConsoleSite.visit { site, view in
      let page = view.page
      for number in 1...3 { try site.trigger("news", "e\(number)") }
      try view.wait(line: "event", "news", "e3")
      try page.click("[data-kind=event]")
      try page.press("?")
      try page.wait(until: "document.getElementById('keys').open")
      for key in ["/", "p", "j k", "Enter", "→ ←"] {
        #expect(try view.text("keys-list").contains(key))
      }
      #expect(try page.evaluate(Self.misplaced) == [])
      // Keys of the page do nothing below a dialog.
      try page.press("p")
      try page.press("Escape")
      try page.wait(until: "!document.getElementById('keys').open")
      #expect(try view.text("pause") == "Pause")
      try page.press("/")
      #expect(try page.evaluate("document.activeElement.id") == "filter-text")
      try page.press("Escape")
      for _ in 1...2 { try page.press("k") }
      try page.press("j")
      try page.press("k")
      try page.press("Enter")
      try page.wait(until: "!detail.hidden")
      #expect(try view.text("detail-title") == "event  e2")
      #expect(try page.evaluate("document.activeElement.id") == "detail")
      try page.press("Escape")
      try page.press("p")
      try view.wait("pause", shows: "Resume (0)")
    }
  }

  @Test func `the line of an empty list is copied, and works when it is pasted`() throws {
    try ConsoleSite.visit { site, view in
      try view.wait("empty", shows: "No entries yet. Subscribe to a channel:")
      let line = try #require(
        try view.page.evaluate("document.querySelector('#empty pre').textContent").text)
      #expect(try view.copied(by: "#empty button", telling: "empty") == line)
      let subscriber = try ChildProgram(
        "/bin/sh", ["-c", "exec \(line) -L"], environment: PusherCLI.shellEnvironment)
      _ = try subscriber.lines(2)
      try site.trigger("news", "price", "1")
      #expect(try subscriber.line() == #"{"event":"price","channel":"news","data":1}"#)
    }
  }
}
