import Foundation
import PusherCore
import PusherServer
import Testing

@testable import pusher_cli

@Suite("docs/moving.md, run as it is printed", .runsPrograms) struct MovingPageTests {
  private static func blocks() throws -> [String] {
    let fenced = try Documentation.fenced("docs/moving.md")
    #expect(fenced.allSatisfy { $0.kind == "sh" })
    return fenced.map(\.text)
  }

  /// The only block with this text.
  private static func block(_ part: String) throws -> String {
    let found = try blocks().filter { $0.contains(part) }
    #expect(found.count == 1, "\(part)")
    return try #require(found.first)
  }

  /// Runs a block beside a file, and compares the apps that it writes, one a line.
  private func expectApps(
    _ expected: [String], from name: String, holding text: String, by part: String,
    dialect: String = "pusher"
  ) throws {
    let stage = try RecipeStage(port: "1", leads: .unnamed)
    try stage.write(name, text)
    try stage.write("bin/php", "#!/bin/sh\ntest \"$1 $2\" = 'artisan tinker' && cat config.json\n")
    try stage.start(Self.block(part)).result().expect(0, says: "")
    let file = try stage.contents("apps.json")
    #expect(try SystemFile.mode("\(stage.folder)/apps.json") == 0o600)
    let read = try serve(
      "--apps apps.json --dialect \(dialect)", files: PretendFiles(contents: ["apps.json": file]))
    #expect(read.warnings == [])
    let lines = try Jq.run("-c", ".[]", on: Array(file.utf8)).split(separator: "\n")
    #expect(read.server.applications.count == lines.count)
    #expect(lines.map(String.init) == expected)
  }

  private static let soketi = """
    {"debug": false, "port": 6001, "appManager.array.apps": [
      {"id": 1, "key": "shop", "secret": "s", "enableClientMessages": true, "maxConnections": 200,
       "maxBackendEventsPerSecond": "50", "maxClientEventsPerSecond": -1,
       "maxPresenceMembersPerChannel": 20, "maxEventPayloadInKb": 1.5,
       "webhooks": [{"url": "http://h/hook", "event_types": ["channel_occupied"]},
                    {"lambda_function": "f", "event_types": ["client_event"]}]},
      {"id": "old", "key": "o", "secret": "t", "enabled": false}]}

    """

  private static let translated = [
    #"{"id":"1","key":"shop","secret":"s","enabled":true,"client_events":true,"#
      + #""webhooks":["http://h/hook"],"limits":{"connections":200,"events_per_second":50,"#
      + #""presence_members":20,"event_bytes":1536}}"#,
    #"{"id":"old","key":"o","secret":"t","enabled":false,"client_events":false,"#
      + #""webhooks":[],"limits":{}}"#,
  ]

