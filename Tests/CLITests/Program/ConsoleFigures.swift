import Foundation
import PusherCore
import Testing

/// Cost of the console's page in a browser, printed by `scripts/console.sh figures`.
@Suite(
  "Console page: figures", .serialized,
  .enabled(
    if: ProcessInfo.processInfo.environment["PUSHER_CLI_CONSOLE_FIGURES"] != nil
      && Browser.path != nil, "scripts/console.sh figures runs it"), .runsProgramsFirst)
struct ConsoleFigures {
  /// Records the longest task, starting before the page's own scripts.
  private static let watch = """
    window.longest = 0;
    new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries()) window.longest = Math.max(window.longest, duration);
    }).observe({ type: "longtask", buffered: true });
    """

  private static func page() throws -> BrowserPage {
    let page = try DevToolsBrowser().page()
    try page.setViewport(width: 1280, height: 800)
    try page.call("Page.addScriptToEvaluateOnNewDocument", ["source": .string(watch)])
    return page
  }

  @Test(arguments: [100_000, 500_000, 1_000_000])
  func `the figures of a long recording are printed`(count: Int) throws {
    let file = TemporaryFolder.shared.file("run.jsonl")
    try Self.write(count, to: file)
    defer { try? FileManager.default.removeItem(atPath: file) }
    let site = try ConsoleSite(["--open-recording", file])
    let page = try Self.page()
    let start = SystemClock.now()
    try page.open(site.address)
    let paint = try page.firstPaint()
    try page.wait(
      until: """
        document.getElementById("state").dataset.state === "ended"
          && document.getElementById("matches").textContent === "100,000 of 100,000"
        """, within: .seconds(300))
    let time = start.duration(to: SystemClock.now()).inSeconds
    #expect(try page.log.complaints == [])
    let longest = try page.evaluate("Math.round(window.longest)")
    // Runs a long task to prove that the observer works.
    try page.evaluate(
      "setTimeout(() => { const end = Date.now() + 200; while (Date.now() < end); })")
    try page.wait(until: "window.longest >= 150")
    let sizes = try ["encoded", "decoded"].map {
      try page.evaluate("performance.getEntriesByType('navigation')[0].\($0)BodySize").jsonText
    }
    print(
      """
      console: \(count) entries in \(Int(time * 1000)) ms; heap \(try page.heapSize() >> 10) KiB; \
      page \(sizes[0]) bytes, \(sizes[1]) decoded; first paint \(Int(paint.first)) ms; longest task \(longest.jsonText) ms (0: none of 50)
      """)
  }

  /// Duration of ``of_a_thousand_events_a_second``, in minutes.
  private static let minutes =
    ProcessInfo.processInfo.environment["PUSHER_CLI_CONSOLE_MINUTES"].flatMap(Int.init) ?? 1

  /// The number of the last event on the page; other entries lie between the events.
  private static let lastEvent = """
    () => {
      const { store } = page;
      for (let number = store.next - 1; number >= store.first; number -= 1) {
        const entry = store.at(number);
        if (entry.kind === "event") return JSON.parse(entry.data).id;
      }
      return 0;
    }
    """

  @Test func `the figures of a thousand events a second are printed`() throws {
    let site = try ConsoleSite()
    let page = try Self.page()
    try page.open(site.address)
    try page.wait(until: "document.getElementById('state').dataset.state === 'connected'")
    let total = Self.minutes * 60_000
    let lines =
      #"seq \#(total) | awk '{ printf "{\"event\":\"order.created\",\"channel\":\"orders-%d\",\"data\":"#
      + #"{\"id\":%d,\"total\":12.5,\"paid\":true}}\n", $1 % 50, $1; fflush() }'"#
    let source = try ChildProgram(
      "/bin/sh",
      ["-c", lines + #" | "$0" "$@""#, PusherCLI.path, "trigger", "-", "--rate", "1000"]
        + site.server.address,
      environment: PusherCLI.environment.merging(ConsoleSite.environment) { $1 },
      output: .closed)
    for share in 1...20 {
      try page.wait(
        until: "(\(Self.lastEvent))() >= \(total * share / 20)",
        within: .seconds(60 + Self.minutes * 6))
      let left = try page.evaluate("document.getElementById('stat-dropped').textContent")
      print(
        "console: \(total * share / 20) events; heap \(try page.heapSize() >> 10) KiB; left out \(left.jsonText)"
      )
    }
    #expect(try source.wait(within: .seconds(60)) == .exited(0))
    #expect(try page.log.complaints == [])
    print(
      "console: longest task \(try page.evaluate("Math.round(window.longest)").jsonText) ms (0: none of 50)"
    )
  }

  private static func write(_ count: Int, to file: String) throws {
    _ = FileManager.default.createFile(atPath: file, contents: nil)
    let handle = try #require(FileHandle(forWritingAtPath: file))
    for start in stride(from: 1, through: count, by: 10_000) {
      let lines = (start..<start + 10_000).map { number in
        #"{"n":\#(number),"time":"2026-11-22T21:50:00.000Z","kind":"event","source":"api","app":"17","#
          + #""channel":"orders-\#(number % 50)","event":"order.created","#
          + #""data":"{\"id\":\#(number),\"total\":12.50,\"paid\":true}","recipients":3}"#
      }
      try handle.write(contentsOf: Data((lines.joined(separator: "\n") + "\n").utf8))
    }
    try handle.close()
  }
}
