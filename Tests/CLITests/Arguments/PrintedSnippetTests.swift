import Testing

@testable import pusher_cli

@Suite("serve --print-snippets: what is printed")
struct PrintedSnippetTests {
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
    let unsigned = try serve("--print-snippets --no-auth-endpoints")
    #expect(unsigned.printedText(port: 1)?.contains("channelAuthorization") == false)
  }

  @Test func `nothing is printed unless it is asked for`() throws {
    #expect(try serve("--no-print-snippets").printedText(port: 1) == nil)
    let environment = try serve("--print-env")
    #expect(environment.printedText(port: 1) == environment.environmentBlock(port: 1))
  }

  @Test func `standard output holds one kind of text`() {
    #expect(
      refusal { _ = try serve("--print-snippets --log-events") }
        == "--log-events and --print-snippets both print on standard output; give one")
    #expect(
      refusal { _ = try serve("--print-env --print-snippets") }
        == "--print-env and --print-snippets both print on standard output; give one")
  }
}
