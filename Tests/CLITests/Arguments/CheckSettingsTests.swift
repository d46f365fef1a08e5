import PusherCore
import Testing

@testable import pusher_cli

struct `The settings of check --publish, and its advice on the app` {
  private static let app = "PUSHER_APP_ID=1\nPUSHER_APP_KEY=k\nPUSHER_APP_SECRET=s\n"

  private func check(
    _ line: String, _ environment: [String: String] = [:], file: String? = nil
  ) throws -> CheckSettings {
    let files = PretendFiles(contents: file.map { [".env": Self.app + $0] } ?? [:])
    return try CheckSettings(
      arguments("check " + line), environment: environment, files: files.access)
  }

  private func advice(_ file: String) throws -> [String] {
    let settings = try check("--publish --env-file .env", file: file)
    return try #require(settings.roundTrip).app.advice(afterSuccessOn: nil)
  }

  // MARK: Settings

  @Test(arguments: [
    ("--publish b a b c", ["b", "a", "c"]), ("--publish", []), ("a", nil),
    ("--publish --no-publish a", nil),
  ])
  func `each channel argument counts once, in order`(line: String, channels: [String]?) throws {
    #expect(try check("--local " + line).roundTrip?.channels == channels)
  }

  @Test(
    arguments: """
      --key k --host h.test --publish => --publish: no app id: give --app-id or PUSHER_APP_ID
      --key k --host h.test --app-id 1 --publish
        => --publish: no secret: give --secret-file or PUSHER_APP_SECRET
      --local --publish private-encrypted-a => private-encrypted-a is encrypted: give …
      """ as Table)
  func `what the HTTP API and a channel need is needed`(row: Table.Row) {
    row.expectRefusal(after: "check ")
  }

  @Test func `an encrypted channel takes the key of the environment`() throws {
    let key = Base64.encode([UInt8](repeating: 7, count: 32))
    let trip = try check(
      "--local --publish private-encrypted-a", ["PUSHER_ENCRYPTION_MASTER_KEY": key]
    ).roundTrip
    #expect(trip?.encryptionKey != nil)
  }

  @Test func `only cache channels warn`() throws {
    let warnings = try check("--local --publish a cache-b cacheb").warnings.map(\.text)
    #expect(warnings == ["--publish: 'cache-b' keeps the event of check for later subscribers"])
  }

  // MARK: Advice

  @Test(
    arguments: """
      QUEUE_CONNECTION=database
        => QUEUE_CONNECTION in .env is 'database': does a queue worker run …
      QUEUE_CONNECTION=sync => QUEUE_CONNECTION in .env is 'sync': events need no queue worker
      OTHER=1 => does a queue worker run (php artisan queue:work)?…
      """ as Table)
  func `a queue needs a worker, unless it is sync`(row: Table.Row) throws {
    row.expect(try advice(row.input + "\n")[2])
  }

  @Test(
    arguments: """
      BROADCAST_CONNECTION=pusher => BROADCAST_CONNECTION in .env is 'pusher': is it so where…
      BROADCAST_DRIVER=reverb => BROADCAST_DRIVER in .env is 'reverb': is it so where…
      BROADCAST_CONNECTION=log => BROADCAST_CONNECTION in .env is 'log': the app writes its…
      OTHER=1 => .env has no BROADCAST_CONNECTION: set it to reverb or pusher…
      """ as Table)
  func `the broadcaster of the file is named`(row: Table.Row) throws {
    row.expect(try advice(row.input + "\n")[1])
  }

  @Test func `without a file the advice asks for it, and --local knows no app`() throws {
    let environment = ["BROADCAST_CONNECTION": "log", "PUSHER_APP_KEY": "other"]
    let app = try #require(try check("--local --publish", environment).roundTrip).app
    #expect(app == BroadcastingApp())
    #expect(app.advice(afterSuccessOn: nil)[1].hasSuffix("give its .env with --env-file"))
  }

  @Test func `after a failure the way comes first, then a broadcaster elsewhere`() throws {
    let settings = try check("--publish --env-file .env", file: "BROADCAST_CONNECTION=null\n")
    let lines = try #require(settings.roundTrip).app.adviceAfterFailure
    #expect(lines.count == 3 && lines[0].hasSuffix("repair this first"))
    #expect(lines[1].contains("the app drops its events"))
    #expect(BroadcastingApp().adviceAfterFailure.count == 2)
  }

  @Test(arguments: [
    ("orders", "private-orders and presence-orders are different channels"),
    ("private-orders", "does the app send to private-orders?"),
    ("presence-orders", "does the app send to presence-orders?"),
  ])
  func `the advice names the channel`(channel: String, words: String) {
    let lines = BroadcastingApp().advice(afterSuccessOn: channel)
    #expect(lines[3].contains(words), "\(lines)")
  }

  @Test func `the page of the advice is there, and holds the texts that are printed`() throws {
    let lines = BroadcastingApp().adviceAfterFailure
    let path = try #require(lines.last?.split(separator: " ").last).description
    let page = try Documentation.text(path)
    let detour = BroadcastingApp(
      broadcaster: Setting(origin: "BROADCAST_CONNECTION in .env", value: "log")
    ).detour
    let texts = [
      Hints.silence(["orders"]), try #require(detour),
      "the HTTP API accepted the event, but nothing came within", "the HTTP API sees no subscriber",
      "the HTTP API sees the subscriber", "the event came late, after",
    ]
    for text in texts { #expect(page.contains(text), "\(text)") }
  }

  // MARK: The event

  @Test(arguments: [(0, false), (999, false), (1000, false), (1001, true), (60_000, true)])
  func `an event is late after more than a second`(milliseconds: Int, isLate: Bool) {
    let warning = CheckRun.warning(after: .milliseconds(milliseconds))
    #expect((warning != nil) == isLate)
    #expect(warning?.hasPrefix("round trip: the event came late, after ") ?? true)
  }

  @Test(arguments: [
    (#"{"event":"pusher-cli-check","channel":"news","data":"{\"token\":\"0123abcd\"}"}"#, true),
    (#"{"channel":"news","data":{"token":"0123abcd"},"event":"pusher-cli-check"}"#, true),
    (#"{"event":"pusher-cli-check","channel":"news","data":"{\"token\":\"9123abcd\"}"}"#, false),
    (#"{"event":"pusher-cli-check","channel":"new","data":"{\"token\":\"0123abcd\"}"}"#, false),
    (#"{"event":"pusher-cli-chec","channel":"news","data":"{\"token\":\"0123abcd\"}"}"#, false),
    (#"{"event":"pusher-cli-check","data":"{\"token\":\"0123abcd\"}"}"#, false),
    (#"{"event":"pusher-cli-check","channel":"news"}"#, false),
    (#"{"event":"pusher-cli-check","channel":"news","data":""}"#, false),
    (#"{"event":"pusher-cli-check","channel":7,"data":null}"#, false),
  ])
  func `only the event of this run counts, on its channel`(message: String, isOurs: Bool) {
    Envelope.with(Array(message.utf8)) {
      #expect(CheckEvent(on: "news", token: "0123abcd").isCarried(by: $0) == isOurs)
    }
  }

  @Test func `two runs have different events and channels`() {
    let events = (0..<2).map { _ in CheckEvent(on: "news") }
    #expect(events[0] != events[1] && events[0].token.utf8.count == 32)
    let channels = (0..<2).map { _ in CheckEvent.ownChannel() }
    #expect(channels[0] != channels[1])
    #expect(channels.allSatisfy { ChannelName.problem(in: $0) == nil })
  }
}
