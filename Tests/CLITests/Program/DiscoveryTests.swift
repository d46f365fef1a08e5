import Foundation
import PusherCore
import TestSupport
import Testing

@testable import pusher_cli

struct `Which channels a search joins and leaves` {
  private typealias Listed = ChannelSearch.Listed

  private func take(
    _ search: inout ChannelSearch, _ names: String..., count: Int? = nil,
    standing: ChannelSearch.Standing = .open
  ) -> ChannelSearch.Changes {
    search.take(names.map { Listed(name: $0, count: count) }) { _ in standing }
  }

  @Test func `channels that match one of the patterns are joined, each once, in their order`() {
    var search = ChannelSearch(patterns: ["private-*", "news?"], limit: 10)
    let first = take(&search, "private-b", "news", "private-a", "news1", "public")
    #expect(first == .init(join: ["news1", "private-a", "private-b"]))
    #expect(take(&search, "private-b", "private-a", "news1") == .init())
  }

  @Test func `a channel of the command line, a user's channel and no name at all are left alone`() {
    var search = ChannelSearch(patterns: ["*"], limit: 10)
    #expect(take(&search, "news", standing: .typed) == .init())
    #expect(take(&search, "#server-to-user-1", "two words", "") == .init())
  }

  @Test func `a channel is left when it is listed no more, or with nobody but us`() {
    for (names, count) in [([], nil), (["a"], 1), (["a"], 0)] as [([String], Int?)] {
      var search = ChannelSearch(patterns: ["*"], limit: 10)
      _ = take(&search, "a")
      let list = names.map { Listed(name: $0, count: count) }
      #expect(search.take(list) { _ in .confirmed } == .init(leave: ["a"]))
      #expect(search.joined.isEmpty)
    }
  }

  @Test func `a channel with others in it, with an unknown count, or not yet confirmed, stays`() {
    let cases: [([Listed], ChannelSearch.Standing)] = [
      ([Listed(name: "a", count: 2)], .confirmed), ([Listed(name: "a", count: nil)], .confirmed),
      ([Listed(name: "a", count: 1)], .open), ([], .open),
      ([Listed(name: "a", count: 1)], .refused),
    ]
    for (list, standing) in cases {
      var search = ChannelSearch(patterns: ["*"], limit: 10)
      _ = take(&search, "a")
      #expect(search.take(list) { _ in standing } == .init(), "\(list) \(standing)")
      #expect(search.joined.contains("a"))
    }
  }

  @Test func `a refused channel is forgotten once it is listed no more, and may then come again`() {
    var search = ChannelSearch(patterns: ["*"], limit: 10)
    _ = take(&search, "a")
    #expect(search.take([]) { _ in .refused } == .init(leave: ["a"]))
    #expect(take(&search, "a") == .init(join: ["a"]))
  }

  @Test func `channels above --max-channels are left out until there is room`() {
    var search = ChannelSearch(patterns: ["*"], limit: 2)
    #expect(take(&search, "c", "a", "b") == .init(join: ["a", "b"], leftOut: 1))
    let list = [Listed(name: "a", count: 1), Listed(name: "b", count: 2), Listed(name: "c")]
    #expect(search.take(list) { _ in .confirmed } == .init(join: ["c"], leave: ["a"]))
  }

  @Test(arguments: [
    (["private-*"], "private-"), (["private-a", "private-b?"], "private-"), (["*"], ""),
    (["a", "b"], ""),
    (["news[12]"], "news"), (["é*", "è*"], ""),
  ])
  func `the list is asked for by the patterns' common start`(patterns: [String], prefix: String) {
    let found = ChannelSearch(patterns: patterns, limit: 1).prefix
    // A prefix cut inside a character would match nothing.
    #expect(found == prefix || found.utf8.elementsEqual("\u{FFFD}".utf8))
  }

