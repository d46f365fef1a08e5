import Foundation
import PusherCore
import Testing

/// Foreign text stays text on the page, from every source.
@Suite(
  "The console's page: foreign text", .serialized, .sharesBrowser,
  .enabled(if: Browser.path != nil, Comment(rawValue: Browser.reason)), .runsProgramsFirst)
struct ConsoleInjectionTests {
  /// Elements that the foreign text tries to create.
  private static let elements = """
    document.querySelectorAll(
      "img, iframe, object, embed, script, style, link, base, meta, a, video, math, svg:not([role=img]), template, form").length
    """

  /// Runs `body` and checks that the page executes nothing and creates no elements.
  func demandNothingRan(_ view: ConsoleView, _ body: () throws -> Void) throws {
    let before = try view.page.evaluate(Self.elements)
    try body()
    #expect(try view.page.evaluate("window.__hit === undefined") == true)
    #expect(try view.page.evaluate(Self.elements) == before)
    #expect(
      try view.page.evaluate("({}).polluted === undefined && document.title")
        == "pusher-cli console")
  }

  // MARK: A recording

  /// Members that contain text, by kind.
  private static let kinds: [(kind: String, members: [String])] = [
    ("event", ["channel", "event", "data", "socket_id", "source"]),
    ("member", ["channel", "action", "user_id"]), ("channel", ["channel", "action"]),
    ("connection", ["action", "socket_id", "address", "reason"]),
    ("subscription", ["channel", "action", "socket_id", "user_id", "reason"]),
    ("user", ["action", "user_id", "socket_id", "reason"]),
    ("webhook", ["event", "action", "url", "reason", "body"]),
    ("request", ["method", "path", "reason"]), ("error", ["socket_id", "reason"]),
    ("dropped", ["reason"]), ("server", ["action", "reason"]),
  ]

  private static func recording() throws -> (file: String, texts: [String]) {
    var lines: [String] = []
    var texts: [String] = []
    for (kind, members) in kinds {
      for text in HostileTexts.all {
        let hostile = members.map { JSONValue.Member($0, .string(text)) }
        let entry: JSONValue = .object(
          [
            .init("kind", .string(kind)), .init("app", .string(text)), .init("time", .string(text)),
            .init(text, .string(text)),
          ] + hostile)
        lines.append(entry.jsonText)
        texts.append(text)
      }
    }
    return (
      try TemporaryFolder.shared.file("run.jsonl", holding: lines.joined(separator: "\n") + "\n"),
      texts
    )
  }

  /// The text and titles of each line and its details, in order.
  private static let everything = """
    (async () => {
      const frame = () => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
      const found = [];
      for (let index = 0; index < COUNT; index += 1) {
        let row = document.getElementById("row-" + index);
        if (row === null || row.hidden) {
          list.scrollTop = index * 24;
          await frame();
          row = document.getElementById("row-" + index);
        }
        row.firstElementChild.click();
        found.push([row.textContent, detail.textContent]);
      }
      return found;
    })()
    """

  @Test func `a hostile recording is shown as text, line by line and opened`() throws {
    #expect(HostileTexts.all.count >= 40)
    let (file, texts) = try Self.recording()
    let site = try ConsoleSite(["--open-recording", file])
    let view = try ConsoleView(site, state: "ended")
    try view.wait("matches", shows: "\(texts.count) of \(texts.count)")
    try demandNothingRan(view) {
      let script = Self.everything.replacingOccurrences(of: "COUNT", with: "\(texts.count)")
      let found = try #require(try view.page.evaluate(script).elements)
      #expect(found.count == texts.count)
      for (text, shown) in zip(texts, found) {
        let wanted = HostileTexts.shown(text)
        #expect(
          shown.elements?[0].text?.contains(wanted) == true, "\(shown.elements?[0].text ?? "")")
        #expect(
          shown.elements?[1].text?.contains(wanted) == true, "\(shown.elements?[1].text ?? "")")
      }
      for text in HostileTexts.all {
        try view.page.evaluate(
          "for (const name of ['channel', 'event', 'text']) { document.getElementById(`filter-${name}`).value = \(JSONValue.string(text).jsonText) };"
            + "document.getElementById('filter-text').dispatchEvent(new Event('input'))")
      }
    }
    try view.demandSound()
  }

  /// Values that no server writes.
  private static let values = [
    "null", "true", "0", "-1e400", "[]", "{}", #"[["<img src=x onerror=window.__hit=1>"]]"#,
    #"{"__proto__":{"polluted":1}}"#, #"{"constructor":{"prototype":{"polluted":1}}}"#,
    #"{"toString":1,"valueOf":1}"#, #"{"length":1e9}"#, #""\ud800""#, #""\udfff\ud800x""#,
    #""\u0000""#,
    String(repeating: "[", count: 400) + String(repeating: "]", count: 400),
  ]

  @Test func `members of a recording that are of other types break nothing`() throws {
    var lines = [
      "", "{", "[]", "null", #"{"kind":"__proto__"}"#, #"{"kind":"constructor"}"#,
      #"{"kind":"<b>"}"#,
    ]
    let members = [
      "time", "app", "channel", "event", "data", "action", "user_id", "user_info", "reason",
      "status",
      "code", "count", "retry_in", "recipients", "socket_id", "body", "url", "path", "method",
      "address", "source", "n", "events", "__proto__",
    ]
    for (kind, _) in Self.kinds {
      for value in Self.values {
        lines.append(
          "{\"kind\":\"\(kind)\",\(members.map { "\"\($0)\":\(value)" }.joined(separator: ","))}")
      }
    }
    lines.append(#"{"kind":"event","channel":"last","event":"last","data":"1"}"#)
    let file = try TemporaryFolder.shared.file("run.jsonl", holding: lines.joined(separator: "\n"))
    let site = try ConsoleSite(["--open-recording", file])
    let view = try ConsoleView(site, state: "ended")
    // The empty line does not count.
    let count = lines.count - 1
    try view.wait("matches", shows: "\(count) of \(count)")
    try demandNothingRan(view) {
      try view.wait(line: "event", "last", "last")
      let script = Self.everything.replacingOccurrences(of: "COUNT", with: "\(count)")
      #expect(try view.page.evaluate(script).elements?.count == count)
    }
    try view.demandSound()
  }
}
