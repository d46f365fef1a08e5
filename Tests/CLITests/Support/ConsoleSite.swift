import Foundation
import PusherCore
import Testing

final class ConsoleSite {
  let server: LocalServer
  /// The printed address for the browser, with the token.
  let address: String
  let token: String

  init(_ options: [String] = [], port: String = "0", secret: String = "local-secret") throws {
    server = try LocalServer(secret: secret, options: ["--console"] + options, port: port)
    let line = try server.errorLine(containing: "console at http://")
    let start = try #require(line.range(of: "http://")?.lowerBound)
    address = String(line[start...])
    token = try #require(address.components(separatedBy: "token=").last)
  }

  var place: String { "127.0.0.1:\(server.port)" }
  var url: String { "http://\(place)/console" }

  static let environment = LocalServer.environment("local-secret")

  /// Starts the program with this server's address after its first words.
  func program(
    _ words: [String], _ options: String..., input: ChildProgram.Input = .nothing
  ) throws -> ChildProgram {
    try PusherCLI.start(
      words + server.address + options, environment: Self.environment, input: input)
  }

  func trigger(_ channel: String, _ event: String, _ data: String = "{}") throws {
    let result = try server.trigger(channel, event, data)
    guard result.ending == .exited(0) else { throw Unexpected(result.errorText) }
  }

  func ask(_ path: String, _ order: JSONValue? = nil) throws -> (status: Int, body: JSONValue) {
    var words = [
      "curl", "-s", "-w", "\n%{http_code}", "-H", "Authorization: Bearer \(token)", url + path,
    ]
    if let order { words += ["--data-raw", order.jsonText] }
    let parts = try PusherCLI.tool(words).outputText.components(separatedBy: "\n")
    let status = try #require(parts.last.flatMap { Int($0) })
    return (status, (try? JSONParser.parse(parts[0])) ?? nil)
  }

  /// Opens the console on a new page, runs a test, and checks the page's health at the end.
  static func visit(
    _ options: String..., complaints: [String] = [],
    place: SourceLocation = #_sourceLocation, _ body: (ConsoleSite, ConsoleView) throws -> Void
  ) throws {
    let site = try ConsoleSite(options)
    let view = try ConsoleView(site)
    do {
      try body(site, view)
    } catch {
      Issue.record("\(error); \(view.page.state)", sourceLocation: place)
    }
    try view.demandSound(except: complaints, place: place)
  }
}

/// The console on a page of the suite's browser.
struct ConsoleView {
  let page: BrowserPage
  let site: ConsoleSite

  init(_ site: ConsoleSite, state: String = "connected") throws {
    self.site = site
    page = try SuiteBrowser.current().page()
    try page.setViewport(width: 1280, height: 800)
    try page.open(site.address)
    try wait(state: state)
  }

  /// Opens a recording of these lines.
  init(recording lines: [String]) throws {
    let file = try TemporaryFolder.shared.file(
      "run.jsonl", holding: lines.joined(separator: "\n") + "\n")
    try self.init(ConsoleSite(["--open-recording", file]), state: "ended")
  }

  /// Waits until that many elements match a selector.
  func wait(_ count: Int, of selector: String) throws {
    try page.wait(until: "document.querySelectorAll('\(selector)').length === \(count)")
  }

  /// Waits until an expression is a list of these texts.
  func wait(_ expression: String, is texts: [String]) throws {
    let wanted = JSONValue.array(texts.map { .string($0) }).jsonText
    try page.wait(until: "JSON.stringify(\(expression)) === JSON.stringify(\(wanted))")
  }

  func wait(state: String) throws {
    try page.wait(until: "document.querySelector('#state').dataset.state === '\(state)'")
  }

  /// Checks that the page had no error, dialog, refusal or foreign request, and closes it.
  func demandSound(except allowed: [String] = [], place: SourceLocation = #_sourceLocation) throws {
    let log = try page.log
    let complaints = log.complaints.filter { complaint in
      !allowed.contains { complaint.contains($0) }
    }
    #expect(complaints == [], sourceLocation: place)
    #expect(log.requests(outside: site.place) == [], sourceLocation: place)
    #expect(log.windows == 0, sourceLocation: place)
    _ = try? page.call("Page.close")
  }

  // MARK: Contents

  func text(_ id: String) throws -> String {
    try page.evaluate("document.getElementById('\(id)').textContent").text ?? ""
  }

  func wait(_ id: String, shows part: String) throws {
    try page.wait(
      until:
        "document.getElementById('\(id)').textContent.includes(\(JSONValue.string(part).jsonText))")
  }

  /// Script for the lines in the document, as arrays of their cells.
  static let lines = """
    [...document.querySelectorAll("#rows .row:not([hidden])")]
      .sort((a, b) => a.dataset.index - b.dataset.index)
      .map((row) => [...row.children].map((cell) => cell.textContent))
    """

  func lines() throws -> [[String]] {
    try page.evaluate(Self.lines).elements?.map { $0.elements?.compactMap(\.text) ?? [] } ?? []
  }

