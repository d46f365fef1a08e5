import Foundation
import PusherCore
import Testing

/// Foreign text stays text on the page, from every source.
@Suite("Console page: foreign text", .serialized, .sharesBrowser, .needsBrowser, .runsProgramsFirst)
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

  /// A line of each kind with each text in all its members, and the texts.
  private static func recording() -> [(line: String, text: String)] {
    kinds.flatMap { kind, members in
      HostileTexts.all.map { text in
        let names = ["app", "time", text] + members
        let hostile = names.map { JSONValue.Member($0, .string(text)) }
        return (JSONValue.object([.init("kind", .string(kind))] + hostile).jsonText, text)
      }
    }
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
    let recording = Self.recording()
    let view = try ConsoleView(recording: recording.map(\.line))
    try view.wait("matches", shows: "\(recording.count) of \(recording.count)")
    try demandNothingRan(view) {
      let script = Self.everything.replacingOccurrences(of: "COUNT", with: "\(recording.count)")
      let found = try #require(try view.page.evaluate(script).elements)
      #expect(found.count == recording.count)
      for (entry, shown) in zip(recording, found) {
        // The line, and its details
        for part in shown.elements?.map({ $0.text ?? "" }) ?? [""] {
          #expect(part.contains(HostileTexts.shown(entry.text)), "\(part)")
        }
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
      "status", "code", "count", "retry_in", "recipients", "socket_id", "body", "url", "path",
      "method", "address", "source", "n", "events", "__proto__",
    ]
    for (kind, _) in Self.kinds {
      for value in Self.values {
        lines.append(
          "{\"kind\":\"\(kind)\",\(members.map { "\"\($0)\":\(value)" }.joined(separator: ","))}")
      }
    }
    lines.append(#"{"kind":"event","channel":"last","event":"last","data":"1"}"#)
    let view = try ConsoleView(recording: lines)
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

  private static var texts: JSONValue { .array(HostileTexts.all.map { .string($0) }) }

  @Test func `names and data of events are shown as text`() throws {
    try ConsoleSite.visit(complaints: ["status of 400", "status of 413"]) { site, view in
      try demandNothingRan(view) {
        let taken = try view.page.evaluate(
          """
          (async () => {
            const taken = [];
            for (const text of \(Self.texts.jsonText)) {
              await call("trigger", { app: "17", channel: "news", event: text, data: text })
                .then(() => taken.push(text), () => 0);
            }
            return taken;
          })()
          """)
        #expect(taken.elements?.count ?? 0 >= 40)
        try view.choose("do")
        // Name fields offer suggestions.
        try view.page.click("#send-event")
        try view.page.click("#send-channel")
      }
    }
  }

  /// Joins a presence channel once per text, with the text as user and info, and tries everything
  /// that is refused.
  private static let clients = """
    (async () => {
      const joined = [];
      window.sockets = [];
      for (const text of TEXTS) {
        const socket = new WebSocket(`ws://${location.host}/app/local-key?protocol=7`);
        sockets.push(socket);
        const next = () => new Promise((resolve) => {
          socket.onmessage = ({ data }) => resolve(JSON.parse(data));
        });
        const send = (event, data) => socket.send(JSON.stringify({ event, data }));
        const greeting = await next();
        const socket_id = JSON.parse(greeting.data).socket_id;
        const channel_data = JSON.stringify({ user_id: text, user_info: { name: text, [text]: text } });
        const { auth } = await call("sign", { app: "17", socket_id, channel: "presence-room", channel_data });
        send("pusher:subscribe", { channel: "presence-room", auth, channel_data });
        const answer = await next();
        if (answer.event === "pusher_internal:subscription_succeeded") joined.push(text);
        socket.onmessage = null;
        send("pusher:subscribe", { channel: text });
        send("pusher:subscribe", { channel: "private-" + text, auth: text });
        send(text, text);
      }
      return joined;
    })()
    """

  @Test func `users, their info, and what they are refused, are shown as text`() throws {
    try ConsoleSite.visit { site, view in
      try demandNothingRan(view) {
        let script = Self.clients.replacingOccurrences(of: "TEXTS", with: Self.texts.jsonText)
        let joined = try view.page.evaluate(script).elements?.compactMap(\.text) ?? []
        #expect(joined.count >= 40)
        try view.choose("where")
        // Some of the texts are valid channel names.
        try view.page.type("presence-room", into: "#where-filter")
        try view.wait(1, of: "#channel-rows button")
        try view.page.click("#channel-rows button")
        try view.wait(joined.count, of: "#channel-members > li")
        let members = try view.text("channel-members")
        try view.page.type("", into: "#where-filter", replacing: true)
        try view.page.click("#where-connections")
        try view.wait(HostileTexts.all.count, of: "#connection-rows tr")
        for text in joined { #expect(members.contains(HostileTexts.shown(text)), "\(text)") }
        // The confirmation dialog names the user.
        let asked =
          try view.page.evaluate(
            """
            [...document.querySelectorAll("#channel-members [data-terminate]")].map((button) => {
              button.click();
              const text = document.getElementById("ask").textContent;
              document.getElementById("ask-no").click();
              return text;
            }).join("\\n")
            """
          ).text ?? ""
        for text in joined {
          #expect(asked.contains("Close all connections of \(HostileTexts.shown(text))"), "\(text)")
        }
      }
    }
  }

  // MARK: Pasted text

  @Test func `lines to be replayed, and what is to be checked, are shown as text`() throws {
    try ConsoleSite.visit(complaints: ["status of 400", "status of 413"]) { site, view in
      try demandNothingRan(view) {
        let lines = HostileTexts.all.flatMap { text in
          let quoted = JSONValue.string(text).jsonText
          return [
            text, "{\(quoted):1}", #"{"event":\#(quoted),"channel":\#(quoted),"data":\#(quoted)}"#,
            #" {"event":{"toString":1},"channel":\#(quoted)}"#,
            #"{"event":"e","channel":{"\#("toString")":1}}"#,
          ]
        }
        let pasted = JSONValue.string(lines.joined(separator: "\n")).jsonText
        try view.choose("do")
        try view.page.evaluate(
          """
          (() => {
            const field = document.getElementById("replay-lines");
            field.value = \(pasted);
            field.dispatchEvent(new Event("input"));
          })()
          """)
        try view.wait("replay-count", shows: "cannot be sent: not JSON")
        try view.page.click("#replay-once")
        try view.page.click("#replay-start")
        try view.wait("replay-result", shows: "failed")
        try view.choose("check")
        for text in HostileTexts.all {
          let shown = try view.page.evaluate(Self.checking(text)).text ?? ""
          let wanted = HostileTexts.shown(text, atMost: 60)
          #expect(Self.joined(shown).contains(Self.joined(wanted)), "\(text): \(shown)")
        }
      }
    }
  }

  /// Removes line ends and tabs.
  ///
  /// Fields and the string to sign keep them.
  private static func joined(_ text: String) -> String {
    text.filter { !"\r\n\t\r\n␍␊␉ ".contains($0) }
  }

  /// Checks a signature whose fields all contain a text, and returns the page's result.
  private static func checking(_ text: String) -> String {
    """
    (async () => {
      const at = (id) => document.getElementById(id);
      for (const name of ["key", "socket-id", "channel", "channel-data", "auth"]) at("check-" + name).value = \(JSONValue.string(text).jsonText);
      for (const name of ["key", "socket-id", "channel", "auth"]) at("check-" + name).value ||= "x";
      at("check-result").textContent = "";
      at("check-form").noValidate = true;
      at("check-form").requestSubmit();
      while (at("check-result").textContent === "") await new Promise((resolve) => setTimeout(resolve, 1));
      return at("check-form").textContent;
    })()
    """
  }

  @Test func `what was sent, faults and webhooks are shown as text in Tools`() throws {
    try ConsoleSite.visit(complaints: ["status of 400", "status of 413"]) { _, view in
      try view.choose("do")
      try demandNothingRan(view) {
        var numbers = (sent: 0, staged: 0)
        for text in HostileTexts.all {
          let shown = try view.page.evaluate(Self.filling(text))
          let setting = String(text.prefix { $0 != "," })
          for (name, wanted) in [
            ("webhook", text), ("about", setting), ("sent", text), ("staged", text),
          ] {
            // An order that the server refuses shows nothing.
            guard let found = shown[name]?.text else { continue }
            if name == "sent" { numbers.sent += 1 }
            if name == "staged" { numbers.staged += 1 }
            let words = Self.joined(HostileTexts.shown(wanted, atMost: 60))
            #expect(Self.joined(found).contains(words), "\(name), \(text): \(found)")
          }
        }
        #expect(numbers.sent >= 40 && numbers.staged >= 40, "\(numbers)")
      }
    }
  }

  /// Puts a text wherever the tools show foreign text, and returns what they show.
  private static func filling(_ text: String) -> String {
    """
    (async () => {
      const text = \(JSONValue.string(text).jsonText);
      const at = (id) => document.getElementById(id);
      const body = JSON.stringify({ events: [{ channel: text }] });
      page.webhooks.take({ kind: "webhook", app: "17", event: text, action: text, reason: text, body });
      page.webhooks.refresh();
      at("fault-text").value = "drop:channel=" + text;
      at("fault-text").dispatchEvent(new Event("input"));
      const shown = { webhook: at("webhook-list").textContent, about: at("fault-about").textContent };
      const isStaged = await call("faults", { add: "bad-json:channel=" + text }).then(() => true, () => false);
      if (isStaged) {
        await page.faults.refresh();
        shown.staged = at("fault-list").textContent;
        await call("faults", { clear: true });
      }
      at("send-channel").value = "news";
      at("send-event").value = "e";
      at("send-data").value = text;
      at("send-result").textContent = "";
      at("send").requestSubmit();
      while (at("send-result").textContent === "") await new Promise((resolve) => setTimeout(resolve, 1));
      if (at("send-result").textContent === "Sent.") shown.sent = at("send-history").textContent;
      return shown;
    })()
    """
  }
}

/// Texts that would run, break out or mislead if a page treated them as markup.
enum HostileTexts {
  /// Action of each text if it ran.
  private static let hit = "window.__hit=1"

  static let all: [String] = markup + attributes + scripts + paths + signs + names

  private static let markup = [
    "<img src=x onerror=\(hit)>", "<script>\(hit)</script>", "</script><script>\(hit)</script>",
    "<svg onload=\(hit)>", "<svg><script>\(hit)</script></svg>",
    "<svg><animate onbegin=\(hit) attributeName=x>",
    "<iframe srcdoc='<script>parent.__hit=1</script>'>", "<iframe src=javascript:parent.__hit=1>",
    "<body onload=\(hit)>", "<details open ontoggle=\(hit)>", "<video><source onerror=\(hit)>",
    "<input autofocus onfocus=\(hit)>", "<a href=javascript:\(hit)>a</a>",
    "<base href=//evil.example/>", "<meta http-equiv=refresh content=0;url=//evil.example>",
    "<link rel=stylesheet href=//evil.example/a.css>", "<style>*{display:none}</style>",
    "<math><mtext></mtext><mglyph><style><img src=x onerror=\(hit)>",
    "<!--<img src=--><img src=x onerror=\(hit)>", "<template><img src=x onerror=\(hit)></template>",
    "<form action=//evil.example><button>", "</textarea><img src=x onerror=\(hit)>",
    "</title></style></noscript><img src=x onerror=\(hit)>", "&lt;img src=x onerror=\(hit)&gt;",
  ]

  private static let attributes = [
    "\" onmouseover=\"\(hit)", "' onfocus='\(hit)' autofocus='", "\"><img src=x onerror=\(hit)>",
    "` onclick=`\(hit)", " style=position:fixed;inset:0", "\" hidden id=\"list",
  ]

  private static let scripts = [
    "javascript:\(hit)", "JaVaScRiPt:\(hit)//", "data:text/html,<script>\(hit)</script>",
    "${\(hit)}", "`${\(hit)}`", "{{constructor.constructor('\(hit)')()}}", "';\(hit);'",
    "\\\";\(hit)//", "%3Cscript%3E\(hit)%3C/script%3E", "\\u003cscript\\u003e\(hit)",
  ]

  private static let paths = [
    "../../console", "//evil.example/", "?token=x", "#/where",
    "a\r\nevent: entry\r\ndata: {}\r\n\r\n",
  ]

  private static let signs = [
    "\u{0}\u{1}\u{8}\u{C}", "\u{1B}[2J\u{1B}]0;title\u{7}", "\u{9B}31m\u{85}",
    "line\u{2028}end\u{2029}", "abc\u{202E}gpj.exe\u{202C}", "\u{2066}\u{2067}\u{2068}x\u{2069}",
    "zero\u{200B}width\u{200D}\u{FEFF}", "\u{61C}\u{200E}\u{200F}",
    "a\u{300}\u{301}\u{302}\u{303}\u{304}\u{305}", "\u{FFFE}\u{FFFF}", "\u{E0001}\u{E0041}",
    "\n\t \u{7F}",
  ]

  private static let names = [
    "__proto__", "constructor", "hasOwnProperty", "toString", "\"]{}", "]}*{display:none}", "#list",
    "[data-index]",
    ":root:has(*)", "undefined", "null", "NaN", "-1", "0", String(repeating: "long", count: 5000),
    String(repeating: "\u{202E}", count: 500), String(repeating: "<b>", count: 300),
  ]

  /// Returns a text as the page shows it: escapes for invisible characters, long texts cut.
  static func shown(_ text: String, atMost limit: Int = 100) -> String {
    var shown = ""
    for scalar in text.unicodeScalars.prefix(limit) { shown += escape(scalar) }
    return shown
  }

  private static func escape(_ scalar: Unicode.Scalar) -> String {
    let isHidden =
      [.control, .format, .surrogate].contains(scalar.properties.generalCategory)
      || ["\u{2028}", "\u{2029}"].contains(scalar)
    guard isHidden else { return String(scalar) }
    if scalar.value < 0x20, let picture = Unicode.Scalar(0x2400 + scalar.value) {
      return String(picture)
    }
    if scalar.value == 0x7F { return "\u{2421}" }
    let digits = String(scalar.value, radix: 16)
    guard scalar.value <= 0xFFFF else { return "\\u{\(digits)}" }
    return "\\u" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits
  }
}
