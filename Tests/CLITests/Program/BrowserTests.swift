import Foundation
import PusherCore
import Testing

@Suite(
  "With a real browser", .serialized,
  .enabled(if: Browser.path != nil, Comment(rawValue: Browser.reason)))
struct BrowserTests {
  private static let room = "private-room"

  @Test func `a page joins channels, shows an event and answers with a client event`() throws {
    let server = try LocalServer()
    let program = try server.subscribe([Self.room], "-L")
    let browser = try Browser(
      "browser_page.html", ["port": server.port, "key": LocalServer.key, "room": Self.room])
    let socketID = try #require(try browser.page(showing: "joined news").first)

    let answer = try PusherCLI.start(
      ["auth", Self.room, "--socket-id", socketID],
      environment: [
        "PUSHER_APP_KEY": LocalServer.key, "PUSHER_APP_SECRET": "local-secret",
      ]
    ).result()
    #expect(answer.ending == .exited(0), "\(answer.errorText)")
    let signature = answer.outputText.trimmingCharacters(in: .newlines)
    #expect(try server.trigger("news", "signature", signature).ending == .exited(0))
    _ = try browser.page(showing: "joined \(Self.room)")

    let greeting = #"{"text":"Grüße aus dem Terminal ✓"}"#
    #expect(try server.trigger(Self.room, "greeting", greeting).ending == .exited(0))
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

  @Test func `a wrong signature and a wrong key reach the page as errors`() throws {
    let server = try LocalServer()
    let browser = try Browser(
      "browser_page.html", ["port": server.port, "key": LocalServer.key, "room": Self.room])
    _ = try browser.page(showing: "joined news")
    let signature = #"{"auth":"\#(LocalServer.key):00"}"#
    #expect(try server.trigger("news", "signature", signature).ending == .exited(0))
    #expect(try browser.page(showing: "Invalid signature").count == 4)

    let stranger = try Browser(
      "browser_page.html", ["port": server.port, "key": "other", "room": Self.room])
    let lines = try stranger.page(showing: "closed")
    #expect(lines.contains { $0.hasPrefix("error: Could not find app by key other") })
    #expect(lines.last?.hasPrefix("closed 4001 true") == true)
  }
}
