import PusherCore
import PusherServer
import Testing

@testable import pusher_cli

struct `webhook send: settings` {
  private static let app = [
    "PUSHER_APP_KEY": "k", "PUSHER_APP_SECRET": "s", "PUSHER_APP_ID": "1",
    "PUSHER_HOST": "h", "PUSHER_PORT": "6001", "PUSHER_SCHEME": "http",
  ]

  private func send(
    _ line: String, _ environment: [String: String] = app, files: PretendFiles = PretendFiles()
  ) throws -> WebhookSendSettings {
    try WebhookSendSettings(
      arguments("webhook send " + line), environment: environment, files: files.access)
  }

  @Test func `one receiver is enough, and the rest has defaults`() throws {
    let settings = try send("--to http://a/hook")
    #expect(settings.receivers.map(\.path) == ["/hook"])
    #expect(settings.interval == .seconds(2) && settings.policy.delay == .seconds(3))
    #expect(
      settings.policy.kinds == [
        .channelOccupied, .channelVacated, .memberAdded, .memberRemoved, .clientEvent,
      ])
    #expect(settings.policy.batch == 100)
    #expect(
      settings.watch
        == WatchSettings(
          userID: "pusher-cli-webhook", channels: [], channelLimit: 10_000, memberLimit: 100_000))
    #expect(
      settings.subscription.authorization
        == .secret(Secret("s"), ["user_id": "pusher-cli-webhook"]))
    #expect(settings.access.appID == "1" && settings.warnings == [])
    #expect(settings.subscription.connection.host == "h")
  }

  @Test func `every option of webhook send reaches its setting`() throws {
    let settings = try send(
      "--to http://a --to https://b/x --every 500ms --webhook-delay 1ms -c private-a -c news "
        + "-c private-a --user-id watcher --max-channels 5 --max-members 7 --no-initial -W 1m")
    #expect(settings.receivers.map(\.host) == ["a", "b"])
    #expect(settings.interval == .milliseconds(500) && settings.policy.delay == .milliseconds(1))
    #expect(
      settings.watch
        == WatchSettings(
          userID: "watcher", channels: ["private-a", "news"], channelLimit: 5, memberLimit: 7,
          reportsStart: false))
    #expect(settings.subscription.run.timeout == .seconds(60))
  }

  private static let choices: [(String, [WebhookNotice.Kind], Bool)] = [
    ("-e channel_*", [.channelOccupied, .channelVacated], false),
    ("-e member_removed", [.memberRemoved], true),
    ("-e client_event -e channel_vacated", [.channelVacated, .clientEvent], true),
    ("-e *", WebhookNotice.Kind.watched, true),
  ]

  @Test(arguments: choices)
  func `patterns choose the webhooks, and channels alone need no membership`(
    options: String, kinds: [WebhookNotice.Kind], joins: Bool
  ) throws {
    let settings = try send("--to http://a " + options)
    #expect(settings.policy.kinds == kinds)
    #expect(settings.watch.joinsPresence == joins)
  }

  @Test(
    arguments: """
      webhook send => no receiver: give --to URL
      webhook send --to ws://a => --to: a webhook URL must begin with http:// or https://
      webhook send --to http://a -e member_add
        => --event: 'member_add' matches none of channel_occupied, channel_vacated, member_added,
        member_removed, client_event; did you mean 'member_added'?
      webhook send --to http://a -e cache_miss
        => --event: 'cache_miss' matches none of channel_occupied, channel_vacated, member_added,
        member_removed, client_event
      webhook send --to http://a -e channel_* -c private-a
        => --channel: 'private-a' has no use, because --event leaves out client_event
      webhook send --to http://a -c private-* => channel 'private-*': only subscribe takes patterns
      webhook send --to http://a -c private-encrypted-a
        => channel 'private-encrypted-a': encrypted channels have no client events
      webhook send --to http://a --listen :1
        => webhook send has no option --listen (it belongs to webhook listen)
      webhook send --to http://a -n 1
        => webhook send has no option --count (it belongs to webhook listen)
      webhook send news --to http://a => webhook takes one word: listen or send (found 'news')
      webhook send send --to http://a => webhook takes one word: listen or send (found 'send')
      PUSHER_APP_SECRET= webhook send --to http://a
        => no secret: give --secret-file or PUSHER_APP_SECRET
      PUSHER_APP_ID= webhook send --to http://a => no app id: give --app-id or PUSHER_APP_ID
      webhook listen --to http://a => webhook listen has no option --to (it belongs to webhook send)
      webhook listen --no-initial
        => webhook listen has no option --initial (it belongs to webhook send)
      webhook => webhook takes one word: listen or send
      webhook listn => webhook takes one word: listen or send (found 'listn')
      webhook listen a => webhook takes one word: listen or send (found 'a')
      """ as Table)
  func `a mistake in webhook send is named`(row: Table.Row) { row.expectRefusal(Self.app) }

  @Test func `a file may hold the options of both words of webhook`() throws {
    let files = PretendFiles(contents: ["c": "[webhook]\nto = http://a\nlisten = 127.0.0.1:1\n"])
    let listen = try WebhookSettings(
      arguments("webhook listen --config c"), environment: Self.app, files: files.access)
    #expect(listen.listen.port == 1)
    #expect(try send("--config c", files: files).receivers.map(\.host) == ["a"])
  }
}
