import PusherCore
import PusherServer
import Testing

@testable import pusher_cli

/// Reverb's rate limit: `rate_limiting` of `config/reverb.php`, and its variables.
struct `The rate limit of serve --dialect reverb` {
  private func limit(
    _ object: String, name: String = "rate_limiting", options: String = "--dialect reverb"
  ) throws -> MessageRateLimit? {
    let text = #"[{"id":"1","key":"a","secret":"x","\#(name)":\#(object)}]"#
    return try serve("--apps f " + options, files: PretendFiles(contents: ["f": text]))
      .server.applications[0].limits.messageRate
  }

  private func expected(_ messages: Int, _ seconds: Int, ends: Bool = false) -> MessageRateLimit {
    var limit = MessageRateLimit()
    (limit.messages, limit.window) = (messages, .seconds(seconds))
    limit.endsConnection = ends
    return limit
  }

  // MARK: The file of --apps

  @Test(arguments: ["rate_limiting", "rate_limit"])
  func `the rate limit has the names of Reverb's configuration`(name: String) throws {
    let object = #"{"enabled":true,"max_attempts":5,"decay_seconds":2,"terminate_on_limit":true}"#
    #expect(try limit(object, name: name) == expected(5, 2, ends: true))
  }

  @Test func `what the file leaves out is as in Reverb's configuration; the limit holds`() throws {
    #expect(try limit("{}") == expected(60, 60))
    #expect(try limit(#"{"max_attempts":1}"#) == expected(1, 60))
    #expect(try limit(#"{"decay_seconds":1000000000}"#) == expected(60, 1_000_000_000))
  }

  @Test(arguments: ["pusher", "reverb", "soketi"])
  func `a rate limit that is switched off is none, with every dialect`(dialect: String) throws {
    let object = #"{"enabled":false,"max_attempts":5}"#
    #expect(try limit(object, options: "--dialect \(dialect)") == nil)
  }

  @Test func `the rate limit stands beside the other limits of the app`() throws {
    let text =
      #"[{"id":"1","key":"a","secret":"x","limits":{"connections":3},"rate_limit":{}},"#
      + #"{"id":"2","key":"b","secret":"x"}]"#
    let apps = try serve("--apps f --dialect reverb", files: PretendFiles(contents: ["f": text]))
      .server.applications
    #expect(apps[0].limits.connections == 3)
    #expect(apps.map(\.limits.messageRate) == [expected(60, 60), nil])
  }