  @Test func `soketi's configuration file becomes apps`() throws {
    let opened = Self.soketi.replacing(
      #""appManager.array.apps": ["#, with: #""appManager": {"array": {"apps": ["#)
    let nested = opened.replacing("false}]}", with: "false}]}}}")
    for text in [Self.soketi, nested] {
      try expectApps(
        Self.translated, from: "soketi.json", holding: text, by: "appManager.array.apps")
    }
  }

  @Test func `soketi's variables become an app`() throws {
    let text = """
      # The environment of a container
      SOKETI_PORT=6001
      export SOKETI_DEFAULT_APP_ID=1
      SOKETI_DEFAULT_APP_KEY="shop"
      SOKETI_DEFAULT_APP_SECRET='a=b'\r
      SOKETI_DEFAULT_APP_MAX_CONNS=200
      SOKETI_DEFAULT_APP_ENABLE_CLIENT_MESSAGES=true
      SOKETI_DEFAULT_APP_MAX_CLIENT_EVENTS_PER_SEC=-1
      SOKETI_DEFAULT_APP_MAX_BACKEND_EVENTS_PER_SEC=
      SOKETI_DEFAULT_APP_WEBHOOKS='[{"url": "http://h/hook", "event_types": []}]'
      SOKETI_PRESENCE_MAX_MEMBERS=20
      SOKETI_EVENT_MAX_SIZE_IN_KB=4

      """
    try expectApps(
      [
        #"{"id":"1","key":"shop","secret":"a=b","enabled":true,"client_events":true,"#
          + #""webhooks":["http://h/hook"],"limits":{"connections":200,"presence_members":20,"#
          + #""event_bytes":4096}}"#
      ], from: "soketi.env", holding: text, by: "soketi.env >apps.json")
  }

  @Test func `a soketi without variables has the app of its defaults`() throws {
    let text = "SOKETI_DEBUG=1\nSOKETI_DEFAULT_APP_ENABLED=0\n"
    try expectApps(
      [
        #"{"id":"app-id","key":"app-key","secret":"app-secret","enabled":false,"#
          + #""client_events":false,"webhooks":[],"limits":{}}"#
      ], from: "soketi.env", holding: text, by: "soketi.env >apps.json")
  }

  @Test func `Reverb's configuration becomes apps`() throws {
    let text = """
      [{"key": "k", "secret": "s", "app_id": 7, "options": {"port": 443}, "allowed_origins": ["*"],
        "ping_interval": 60, "activity_timeout": 30, "max_connections": null,
        "max_message_size": 10000, "accept_client_events_from": "members",
        "rate_limiting": {"enabled": true, "max_attempts": "90", "terminate_on_limit": false}},
       {"key": "k2", "secret": "s2", "app_id": "8", "max_connections": "100",
        "max_message_size": "5000", "accept_client_events_from": "none"},
       {"key": "k3", "secret": "s3", "app_id": "9"}]

      """
    let unlimited = #""rate_limiting":{"enabled":false}"#
    try expectApps(
      [
        #"{"id":"7","key":"k","secret":"s","client_events":true,"#
          + #""rate_limiting":{"enabled":true,"max_attempts":"90","terminate_on_limit":false},"#
          + #""limits":{"event_bytes":10000}}"#,
        #"{"id":"8","key":"k2","secret":"s2","client_events":false,"# + unlimited
          + #","limits":{"connections":100,"event_bytes":5000}}"#,
        #"{"id":"9","key":"k3","secret":"s3","client_events":true,"# + unlimited
          + #","limits":{}}"#,
      ], from: "config.json", holding: text, by: "reverb.apps.apps", dialect: "reverb")
  }

  @Test func `the translated apps are served, with their limits and their state`() throws {
    let apps = "[\(Self.translated.joined(separator: ",\n"))]"
    let file = try TemporaryFolder.shared.file(
      "apps", holding: apps.replacing(#""connections":200"#, with: #""connections":1"#))
    chmod(file, 0o600)
    let server = try LocalServer(options: ["--apps", file, "--dialect", "soketi"])
    func subscribe(_ key: String) throws -> ChildProgram {
      try PusherCLI.start(
        ["subscribe"] + server.address + ["news", "-L", "--reconnect", "never"],
        environment: ["PUSHER_APP_KEY": key])
    }
    let first = try subscribe("shop")
    for line in try first.lines(2) {
      #expect(line.contains("established") || line.contains("succeeded"))
    }
    let second = try subscribe("shop").result()
    #expect(second.errorText.contains("4100"), "\(second.errorText)")
    try subscribe("o").result().expect(3, telling: "4003")
  }

  @Test func `every block translates apps, or is a command line that is understood`() throws {
    let apps = #"[{"id":"1","key":"k","secret":"s"}]"#
    let files = PretendFiles(contents: [
      "apps.json": apps,
      ".env":
        "SOKETI_DEFAULT_APP_ID=1\nSOKETI_DEFAULT_APP_KEY=k\nSOKETI_DEFAULT_APP_SECRET=s\n",
    ])
    var count = 0
    for block in try Self.blocks() where !block.hasPrefix("umask 077\n") {
      let line = try #require(block.wholeMatch(of: /pusher-cli (serve|check) ([^\n]*)/))
      let (command, options) = (line.1, String(line.2))
      if command == "serve" {
        #expect(try !serve(options, files: files).server.applications.isEmpty)
      } else {
        _ = try CheckSettings(arguments("check " + options), environment: [:], files: files.access)
      }
      count += 1
    }
    #expect(count == 4)
    #expect(try Self.blocks().count == count + 3)
  }
}
