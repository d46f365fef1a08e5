import PusherCore
import PusherServer
import Testing

@testable import pusher_cli

struct `Settings of the console` {
  @Test func `the console is for this machine unless it is asked for`() throws {
    func reach(_ arguments: String) throws -> Reach? {
      try serve(arguments).console.options(isUsual: true, token: "t")?.reach
    }
    #expect(try reach("") == .thisMachine)
    #expect(try reach("--open-recording f") == .thisMachine)
    #expect(try reach("--console") == .everybody)
    #expect(try reach("--no-console") == nil)
  }

  @Test func `a file of the console's token turns the page on, for this machine`() throws {
    #expect(try serve().console.options(isUsual: false, token: "t") == nil)
    let page = try serve("--console-token-file f").console.options(isUsual: false, token: "t")
    #expect(page?.reach == .thisMachine)
    #expect(page?.keepsToken == true)
    let open = try serve("--console --console-token-file f").console
    #expect(try open.options(isUsual: false, token: "t")?.reach == .everybody)
    #expect(try serve("--console").console.options(isUsual: true, token: "t")?.keepsToken == false)
  }

  @Test func `a token is asked for only where there is a page`() throws {
    func noToken() throws(UsageError) -> String { throw UsageError("asked") }
    #expect(try serve().console.options(isUsual: false, token: try noToken()) == nil)
    let settings = try serve("--console").console
    #expect(refusal { _ = try settings.options(isUsual: false, token: try noToken()) } == "asked")
  }

  @Test func `a thousand entries are kept for later pages, or as many as is said`() throws {
    func history(_ arguments: String) throws -> Int? {
      try serve(arguments).console.options(isUsual: true, token: "t")?.history
    }
    #expect(try history("") == 1000)
    #expect(try history("--console-history 0") == 0)
    #expect(try history("--console-history 100000") == 100_000)
    #expect(try history("--open-recording r") == 0, "a recording has all its entries")
  }

  @Test(
    arguments: """
      --console-token-file f --no-console
        => --console-token-file needs the console: leave out --no-console
      --console-token-file -
        => --console-token-file needs a file: standard input cannot keep a token
      --console-history 100001
        => option --console-history: '100001' is not a whole number from 0 to 100000
      --log-events --print-env
        => --log-events and --print-env both print on standard output; give one
      --print-snippets --log-events
        => --log-events and --print-snippets both print on standard output; give one
      --print-env --print-snippets
        => --print-env and --print-snippets both print on standard output; give one
      """ as Table)
  func `what the console or standard output cannot have is refused`(row: Table.Row) {
    row.expectRefusal(after: "serve ")
  }
}

struct `serve --print-snippets: what is printed` {
  @Test func `each app has its snippet, and a comment names the app`() throws {
    let apps = #"[{"id":"1","key":"one","secret":"s1"},{"id":"2","key":"two","secret":"s2"}]"#
    let files = PretendFiles(contents: ["apps": apps])
    let text = try #require(
      try serve("--apps apps --print-snippets", files: files).printedText(port: 7001))
    #expect(text.hasPrefix("// app 1\n// npm install pusher-js\n"))
    #expect(text.contains("\n\n// app 2\n") && text.contains("new Pusher(\"two\", {"))
    #expect(!text.contains("s1") && text.contains("wsPort: 7001"))
  }

  @Test func `a single app has no comment, and an endpoint only if there is one`() throws {
    let settings = try serve("--print-snippets")
    #expect(settings.printedText(port: 1)?.hasPrefix("// npm") == true)
    #expect(settings.printedText(port: 1)?.contains(":1/pusher/auth") == true)
    let unsigned = try serve("--print-snippets --no-serve-auth")
    #expect(unsigned.printedText(port: 1)?.contains("channelAuthorization") == false)
  }

  @Test func `nothing is printed unless it is asked for`() throws {
    #expect(try serve("--no-print-snippets").printedText(port: 1) == nil)
    let environment = try serve("--print-env")
    #expect(environment.printedText(port: 1) == environment.environmentBlock(port: 1))
  }
}
