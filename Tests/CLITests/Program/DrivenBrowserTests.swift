import Foundation
import PusherCore
import Testing

@Suite("A driven browser", .serialized, .sharesBrowser, .needsBrowser, .runsProgramsFirst)
struct DrivenBrowserTests {
  // MARK: The mouse

  @Test func `what nobody could click on is not clicked on`() throws {
    let (page, _) = try DevToolsBrowser.showing(
      """
      <button id="gone" style="display: none">a</button>
      <button id="unseen" style="visibility: hidden">a</button>
      <button id="clear" style="opacity: 0">a</button>
      <button id="off" disabled>a</button>
      <div style="position: relative"><button id="under">a</button><div id="cover"></div></div>
      <button id="outside" style="position: fixed; left: -500px">a</button>
      """, style: "#cover { position: absolute; inset: 0; background: white }")
    try page.evaluate("var clicks = 0; addEventListener('click', () => clicks++, true)")
    for (selector, reason) in [
      ("#missing", "there is no '#missing'"), ("#gone", "'#gone' is not visible"),
      ("#unseen", "'#unseen' is not visible"), ("#clear", "'#clear' is not visible"),
      ("#off", "'#off' is disabled"),
      ("#under", #"'#under' is covered by <div id="cover"></div>"#),
      ("#outside", "'#outside' lies outside of the window"),
    ] {
      let told = #expect(throws: PageError.self) { try page.click(selector) }?.description ?? ""
      #expect(told.contains(reason), "\(told)")
    }
    let told = #expect(throws: PageError.self) { try page.click("#[") }
    #expect(told?.description.contains("SyntaxError") == true)
    #expect(try page.evaluate("clicks") == 0)
    try page.evaluate("cover.remove()")
    try page.click("#under")
    #expect(try page.evaluate("clicks") == 1)
  }

  // MARK: Console and errors of a page

  @Test func `lines of the console, and what nobody caught, are kept in their order`() throws {
    let (page, site) = try DevToolsBrowser.showing(
      """
      <script>console.info("one", 2, { three: 3 }, null); console.warn("careful")</script>
      <script>Promise.reject(new Error("refused")); throw new TypeError("thrown")</script>
      <img src="/missing.png">
      """)
    let log = try page.log
    #expect(
      log.console.filter { $0.level != "error" }.map(\.description)
        == ["info: one 2 Object null", "warning: careful"])
    // Network events arrive asynchronously.
    #expect(
      log.console.filter { $0.level == "error" }.map(\.text) == [
        "Failed to load resource: the server responded with a status of 404 (Answer) "
          + "(\(site.url("/missing.png")))"
      ])
    #expect(log.exceptions.count == 2)
    #expect(log.exceptions.contains { $0.hasPrefix("TypeError: thrown\n    at ") })
    #expect(log.exceptions.contains { $0.hasPrefix("Error: refused\n    at ") })
    #expect(log.complaints.count == 4)
  }

  @Test func `what the policy refuses is told, and did not leave the page`() throws {
    let elsewhere = try PageSite.serve([:])
    let body = """
      <script src="/good.js"></script><script>var inline = 1</script>
      <img src="\(elsewhere.url("/a.png"))">
      """
    let site = try PageSite.serve(
      ["/": PageSite.document(body), "/good.js": "var good = 1; try { eval('1') } catch {}"],
      policy: "default-src 'self'; img-src 'self' data:; style-src 'unsafe-inline'")
    let page = try SuiteBrowser.current().page()
    try page.open(site.url())
    #expect(try page.evaluate("[typeof good, typeof inline]") == ["number", "undefined"])
    let log = try page.log
    let causes = ["kEvalViolation: script-src", "inline script", elsewhere.url("/a.png")]
    #expect(log.violations.count == causes.count, "\(log.violations)")
    for cause in causes { #expect(log.violations.contains { $0.contains(cause) }, "\(cause)") }
    #expect(log.requests(outside: site.place) == [])
    #expect(elsewhere.connectionCount == 0)
    #expect(log.complaints.filter { $0.hasPrefix("violation: ") }.count == causes.count)
  }

  @Test func `dialogs are kept and dismissed, and hold nothing up`() throws {
    let (page, _) = try DevToolsBrowser.showing(
      "<button id='ask' onclick='answers = [alert(\"hi\"), confirm(\"sure?\"), prompt(\"name?\", \"x\")]'>a</button>"
    )
    try page.click("#ask")
    try page.wait(until: "window.answers !== undefined")
    #expect(try page.evaluate("answers.slice(1)") == [false, nil])
    #expect(
      try page.log.dialogs == [
        .init(kind: "alert", text: "hi"), .init(kind: "confirm", text: "sure?"),
        .init(kind: "prompt", text: "name?"),
      ])
    #expect(try page.log.complaints == ["alert: hi", "confirm: sure?", "prompt: name?"])
    // The browser runs beforeunload handlers only for pages with user activity.
    try page.evaluate("addEventListener('beforeunload', (e) => e.preventDefault())")
    try page.open("about:blank")
    #expect(try page.log.dialogs.last?.kind == "beforeunload")
  }

  // MARK: Requests of a page

  @Test func `each request of a page is seen, by whichever way it goes`() throws {
    let other = try PageSite.serve([
      "/frame": "<script>fetch('/of-frame')</script>",
      "/window": "<script>fetch('/of-window')</script>",
    ])
    let far = "http://far.example:\(other.port)"
    let site = try PageSite.serve([
      "/": PageSite.document(
        """
        <img src="\(far)/image"><iframe src="\(far)/frame"></iframe>
        <iframe sandbox="allow-scripts" srcdoc="<script>fetch('\(far)/of-sandbox')</script>"></iframe>
        <script>
        fetch("\(far)/fetch", { mode: "no-cors" }).catch(() => 0);
        navigator.sendBeacon("\(far)/beacon", "text");
        new WebSocket("ws://far.example:\(other.port)/socket");
        const work = `fetch("\(far)/of-worker").catch(() => 0); new WebSocket("ws://far.example:\(other.port)/of-worker")`;
        new Worker(URL.createObjectURL(new Blob([work])));
        const shared = `fetch("\(far)/of-shared").catch(() => 0)`;
        new SharedWorker(URL.createObjectURL(new Blob([shared])));
        </script><a id="away" href="\(far)/window" target="_blank" rel="noopener">away</a>
        """)
    ])
    let page = try SuiteBrowser.current().page()
    try page.open(site.url())
    try page.click("#away")
    let expected =
      [
        "/image", "/frame", "/of-frame", "/of-sandbox", "/fetch", "/beacon", "/of-worker",
        "/of-shared", "/of-window", "/window",
      ].map { far + $0 } + ["/socket", "/of-worker"].map { "ws://far.example:\(other.port)\($0)" }
    try waitUntil("all requests were seen; \((try? page.log.requests) ?? [])") {
      try page.log.requests(outside: site.place).count >= expected.count
    }
    #expect(Set(try page.log.requests(outside: site.place)) == Set(expected))
    #expect(try page.log.requests(outside: site.place, "far.example:\(other.port)") == [])
    #expect(try page.log.requests.contains(site.url()))
    #expect(try page.log.windows == 1)
  }
}