  /// Waits for a line with this kind, channel and `what`, whose details contain a part.
  func wait(line kind: String, _ channel: String, _ what: String, _ details: String = "") throws {
    let wanted: JSONValue = [.string(kind), .string(channel), .string(what)]
    try page.wait(
      until: """
        \(Self.lines).some((cells) => JSON.stringify(cells.slice(1, 4)) === JSON.stringify(\(wanted.jsonText))
          && cells[4].includes(\(JSONValue.string(details).jsonText)))
        """)
  }

  func open(line part: String) throws {
    let found = """
      [...document.querySelectorAll("#rows .row:not([hidden])")]
        .find((row) => row.textContent.includes(\(JSONValue.string(part).jsonText)))
      """
    try page.wait(until: found)
    let opened = """
      new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))).then(() =>
        !document.getElementById("detail").hidden && document.querySelector(".row[aria-selected=true]")
          ?.textContent.includes(\(JSONValue.string(part).jsonText)))
      """
    // A new line in the meantime moves the others away from the mouse.
    try waitUntil("the line with '\(part)' is opened; \(page.state)") {
      try page.click("#\(try page.evaluate("\(found).id").text ?? "")")
      return try page.evaluate(opened) == true
    }
  }

  func choose(_ view: String) throws {
    try page.click("#tab-\(view)")
    try page.wait(until: "!document.getElementById('\(view)').hidden")
  }

  func select(_ value: String, in id: String) throws {
    try page.evaluate(
      """
      (() => {
        const field = document.getElementById("\(id)");
        field.value = \(JSONValue.string(value).jsonText);
        field.dispatchEvent(new Event("change"));
      })()
      """)
  }

  /// Returns the text that a button copies; `told` is the element that says so.
  func copied(by button: String, telling told: String = "detail-result") throws -> String {
    try page.evaluate("navigator.clipboard.writeText('nothing')")
    try page.click(button.hasPrefix("#") ? button : "#\(button)")
    try wait(told, shows: "Copied.")
    return try page.clipboard()
  }
}

/// A server with clients, events and faults of a developer's day, for checks of the page's look.
struct ConsoleScene {
  static let views = ["live", "where", "do", "check"]

  let site: ConsoleSite
  let view: ConsoleView
  private let clients: [ChildProgram]
  private let receiver: WebhookPair

  init() throws {
    receiver = try WebhookPair()
    let site = try ConsoleSite(["--webhook", receiver.url])
    self.site = site
    view = try ConsoleView(site)
    clients = try ["ada", "grace", "linus"].map { try Self.client($0, of: site) }
    try sendEvents()
    let refused = try site.server.trigger("orders", "order.paid", "1", secret: "wrong")
    guard refused.ending != .exited(0) else { throw Unexpected("a wrong secret was taken") }
    _ = try site.ask("/faults", ["add": "drop:after=500,channel=orders"])
    try view.page.wait(
      until: "document.querySelector('[data-kind=request] .number').textContent === '1'")
  }

  private static func client(_ user: String, of site: ConsoleSite) throws -> ChildProgram {
    let program = try site.program(
      ["subscribe"], "presence-lobby", "orders", "cache-prices", "private-chat-7", "-L",
      "--sign-in", "--stdin", "--user-id", user,
      "--user-info", #"{"name":"\#(user.capitalized)","role":"editor"}"#, input: .pipe)
    // Greeting, sign-in, the user's channel and the four channels.
    _ = try program.lines(7)
    return program
  }

  private func sendEvents() throws {
    let chat = #"{"event":"client-typing","channel":"private-chat-7","data":{"user":"ada"}}"#
    clients[0].write(Array(chat.utf8 + [10]))
    for number in 1...12 {
      let order =
        #"{"id":\#(4200 + number),"total":\#(number * 7).90,"items":[{"sku":"A-\#(number)","count":2}],"paid":true}"#
      try send("orders", number.isMultiple(of: 3) ? "order.shipped" : "order.created", order)
      if number.isMultiple(of: 4) {
        try send("cache-prices", "price", #"{"eur":\#(number).25,"usd":\#(number).61}"#)
        try send(
          "presence-lobby", "message", #"{"from":"ada","text":"Is 42\#(number) on its way?"}"#)
      }
    }
    try view.wait(line: "event", "orders", "order.shipped", "4212")
  }

  private func send(_ channel: String, _ event: String, _ data: String) throws {
    let order: JSONValue = [
      "app": "17", "channel": .string(channel), "event": .string(event), "data": .string(data),
    ]
    guard try site.ask("/trigger", order).status == 200 else {
      throw Unexpected("no event was sent")
    }
  }

  func show(_ name: String) throws {
    try view.choose(name)
    switch name {
    case "live":
      if try view.page.evaluate("document.getElementById('detail').hidden") == true {
        try view.open(line: "4212")
      }
    case "where":
      try view.page.wait(until: "document.querySelectorAll('#channel-rows button').length > 3")
      if try view.page.evaluate("document.getElementById('channel').hidden") == true {
        try view.page.evaluate(
          "[...document.querySelectorAll('#channel-rows button')].find((one) => one.textContent === 'presence-lobby').click()"
        )
        try view.page.wait(until: "document.querySelectorAll('#channel-members > li').length === 3")
      }
    case "do": try view.page.wait(until: "document.querySelectorAll('#fault-list li').length === 1")
    default: break
    }
  }
}
