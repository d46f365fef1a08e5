import Foundation
import PusherCore
import Testing

extension ConsoleLiveTests {
  // MARK: Long lists

  static func recording(events count: Int) throws -> String {
    let lines = (1...count).map { number in
      #"{"n":\#(number),"time":"2026-11-22T21:50:00.000Z","kind":"event","source":"api","app":"17","#
        + #""channel":"news","event":"tick","data":"\#(number)","recipients":1}"#
    }
    return try TemporaryFolder.shared.file(
      "run.jsonl", holding: lines.joined(separator: "\n") + "\n")
  }

  @Test func `of ten thousand entries only those that are seen stand in the document`() throws {
    let file = try Self.recording(events: 10_000)
    let site = try ConsoleSite(["--open-recording", file])
    let view = try ConsoleView(site, state: "ended")
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
    let folder = TemporaryFolder.shared.file("shell")
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    var environment = PusherCLI.environment
    let programs = URL(filePath: PusherCLI.path).deletingLastPathComponent().path
    environment["PATH"] = "\(programs):\(environment["PATH"] ?? "")"
    environment["PUSHER_APP_SECRET"] = "local-secret"
    environment["PUSHER_CONSOLE_TOKEN"] = site.token
    let result = try ChildProgram(
      "/bin/sh", ["-c", "cd '\(folder)' && eval \"$LINE\""],
      environment: environment.merging(["LINE": line]) { $1 }
    ).result()
    #expect(result.ending == .exited(0), "\(line): \(result.errorText)")
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