  @Test(arguments: ["--dialect pusher", "--dialect soketi", ""])
  func `only Reverb has a rate limit`(options: String) {
    #expect(
      refusal { _ = try limit("{}", options: options) }
        == "--apps: app '1': rate_limiting needs --dialect reverb; no other server has it")
  }

  @Test(
    arguments: """
      [] => --apps: app '1': rate_limiting is not a JSON object
      null => --apps: app '1': rate_limiting is not a JSON object
      60 => --apps: app '1': rate_limiting is not a JSON object
      {"max_attempt":1}
        => --apps: app '1': rate_limiting has an unknown member 'max_attempt'; did you mean
        'max_attempts'?
      {"":1} => --apps: app '1': rate_limiting has an unknown member ''
      {"enabled":"true"} => --apps: app '1': rate_limiting: enabled must be true or false
      {"terminate_on_limit":1}
        => --apps: app '1': rate_limiting: terminate_on_limit must be true or false
      {"max_attempts":0}
        => --apps: app '1': rate_limiting: max_attempts is not a whole number from 1 to 1000000000
      {"max_attempts":1.5}
        => --apps: app '1': rate_limiting: max_attempts is not a whole number from 1 to 1000000000
      {"max_attempts":"sixty"}
        => --apps: app '1': rate_limiting: max_attempts is not a whole number from 1 to 1000000000
      {"decay_seconds":0}
        => --apps: app '1': rate_limiting: decay_seconds is not a whole number from 1 to 1000000000
      {"decay_seconds":-1}
        => --apps: app '1': rate_limiting: decay_seconds is not a whole number from 1 to 1000000000
      {"decay_seconds":1000000001}
        => --apps: app '1': rate_limiting: decay_seconds is not a whole number from 1 to 1000000000
      {"enabled":false,"decay_seconds":1e400}
        => --apps: app '1': rate_limiting: decay_seconds is not a whole number from 1 to 1000000000
      """ as Table)
  func `a mistake in a rate limit is told with its place`(row: Table.Row) {
    row.expectRefusal { _ = try limit(row.input) }
  }

  @Test func `rate_limiting and rate_limit at once are a mistake`() {
    let text = #"[{"id":"1","key":"a","secret":"x","rate_limiting":{},"rate_limit":{}}]"#
    let files = PretendFiles(contents: ["f": text])
    #expect(
      refusal { _ = try serve("--apps f --dialect reverb", files: files) }
        == "--apps: app '1' has rate_limiting and rate_limit; give one")
  }

  // MARK: Variables

  private func settings(
    _ lines: String, _ options: String = "--dialect reverb"
  ) throws -> ServeSettings {
    let text =
      "REVERB_APP_KEY=k\nREVERB_APP_SECRET=s\nREVERB_APP_ID=1\n"
      + lines.split(separator: " ").map { "REVERB_APP_RATE_\($0)\n" }.joined()
    return try serve(
      "--env-file .env --listen 127.0.0.1:1 " + options,
      files: PretendFiles(contents: [".env": text]))
  }

  private func limit(ofVariables lines: String) throws -> MessageRateLimit? {
    try settings(lines).server.applications[0].limits.messageRate
  }

  @Test func `Reverb's variables have the same meaning`() throws {
    #expect(try limit(ofVariables: "LIMITING_ENABLED=true") == expected(60, 60))
    let lines = "LIMITING_ENABLED=true LIMIT_MAX_ATTEMPTS=5 LIMIT_DECAY_SECONDS=2"
    for (more, ends) in [
      ("", false), (" LIMIT_TERMINATE=true", true), (" LIMIT_TERMINATE=false", false),
      (" LIMIT_TERMINATE=", false),
    ] {
      #expect(try limit(ofVariables: lines + more) == expected(5, 2, ends: ends))
    }
  }

  @Test(arguments: ["", "LIMITING_ENABLED=false", "LIMITING_ENABLED=1", "LIMITING_ENABLED="])
  func `without true the limit is off, as in Reverb`(line: String) throws {
    #expect(try limit(ofVariables: line + " LIMIT_MAX_ATTEMPTS=x") == nil)
  }

  @Test func `Reverb's variables set the rate limit too`() throws {
    let environment = [
      "REVERB_APP_KEY": "k", "REVERB_APP_SECRET": "s",
      "REVERB_APP_RATE_LIMITING_ENABLED": "(TRUE)", "REVERB_APP_RATE_LIMIT_MAX_ATTEMPTS": "7",
    ]
    let settings = try serve("--dialect reverb --listen 127.0.0.1:1", environment)
    #expect(settings.server.applications[0].limits.messageRate == expected(7, 60))
  }

  @Test(arguments: [
    ("LIMIT_MAX_ATTEMPTS", "0"), ("LIMIT_MAX_ATTEMPTS", "many"), ("LIMIT_DECAY_SECONDS", "1.5"),
    ("LIMIT_DECAY_SECONDS", "99999999999999999999"),
  ])
  func `a wrong number is told with its variable`(name: String, value: String) {
    #expect(
      refusal { _ = try settings("LIMITING_ENABLED=true \(name)=\(value)") }
        == "REVERB_APP_RATE_\(name) in .env: '\(value)' is not a whole number from 1 to 1000000000")
  }

  @Test(arguments: ["--dialect pusher", "--dialect soketi", ""])
  func `another dialect says that it has no rate limit`(options: String) throws {
    let settings = try settings("LIMITING_ENABLED=true LIMIT_MAX_ATTEMPTS=x", options)
    #expect(settings.server.applications[0].limits.messageRate == nil)
    let words =
      "REVERB_APP_RATE_LIMITING_ENABLED in .env is 'true', but only --dialect reverb has a rate limit"
    #expect(settings.warnings.map(\.text) == [words])
    #expect(try self.settings("LIMITING_ENABLED=false", options).warnings == [])
  }
}