  @Test(arguments: [
    (
      #"{"channels":{"a":{},"b":{"user_count":3},"c":{"subscription_count":2,"occupied":true}}}"#,
      [nil, 3, 2]
    ),
    (#"{"channels":[]}"#, []), (#"{"channels":{}}"#, []),
  ])
  func `the list is read as every server writes it`(answer: String, counts: [Int?]) throws {
    let list = ChannelSearch.list(try JSONParser.parse(answer))
    #expect(list?.map(\.count) == counts)
  }

  @Test(arguments: ["{}", "[]", #"{"channels":1}"#, #"{"channels":["a"]}"#])
  func `another answer is no list of channels`(answer: String) throws {
    #expect(ChannelSearch.list(try JSONParser.parse(answer)) == nil)
  }
}

@Suite("Channels by pattern", .runsPrograms) struct DiscoveryTests {
  private static let options = ["-c", "private-*", "--discover", "20ms", "-L", "-v"]

  private func subscriber(_ server: LocalServer, _ options: [String] = []) throws -> ChildProgram {
    try server.start(["subscribe"] + Self.options + options)
  }

  @Test(arguments: ["pusher", "reverb", "soketi"])
  func `a channel is joined when others are there, and left after them`(dialect: String) throws {
    let server = try LocalServer(options: ["--dialect", dialect])
    let early = try server.subscribe(["private-a", "public"], "-L")
    let program = try subscriber(server)
    let joined = #"{"event":"pusher:subscription_succeeded","channel":"private-a","data":{}}"#
    #expect(try program.outputLine(containing: "subscription_succeeded") == joined)
    try server.trigger("private-a", "e", "1").expect()
    #expect(
      try program.outputLine(containing: #""event":"e""#)
        == #"{"event":"e","channel":"private-a","data":1}"#)
    let late = try server.subscribe(["private-b"], "-L")
    #expect(try program.outputLine(containing: "subscription_succeeded").contains("private-b"))
    early.send(SIGTERM)
    let left = #"{"event":"pusher-cli:left","channel":"private-a","data":{}}"#
    #expect(try program.outputLine(containing: "pusher-cli:left") == left)
    late.send(SIGTERM)
    #expect(try program.outputLine(containing: "pusher-cli:left").contains("private-b"))
    program.send(SIGTERM)
    let errors = try program.result().errorText
    #expect(
      errors.contains(
        "looking for channels that match private-* every 20 ms; events before the subscription "
          + "are missed"))
    #expect(errors.contains("left private-a: no other subscribers"))
    #expect(!errors.contains("public"))
  }

  private func trigger(on server: LocalServer) -> String {
    ([PusherCLI.word, "trigger"] + server.address + ["-c", "private-a", "-e", "e", "1"])
      .joined(separator: " ")
  }

  @Test func `a list that is refused ends the run with 3, and names what may be wrong`() throws {
    let server = try LocalServer()
    let result = try server.run(["subscribe", "private-*", "--discover", "1s"], secret: "another")
    result.expect(3)
    #expect(result.errorText.hasPrefix("pusher-cli: error: cannot list channels: HTTP 401 "))
    #expect(result.errorText.hasSuffix("(do the secret and the app id belong to key loca…?)\n"))
  }

  @Test func `more channels than --max-channels are warned of once`() throws {
    let server = try LocalServer()
    let guest = try server.subscribe(["private-a", "private-b", "private-c"], "-L")
    let program = try subscriber(server, ["--max-channels", "2"])
    _ = try program.errorLine(
      containing: "skipped 1 matching channel: the limit is 2 (--max-channels N)")
    for _ in 1...2 { _ = try program.outputLine(containing: "subscription_succeeded") }
    try server.trigger("private-c", "e", "1").expect()
    try server.trigger("private-b", "e", "2").expect()
    #expect(try program.outputLine(containing: #""event":"e""#).contains("private-b"))
    withExtendedLifetime(guest) {}
  }

  @Test(arguments: [
    ["*"], ["--discover", "20ms"], ["-c", "private-[ab]"], ["private-*", "--discover", "20ms"],
  ])
  func `a pattern alone joins the channels of an app, and so does --discover alone`(
    words: [String]
  ) throws {
    let server = try LocalServer()
    let guest = try server.subscribe(["private-a"], "-L")
    let program = try server.start(
      ["subscribe"] + words + ["-n", "1", "--on-ready", trigger(on: server)])
    try program.result().expect(prints: #"{"event":"e","channel":"private-a","data":1}"# + "\n")
    withExtendedLifetime(guest) {}
  }
}

struct `Channels by pattern: settings` {
  private static let app = [
    "PUSHER_APP_KEY": "k", "PUSHER_APP_SECRET": "s", "PUSHER_APP_ID": "1",
  ]

  @Test(arguments: ["*", "private-*", "a?", "[ab]", "-c private-*", "orders *"])
  func `a pattern needs no option`(words: String) throws {
    let settings = try subscribe(words, Self.app)
    let pattern = try #require(words.split(separator: " ").last)
    #expect(settings.discovery?.patterns == [String(pattern)])
    #expect(settings.discovery?.interval == .seconds(2))
    #expect(settings.channels == (words.hasPrefix("orders") ? ["orders"] : []))
  }

  @Test func `--discover sets the time, and means all channels if none is named`() throws {
    #expect(try subscribe("--discover 5s", Self.app).discovery?.patterns == ["*"])
    #expect(try subscribe("--discover 5s a*", Self.app).discovery?.patterns == ["a*"])
    #expect(try subscribe("--discover 5s a*", Self.app).discovery?.interval == .seconds(5))
    let files = PretendFiles(contents: ["c": "[subscribe]\ndiscover = 9s\n"])
    #expect(
      try subscribe("--config c a*", Self.app, files: files).discovery?.interval == .seconds(9))
    #expect(try subscribe("--config c a", Self.app, files: files).discovery == nil)
  }

  @Test(arguments: [
    ("a --discover 5s", "--discover is for patterns: give one as a channel, such as 'private-*'"),
    ("--config c", "no channel: give one, as in 'pusher-cli subscribe my-channel', or '*' for all"),
  ])
  func `--discover without a pattern is refused`(line: String, message: String) {
    let files = PretendFiles(contents: ["c": "[subscribe]\ndiscover = 9s\n"])
    #expect(refusal { _ = try subscribe(line, Self.app, files: files) } == message)
  }

  @Test(arguments: [
    ("PUSHER_APP_SECRET", "no secret: give --secret-file or PUSHER_APP_SECRET"),
    ("PUSHER_APP_ID", "no app id: give --app-id or PUSHER_APP_ID"),
  ])
  func `what a pattern needs is named with the reason`(variable: String, rest: String) {
    var environment = Self.app
    environment[variable] = nil
    #expect(
      refusal { _ = try subscribe("private-*", environment) }
        == "'private-*' is a pattern, which needs the HTTP API; \(rest)")
  }

  @Test func `other commands than subscribe take no patterns`() {
    let message = "channel 'a*': only subscribe takes patterns"
    #expect(
      refusal {
        _ = try CheckSettings(
          arguments("check a*"), environment: Self.app, files: PretendFiles().access)
      } == message)
  }
}
