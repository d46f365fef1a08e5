import PusherCore
import PusherServer
import Testing

@testable import pusher_cli

@Suite struct `Settings of the console` {
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
    #expect(
      refusal { _ = try serve("--console-token-file f --no-console") }
        == "--console-token-file needs the console: leave out --no-console")
    #expect(
      refusal { _ = try serve("--console-token-file -") }
        == "--console-token-file needs a file: standard input cannot keep a token")
  }

  @Test func `a token is asked for only where there is a page`() throws {
    func noToken() throws(UsageError) -> String { throw UsageError("asked") }
    #expect(try serve().console.options(isUsual: false, token: try noToken()) == nil)
    let settings = try serve("--console").console
    #expect(
      refusal { _ = try settings.options(isUsual: false, token: try noToken()) } == "asked")
  }

  @Test func `a thousand entries are kept for later pages, or as many as is said`() throws {
    func history(_ arguments: String) throws -> Int? {
      try serve(arguments).console.options(isUsual: true, token: "t")?.history
    }
    #expect(try history("") == 1000)
    #expect(try history("--console-history 0") == 0)
    #expect(try history("--console-history 100000") == 100_000)
    #expect(try history("--open-recording r") == 0, "a recording has all its entries")
    #expect(
      refusal { _ = try serve("--console-history 100001") }
        == "option --console-history: '100001' is not a whole number from 0 to 100000")
  }
}
