import Testing

@testable import pusher_cli

@Suite struct `Credentials from the environment` {
  private static let pusher = [
    "PUSHER_APP_KEY": "pk", "PUSHER_APP_SECRET": "ps", "PUSHER_APP_ID": "1",
    "PUSHER_APP_CLUSTER": "eu",
  ]
  private static let reverb = [
    "REVERB_APP_KEY": "rk", "REVERB_APP_SECRET": "rs", "REVERB_APP_ID": "2",
    "REVERB_HOST": "reverb.test", "REVERB_PORT": "8080", "REVERB_SCHEME": "http",
  ]
  private static let soketi = [
    "SOKETI_DEFAULT_APP_KEY": "sk", "SOKETI_DEFAULT_APP_SECRET": "ss", "SOKETI_DEFAULT_APP_ID": "3",
  ]
  private static let event = "-c a -e x data"

  private static func merged(_ sources: [String: String]...) -> [String: String] {
    sources.reduce(into: [:]) { $0.merge($1) { first, _ in first } }
  }

  @Test func `the PUSHER_ family`() throws {
    let settings = try trigger(Self.event, Self.pusher)
    #expect(settings.connection.key == "pk")
    #expect(settings.secret == Secret("ps"))
    #expect(settings.appID == "1")
    #expect(settings.connection.host == "api-eu.pusher.com")
    #expect(settings.connection.port == 443)
    #expect(settings.connection.isSecure)
    #expect(try subscribe("a", Self.pusher).connection.host == "ws-eu.pusher.com")
  }

  @Test func `shorter names come second`() throws {
    let names = ["PUSHER_KEY": "k", "PUSHER_SECRET": "s", "PUSHER_CLUSTER": "us2"]
    let settings = try subscribe("private-a", names)
    #expect(settings.connection.key == "k")
    #expect(settings.authorization == .secret(Secret("s"), nil))
    #expect(settings.connection.host == "ws-us2.pusher.com")
    #expect(try subscribe("a", Self.merged(Self.pusher, names)).connection.key == "pk")
  }

  @Test func `the REVERB_ family`() throws {
    let settings = try trigger(Self.event, Self.reverb)
    #expect(settings.connection.host == "reverb.test")
    #expect(settings.connection.port == 8080)
    #expect(!settings.connection.isSecure)
    #expect(settings.secret == Secret("rs"))
    #expect(settings.appID == "2")
  }

  @Test func `Reverb's internal address is for the HTTP API only`() throws {
    let environment = Self.merged(
      Self.reverb, ["REVERB_INTERNAL_HOST": "10.0.0.1", "REVERB_INTERNAL_PORT": "9000"])
    #expect(try trigger(Self.event, environment).connection.host == "10.0.0.1")
    #expect(try trigger(Self.event, environment).connection.port == 9000)
    #expect(try subscribe("a", environment).connection.host == "reverb.test")
  }

