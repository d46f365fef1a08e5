import PusherConsole
import PusherCore
import PusherServer
import Testing

/// docs/console.md, "Who may use it", and docs/security.md.
struct `The console: who may use it` {
  private let console: ConsoleHarness
  private static let token = ConsoleHarness.token

  init() throws { console = try ConsoleHarness() }

  @Test(arguments: [
    "/console", "/console/", "/console/events", "/console/channels?app=3", "/console/nothing",
  ])
  func `nothing is shown without the token`(target: String) throws {
    let answer = try console.ask("GET", target)
    #expect(answer.status == 403)
    #expect((answer.error == nil) == (target == "/console"), "calls fail with JSON")
    for wrong in ["", "0123456789abcde", "0123456789abcdef0", "0123456789ABCDEF"] {
      let mark = target.holds("?") ? "&" : "?"
      #expect(try console.ask("GET", "\(target)\(mark)token=\(wrong)").status == 403)
      let field = "Authorization: Bearer \(wrong)"
      #expect(try console.ask("GET", target, headers: [field]).status == 403)
    }
  }

  @Test(arguments: Dialect.allCases)
  func `the bare address leads to the page, which asks for its token`(dialect: Dialect) throws {
    let open = try ConsoleHarness { ($0.console, $0.dialect) = (.everybody, dialect) }
    for method in ["GET", "HEAD"] {
      let answer = try open.ask(method, "/?a=b")
      #expect(answer.head.begins(with: "http/1.1 302 found\r\n"), "\(answer.head)")
      #expect(answer.head.holds("location: /console\r\n"), "\(answer.head)")
    }
    let page = try open.ask("GET", "/console")
    #expect(page.status == 403)
    #expect(
      page.body
        == "the console needs the token of this run: open the address that serve printed\n")
    #expect(try open.ask("POST", "/").status != 302)
    // Without --console, the path belongs to the dialect.
    for reach in [Reach.nobody, .thisMachine] {
      let closed = try ConsoleHarness { ($0.console, $0.dialect) = (reach, dialect) }
      #expect(try closed.ask("GET", "/").status == (dialect == .soketi ? 200 : 404), "\(reach)")
    }
  }

  @Test func `a question may have the token in its query or in a field`() throws {
    #expect(try console.ask("GET", "/console?token=\(Self.token)").status == 200)
    for (field, status) in [
      (ConsoleHarness.bearer, 200), ("authorization: bearer  \(Self.token)", 200),
      ("Authorization: Basic \(Self.token)", 403),
    ] { #expect(try console.ask("GET", "/console/faults", headers: [field]).status == status) }
  }

  @Test func `an order needs the token in a field, which no form of a page can send`() throws {
    let order = #"{"clear":true}"#
    #expect(
      try console.ask("POST", "/console/faults?token=\(Self.token)", body: order).status == 403)
    #expect(try console.post("faults", ["clear": true]).status == 200)
  }

  @Test(arguments: [
    "Origin: http://localhost:3000", "Origin: http://evil.example", "Origin: null",
    "Sec-Fetch-Site: cross-site", "Sec-Fetch-Site: same-site", "Host: evil.example",
  ])
  func `a page of another origin gets nothing, even with the token`(field: String) throws {
    let answer = try console.ask(
      "GET", "/console/channels?app=3&token=\(Self.token)", headers: [field])
    #expect(answer.status == 403)
    #expect(!answer.body.holds("total"))
    #expect(!answer.head.holds("access-control-allow"))
  }

  @Test func `the console's own page may ask`() throws {
    let host = "localhost:\(console.test.server.port)"
    let own = ["Host: \(host)", "Origin: http://\(host)", "Sec-Fetch-Site: same-origin"]
    #expect(
      try console.ask(
        "GET", "/console/channels?app=3&token=\(Self.token)", headers: own
      ).status == 200)
  }

  @Test func `the page may run and load nothing but itself`() throws {
    let answer = try console.ask("GET", "/console?token=\(Self.token)")
    for rule in [
      "content-type: text/html; charset=utf-8", "default-src 'none'", "connect-src 'self'",
      "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
      "require-trusted-types-for 'script'", "referrer-policy: no-referrer",
      "cache-control: no-store",
    ] { #expect(answer.head.contains(rule)) }
    #expect(!answer.head.holds("unsafe-inline"))
    #expect(!answer.body.holds(" src=\""), "no script is left out")
    #expect(!answer.body.contains(Self.token))
  }

  @Test func `a server without a console has nothing there`() throws {
    let request = ServerHarness.request(
      "GET /console?token=\(Self.token)", ["Host: localhost", "Connection: close"])
    #expect(try ServerHarness().answer(to: request).begins(with: "HTTP/1.1 404"))
  }
}
