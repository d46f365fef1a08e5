import Foundation
import PusherCore
import Testing

@Suite(
  "A browser that tests drive", .serialized,
  .enabled(if: Browser.path != nil, Comment(rawValue: Browser.reason)), .runsProgramsFirst)
struct DrivenBrowserTests {
  func fault(_ body: () throws -> Void) -> String {
    do {
      try body()
      return ""
    } catch {
      return "\(error)"
    }
  }

  // MARK: Pages

  @Test func `a page is opened, asked and waited for`() throws {
    let (page, site) = try DevToolsBrowser.showing(
      """
      <p id="text">waiting</p>
      <script>setTimeout(() => { text.textContent = "grüß dich"; text.dataset.done = 1 }, 50)</script>
      """)
    try page.wait(until: "document.querySelector('[data-done]').dataset.done === '1'")
    #expect(try page.evaluate("text.textContent") == "grüß dich")
    #expect(try page.evaluate("[1, {a: null}, true]") == [1, ["a": nil], true])
    #expect(try page.evaluate("Promise.resolve(location.href)").text == site.url())
    #expect(try page.evaluate("undefined") == nil)
    #expect(try page.evaluate("0 / 0") == "NaN")
  }

  @Test func `what fails says why, and what stood on the page`() throws {
    let (page, _) = try DevToolsBrowser.showing("<p>only this</p>")
    let thrown = fault { try page.evaluate("nowhere.text") }
    #expect(thrown.contains("ReferenceError: nowhere is not defined"))
    let rejected = fault { try page.evaluate("Promise.reject(new Error('not today'))") }
    #expect(rejected.contains("not today"))
    let late = fault { try page.wait(until: "document.body.dataset.ready", within: .zero) }
    #expect(late.contains("document.body.dataset.ready, last: false"), "\(late)")
    #expect(late.contains("stood 'only this'"), "\(late)")
    let missing = fault { try page.wait(until: "missing.value === 1", within: .zero) }
    #expect(missing.contains("missing is not defined"), "\(missing)")
    let endless = fault { try page.evaluate("new Promise(() => {})", within: .milliseconds(10)) }
    #expect(endless.contains("Runtime.evaluate was answered"), "\(endless)")
    let closed = "http://127.0.0.1:\(try Loopback.closedPort())/"
    #expect(fault { try page.open(closed) }.contains("ERR_CONNECTION_REFUSED"))
  }

  @Test func `a page is open once all that it names is loaded, also when it is loaded again`()
    throws
  {
    let document = PageSite.document(
      "<script>setTimeout(() => fetch('/now'), 50)</script><script src='/late.js'></script>")
    let gate = Gate()
    let site = try ScriptedServer { connection in
      let path = try connection.question().head.target
      if path == "/now" { gate.open() }
      if path == "/late.js" { try connection.wait(for: gate) }
      try connection.answer(
        200, body: ["/": document, "/late.js": "var late = 'here';"][path] ?? "")
    }
    let page = try DevToolsBrowser().page()
    try page.open(site.url())
    #expect(try page.evaluate("late") == "here")
    try page.evaluate("late = 'changed'")
    try page.open(site.url("/#place"))
    #expect(try page.evaluate("late + location.hash") == "changed#place")
    try page.reload()
    #expect(try page.evaluate("late + location.hash") == "here#place")
  }

  @Test func `each page has storage of its own, unless it shares that of another`() throws {
    let site = try PageSite.serve(["/": PageSite.document("")])
    let browser = try DevToolsBrowser()
    let first = try browser.page()
    let stranger = try browser.page()
    let friend = try browser.page(sharingStorageWith: first)
    for page in [first, stranger, friend] { try page.open(site.url()) }
    try first.evaluate("localStorage.color = 'blue'; document.cookie = 'taste=sweet'")
    let stored = "[localStorage.color ?? '', document.cookie]"
    #expect(try stranger.evaluate(stored) == ["", ""])
    #expect(try friend.evaluate(stored) == ["blue", "taste=sweet"])
  }

  @Test func `each page has the focus, as if it were the only one`() throws {
    let browser = try DevToolsBrowser()
    let pages = [try browser.page(), try browser.page()]
    for page in pages { #expect(try page.evaluate("document.hasFocus()") == true) }
  }

  // MARK: The browser

  @Test func `messages of many megabytes go both ways`() throws {
    let page = try DevToolsBrowser().page()
    let text = String(repeating: "grüße ", count: 700_000)
    let answer = try page.evaluate("\(JSONValue.string(text).jsonText) + '!'")
    #expect(answer.text == text + "!")
  }

  @Test func `the browser ends with its last page, and all that it started`() throws {
    var browser: DevToolsBrowser? = try DevToolsBrowser()
    let leader = try #require(browser).processID
    var page = try browser?.page()
    browser = nil
    #expect(try page?.evaluate("1 + 1") == 2)
    let group = try Self.group(of: leader)
    #expect(group.count > 2, "\(group)")
    page = nil
    try waitUntil("nothing of \(group) runs") { try Self.group(of: leader).isEmpty }
  }

  @Test func `a browser that has died, and a page that has crashed, are told at once`() throws {
    let browser = try DevToolsBrowser()
    let page = try browser.page()
    #expect(fault { try page.call("Page.crash") }.contains("the page crashed"))
    let other = try browser.page()
    let gone = fault { try browser.call("Browser.crash") }
    #expect(gone.contains("the browser has ended"), "\(gone)")
    // The write fails and does not kill the tests.
    #expect(fault { try other.open("about:blank") }.contains("the browser has ended"))
  }

  private static func group(of leader: pid_t) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: "/proc").filter { entry in
      guard Int(entry) != nil,
        let line = try? String(contentsOfFile: "/proc/\(entry)/stat", encoding: .utf8),
        let fields = line.split(separator: ")").last?.split(separator: " "), fields.count > 2
      else { return false }
      return fields[0] != "Z" && fields[2] == "\(leader)"
    }
  }
}