  @Test func `a Reverb key is never sent to pusher.com`() {
    let message = refusal { _ = try subscribe("a", ["REVERB_APP_KEY": "rk"]) }
    #expect(
      message
        == "the app key is for a Reverb server, but no host is set: give --host or REVERB_HOST")
  }

  @Test func `the SOKETI_ family is on this machine`() throws {
    let settings = try trigger(Self.event, Self.soketi)
    #expect(settings.connection.host == "127.0.0.1")
    #expect(settings.connection.port == 6001)
    #expect(!settings.connection.isSecure)
    #expect(settings.secret == Secret("ss"))
    let moved = Self.merged(Self.soketi, ["SOKETI_PORT": "7001"])
    #expect(try subscribe("a", moved).connection.port == 7001)
  }

  @Test func `PUSHER_URL says it all`() throws {
    let settings = try trigger(
      Self.event, ["PUSHER_URL": "https://uk:us@api-ap1.pusher.com/apps/77"])
    #expect(settings.connection.key == "uk")
    #expect(settings.secret == Secret("us"))
    #expect(settings.appID == "77")
    #expect(settings.connection.host == "api-ap1.pusher.com")
    let own = try subscribe("a", ["PUSHER_URL": "http://k:s@localhost:6001/pre/apps/1"])
    #expect(own.connection.host == "localhost")
    #expect(own.connection.port == 6001)
    #expect(!own.connection.isSecure)
    #expect(own.connection.path == "/pre")
    let bare = try subscribe("a", ["PUSHER_URL": "http://k:s@api.pusherapp.com/apps/1"])
    #expect(bare.connection.host == "ws-mt1.pusher.com")
  }

  @Test(arguments: [
    "hunter2", "https://hunter2@h/apps/1", "https://k:hunter2@h", "https://k:hunter2@/apps/1",
    "https://k:hunter2@h/apps/", "//k:hunter2@h/apps/1",
  ])
  func `a wrong PUSHER_URL is refused and its secret not repeated`(url: String) throws {
    let message = try #require(refusal { _ = try subscribe("a", ["PUSHER_URL": url]) })
    #expect(message.hasPrefix("PUSHER_URL is not of the form"))
    #expect(!message.contains("hunter2"))
  }

  @Test func `families do not mix, PUSHER_ comes first`() throws {
    let both = Self.merged(Self.pusher, Self.reverb, Self.soketi)
    let settings = try trigger(Self.event, both)
    #expect(settings.connection.host == "api-eu.pusher.com")
    #expect(settings.secret == Secret("ps"))
    var lacking = both
    lacking["PUSHER_APP_SECRET"] = nil
    #expect(
      refusal { _ = try trigger(Self.event, lacking) }
        == "no secret: give --secret-file or PUSHER_APP_SECRET")
  }

  @Test(arguments: ["BROADCAST_CONNECTION", "BROADCAST_DRIVER"])
  func `the framework's choice of family is followed`(variable: String) throws {
    let both = Self.merged(Self.pusher, Self.reverb)
    #expect(try subscribe("a", Self.merged(both, [variable: "reverb"])).connection.key == "rk")
    #expect(try subscribe("a", Self.merged(both, [variable: "pusher"])).connection.key == "pk")
    #expect(try subscribe("a", Self.merged(both, [variable: "log"])).connection.key == "pk")
    #expect(
      try subscribe("a", Self.merged(Self.reverb, [variable: "pusher"])).connection.key == "rk")
  }

  @Test func `the newer name of that choice wins`() throws {
    let environment = Self.merged(
      Self.pusher, Self.reverb,
      ["BROADCAST_CONNECTION": "pusher", "BROADCAST_DRIVER": "reverb"])
    #expect(try subscribe("a", environment).connection.key == "pk")
  }

  @Test func `a key given as an option finds its own family`() throws {
    let both = Self.merged(Self.pusher, Self.reverb)
    #expect(try subscribe("--key rk private-a", both).connection.host == "reverb.test")
    #expect(try subscribe("--key rk private-a", both).authorization == .secret(Secret("rs"), nil))
  }

  @Test func `options override single members`() throws {
    let settings = try trigger("--key K --app-id 9 --host h --port 1 " + Self.event, Self.pusher)
    #expect(settings.connection.key == "K")
    #expect(settings.appID == "9")
    #expect(settings.connection.host == "h")
    #expect(settings.connection.port == 1)
    #expect(settings.secret == Secret("ps"))
  }

  @Test func `a secret alone in the environment serves a key given as an option`() throws {
    let settings = try subscribe("--key K private-a", ["PUSHER_APP_SECRET": "s"])
    #expect(settings.authorization == .secret(Secret("s"), nil))
  }

  @Test func `an empty variable is unset`() throws {
    let environment = Self.merged(
      ["PUSHER_HOST": "", "PUSHER_PORT": "", "PUSHER_SCHEME": "", "PUSHER_APP_KEY": ""],
      ["PUSHER_KEY": "k", "PUSHER_APP_CLUSTER": "eu"])
    let settings = try subscribe("a", environment)
    #expect(settings.connection.key == "k")
    #expect(settings.connection.host == "ws-eu.pusher.com")
    #expect(refusal { _ = try subscribe("a", ["PUSHER_APP_KEY": ""]) } != nil)
  }

  @Test(arguments: ["null", "(null)", "empty", "(empty)", "NULL", "'null'"])
  func `Laravel's words for nothing are nothing`(word: String) throws {
    let environment = Self.merged(
      ["PUSHER_APP_KEY": word, "PUSHER_HOST": word, "PUSHER_PORT": word, "PUSHER_SCHEME": word],
      ["PUSHER_KEY": "k", "PUSHER_APP_CLUSTER": "eu", "PUSHER_APP_SECRET": word])
    let settings = try subscribe("a", environment)
    #expect(settings.connection.key == "k")
    #expect(settings.connection.host == "ws-eu.pusher.com")
    #expect(
      refusal { _ = try subscribe("private-a", environment) }?.contains("--secret-file") == true)
    let file = ["PUSHER_CLI_ENV_FILE": word]
    #expect(
      refusal { _ = try subscribe("--key k a", file) }?.hasPrefix("PUSHER_CLI_ENV_FILE") == true)
  }

  @Test func `Reverb's path is taken by clients, and serve says that it has none`() throws {
    let named = Self.merged(Self.reverb, ["REVERB_SERVER_PATH": "/ws", "REVERB_PATH": "live"])
    #expect(try subscribe("a", named).connection.path == "/live")
    #expect(try trigger(Self.event, named).connection.path == "/live")
    let inner = Self.merged(Self.reverb, ["REVERB_SERVER_PATH": "/ws", "REVERB_PATH": "null"])
    #expect(try subscribe("a", inner).connection.path == "/ws")
    #expect(try subscribe("--path /own a", inner).connection.path == "/own")
    #expect(try subscribe("--cluster eu a", inner).connection.path.isEmpty)
    let wrong = Self.merged(Self.reverb, ["REVERB_PATH": "a?b"])
    #expect(
      refusal { _ = try subscribe("a", wrong) }
        == "REVERB_PATH: 'a?b' is not a path such as /realtime")
    let rows = try ConfigSettings(
      arguments("config"), environment: inner, files: PretendFiles().access
    ).rows
    let row = ConfigSettings.Row(name: "path", value: "/ws", origin: "REVERB_SERVER_PATH")
    #expect(rows.contains(row))
    let lines = named.map { "\($0.key)=\($0.value)\n" }.joined()
    let files = PretendFiles(contents: [".env": lines + "REVERB_HOST=127.0.0.1\n"])
    #expect(
      try serve("--env-file .env --port 1", files: files).warnings.map(\.text) == [
        ".env: serve does not read REVERB_PATH, REVERB_SERVER_PATH; docs/moving.md says what to set"
      ])
  }

  @Test func `subscribe and check tell a broadcaster that sends events elsewhere`() throws {
    let environment = Self.merged(Self.reverb, ["BROADCAST_CONNECTION": "log"])
    let words =
      "BROADCAST_CONNECTION is 'log': the app writes its events to its log, so none comes here; "
      + "set it to reverb or pusher"
    let settings = try subscribe("a", environment)
    #expect(settings.warnings.map(\.text) == [words])
    let null = Self.merged(Self.reverb, ["BROADCAST_DRIVER": "null"])
    #expect(
      try subscribe("a", null).warnings.map(\.text) == [
        "BROADCAST_DRIVER is 'null': the app drops its events, so none comes here; "
          + "set it to reverb or pusher"
      ])
    let check = try CheckSettings(
      arguments("check a"), environment: environment, files: PretendFiles().access)
    #expect(check.warnings.map(\.text) == [words])
    for line in ["--key k --host h a", "--local a"] {
      #expect(try subscribe(line, environment).warnings.isEmpty, "\(line)")
    }
  }

  @Test(arguments: ["api-eu.pusher.com", "ws-eu.pusher.com", "API-eu.Pusher.com"])
  func `a host of pusher.com names the cluster`(host: String) throws {
    let environment = ["PUSHER_APP_KEY": "k", "PUSHER_HOST": host, "PUSHER_APP_CLUSTER": "mt1"]
    #expect(try subscribe("a", environment).connection.host == "ws-eu.pusher.com")
    #expect(try subscribe("a --key k --host \(host)").connection.host == "ws-eu.pusher.com")
  }

  @Test func `the host without a cluster is the first cluster`() throws {
    let environment = ["PUSHER_APP_KEY": "k", "PUSHER_HOST": "api.pusherapp.com"]
    #expect(try subscribe("a", environment).connection.host == "ws-mt1.pusher.com")
  }

  @Test func `any address means this machine`() throws {
    let environment = Self.merged(["REVERB_HOST": "0.0.0.0"], Self.reverb)
    #expect(try subscribe("a", environment).connection.host == "127.0.0.1")
    #expect(try subscribe("--key k --host [::] a").connection.host == "::1")
    #expect(try subscribe("--key k --host [::1] a").connection.host == "::1")
  }

  @Test(arguments: [
    ("http", false), ("https", true), ("ws", false), ("wss", true), ("HTTPS", true),
  ])
  func `a scheme is http or ws, each also secure`(scheme: String, isSecure: Bool) throws {
    let environment = ["PUSHER_APP_KEY": "k", "PUSHER_HOST": "h", "PUSHER_SCHEME": scheme]
    let connection = try subscribe("a", environment).connection
    #expect(connection.isSecure == isSecure)
    #expect(connection.port == (isSecure ? 443 : 80))
  }

  @Test(arguments: [
    ("PUSHER_SCHEME", "ftp", "PUSHER_SCHEME: 'ftp' is not one of https, http, wss, ws"),
    ("PUSHER_PORT", "x", "PUSHER_PORT: 'x' is not a port from 1 to 65535"),
    ("PUSHER_PORT", "0", "PUSHER_PORT: '0' is not a port from 1 to 65535"),
    (
      "PUSHER_HOST", "https://h",
      "PUSHER_HOST: 'https://h' is not a host name; give scheme, port and path separately"
    ),
    (
      "PUSHER_APP_CLUSTER", "e.u",
      "PUSHER_APP_CLUSTER: 'e.u' is not a cluster name such as eu or mt1"
    ),
    ("PUSHER_CLI_OUTPUT", "xml", "PUSHER_CLI_OUTPUT: 'xml' is not one of json, pretty, raw"),
    ("PUSHER_CLI_COLOR", "blue", "PUSHER_CLI_COLOR: 'blue' is not one of auto, always, never"),
  ])
  func `a wrong variable is named`(variable: String, value: String, message: String) {
    #expect(refusal { _ = try subscribe("--key k a", [variable: value]) } == message)
  }

  @Test func `a cluster given as an option leaves the environment's server out`() throws {
    let environment = Self.merged(
      ["PUSHER_HOST": "h", "PUSHER_PORT": "6001", "PUSHER_SCHEME": "http"], Self.pusher)
    let connection = try subscribe("--cluster us3 a", environment).connection
    #expect(connection.host == "ws-us3.pusher.com")
    #expect(connection.port == 443)
    #expect(connection.isSecure)
  }

  @Test func `local names server and credentials, whatever the environment holds`() throws {
    let settings = try trigger("--local " + Self.event, Self.merged(Self.pusher, Self.reverb))
    #expect(settings.connection.host == "127.0.0.1")
    #expect(settings.connection.port == 6001)
    #expect(!settings.connection.isSecure)
    #expect(settings.connection.key == "local")
    #expect(settings.appID == "1")
    #expect(settings.secret == Secret("local"))
    #expect(try trigger("--local --port 7001 " + Self.event).connection.port == 7001)
  }

  @Test func `the secret's file can be named by a variable or by systemd`() throws {
    let files = PretendFiles(contents: ["/s": "fs\n", "/run/c/secret": "cs\n"])
    let key = ["PUSHER_APP_KEY": "k"]
    let named = Self.merged(
      key, ["PUSHER_APP_SECRET_FILE": "/s", "CREDENTIALS_DIRECTORY": "/run/c"])
    #expect(
      try subscribe("private-a", named, files: files).authorization == .secret(Secret("fs"), nil))
    let service = Self.merged(key, ["CREDENTIALS_DIRECTORY": "/run/c"])
    #expect(
      try subscribe("private-a", service, files: files).authorization == .secret(Secret("cs"), nil))
    let other = Self.merged(key, ["CREDENTIALS_DIRECTORY": "/run/other"])
    #expect(
      refusal { _ = try subscribe("private-a", other, files: files) }?.hasPrefix("private-a needs")
        == true)
  }

  @Test func `a secret nobody needs is not read`() throws {
    let environment = ["PUSHER_APP_KEY": "k", "PUSHER_APP_SECRET_FILE": "/missing"]
    #expect(try subscribe("a", environment).authorization == .unavailable)
    #expect(
      refusal { _ = try subscribe("private-a", environment) }
        == "PUSHER_APP_SECRET_FILE: cannot read '/missing': no such file or directory; it must contain only the app secret, on one line"
    )
  }
}

