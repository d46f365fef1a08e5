import Foundation
import PusherCore
import Testing

@Suite("With a real browser", .serialized, .needsBrowser, .runsProgramsFirst) struct BrowserTests {
  private static let room = "private-room"

  @Test func `a page joins channels, shows an event and answers with a client event`() throws {
    let server = try LocalServer()
    let program = try server.subscribe([Self.room], "-L")
    let browser = try Browser(
      "browser_page.html", ["port": server.port, "key": LocalServer.key, "room": Self.room])
    let socketID = try #require(try browser.page(showing: "joined news").first)

    let answer = try PusherCLI.run(
      "auth", Self.room, "--socket-id", socketID,
      environment: LocalServer.environment("local-secret"))
    answer.expect()
    let signature = answer.outputText.trimmingCharacters(in: .newlines)
    try server.trigger("news", "signature", signature).expect()
    _ = try browser.page(showing: "joined \(Self.room)")

    let greeting = #"{"text":"Grüße aus dem Terminal ✓"}"#
    try server.trigger(Self.room, "greeting", greeting).expect()
    #expect(
      try browser.page(showing: "Terminal")
        == [
          socketID, "connected", "joined news", "joined \(Self.room)",
          "\(Self.room): Grüße aus dem Terminal ✓",
        ])
    #expect(
      try program.line()
        == #"{"event":"greeting","channel":"\#(Self.room)","data":\#(greeting)}"#)
    #expect(
      try program.line()
        == #"{"event":"client-answer","channel":"\#(Self.room)","data":{"text":"Grüße aus dem Browser ✓"}}"#
    )

    try server.stop()
    let last = try #require(try browser.page(showing: "closed").last)
    #expect(last == "closed 4200 true the server is shutting down")
  }

  /// Makes every request that a page of `host` can make, and returns the results.
  private func attempts(
    from host: String, on server: LocalServer, pages: ScriptedServer
  ) throws -> [String] {
    let program = try server.subscribe([Self.room, "news"], "-L", joins: false)
    let greeting = try JSONParser.parse(try #require(try program.lines(3).first))
    let socketID = try #require(greeting["data"]?["socket_id"]?.text)
    let signed = try TriggerRequest(name: "forged", channels: ["news"], data: "1")
      .request(appID: LocalServer.appID).signed(
        key: LocalServer.key, secret: "local-secret",
        timestamp: SystemClock.wall().secondsSince1970)
    let browser = try Browser(
      "hostile_page.html",
      [
        "port": server.port, "key": LocalServer.key, "socket": socketID, "target": signed.target,
        "body": String(decoding: signed.body ?? [], as: UTF8.self),
      ], host: host, pages: pages)
    let shown = Array(try browser.page(showing: "done").dropFirst())
    // An event of a forged call or a staged fault would arrive earlier.
    try server.trigger("news", "real", "1").expect()
    return shown + [try program.line()]
  }

  private static let real = #"{"event":"real","channel":"news","data":1}"#

  @Test func `a page from elsewhere gets nothing, by whatever way it asks`() throws {
    let server = try LocalServer(options: ["-v"])
    let pages = try Browser.pages("hostile_page.html")
    #expect(
      try attempts(from: "evil.example", on: server, pages: pages) == [
        "socket: closed 1006", "form: TypeError", "json: TypeError", "silent: nothing to read",
        "sandbox: TypeError", "trigger: nothing to read", "faults: nothing to read",
        "rebinding: nothing to read", "done", Self.real,
      ])
    let origin = "http://evil.example:\(pages.port)"
    let errors = try server.stop().errorText
    #expect(
      errors.contains(
        "warning: refused a request from a page of '\(origin)'; "
          + "--allow-origin \(origin) would allow it\n"),
      "\(errors)")
    #expect(
      errors.contains(
        "warning: refused a request from a page of 'null'; --allow-origin null would"))
    #expect(
      errors.contains(
        "warning: refused a request for host 'evil.example:\(server.port)'; "
          + "--allow-host evil.example would allow it\n"), "\(errors)")
    for attempt in ["POST /pusher/auth 403", "OPTIONS /broadcasting/auth 403", "POST /faults 403"] {
      #expect(errors.contains(attempt), "\(attempt) in \(errors)")
    }
    #expect(!errors.contains("/pusher/auth 200"))
  }

  @Test(arguments: ["localhost", "evil.example"])
  func `a local page, and one that is allowed, are let in`(host: String) throws {
    let pages = try Browser.pages("hostile_page.html")
    let server = try LocalServer(
      options: host == "localhost"
        ? [] : ["--allow-origin", "http://evil.example:\(pages.port)"])
    let shown = try attempts(from: host, on: server, pages: pages)
    #expect(
      shown == [
        "socket: open", #"form: 200 {"auth":""#, #"json: 200 {"auth":""#, "silent: nothing to read",
        "sandbox: TypeError", "trigger: nothing to read", "faults: nothing to read",
        "rebinding: nothing to read", "done", #"{"event":"forged","channel":"news","data":1}"#,
      ])
  }

  @Test func `a wrong signature and a wrong key reach the page as errors`() throws {
    let server = try LocalServer()
    let browser = try Browser(
      "browser_page.html", ["port": server.port, "key": LocalServer.key, "room": Self.room])
    _ = try browser.page(showing: "joined news")
    let signature = #"{"auth":"\#(LocalServer.key):00"}"#
    try server.trigger("news", "signature", signature).expect()
    #expect(try browser.page(showing: "Invalid signature").count == 4)

    let stranger = try Browser(
      "browser_page.html", ["port": server.port, "key": "other", "room": Self.room])
    let lines = try stranger.page(showing: "closed")
    #expect(lines.contains { $0.hasPrefix("error: Could not find app by key other") })
    #expect(lines.last?.hasPrefix("closed 4001 true") == true)
  }
}