@Suite struct `Colour` {
  @Test(
    arguments: [
      ("", [:], ColorChoice.auto),
      ("--color always", ["NO_COLOR": "1"], .always),
      ("--color never", ["FORCE_COLOR": "1"], .never),
      ("", ["NO_COLOR": "1", "FORCE_COLOR": "1"], .never),
      ("", ["NO_COLOR": ""], .auto),
      ("", ["FORCE_COLOR": "1", "TERM": "dumb"], .auto),
      ("", ["CLICOLOR_FORCE": "1"], .auto),
      ("-o pretty", ["FORCE_COLOR": "1", "TERM": "dumb"], .always),
      ("-o pretty", ["CLICOLOR_FORCE": "1"], .always),
      ("-o pretty", ["FORCE_COLOR": "1", "NO_COLOR": "1"], .never),
      ("-o raw", ["FORCE_COLOR": "1"], .auto),
      ("-F %d", ["FORCE_COLOR": "1", "PUSHER_CLI_OUTPUT": "pretty"], .auto),
      ("--color always", ["FORCE_COLOR": "0"], .always),
      ("--color auto", ["NO_COLOR": "1"], .never),
      ("", ["FORCE_COLOR": "0"], .auto),
      ("", ["FORCE_COLOR": "false"], .auto),
      ("", ["TERM": "dumb"], .never),
      ("", ["PUSHER_CLI_COLOR": "always", "NO_COLOR": "1"], .auto),
      ("-o pretty", ["PUSHER_CLI_COLOR": "always", "NO_COLOR": "1"], .always),
      ("", ["PUSHER_CLI_COLOR": "never", "FORCE_COLOR": "1"], .never),
      ("--color never", ["PUSHER_CLI_COLOR": "always"], .never),
    ] as [(String, [String: String], ColorChoice)])
  func `the option wins over NO_COLOR, that over FORCE_COLOR`(
    typed: String, environment: [String: String], choice: ColorChoice
  ) throws {
    #expect(try subscribe("--local a " + typed, environment).printing.form.color == choice)
  }
}
