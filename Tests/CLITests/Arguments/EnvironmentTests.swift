import Testing

@testable import pusher_cli

struct `Credentials from the environment` {
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

  private static func merged(_ sources: [String: String]...) -> [String: String] {
    sources.reduce(into: [:]) { $0.merge($1) { first, _ in first } }
  }

  private static let sockudo = [
    "SOCKUDO_DEFAULT_APP_KEY": "dk", "SOCKUDO_DEFAULT_APP_SECRET": "ds",
    "SOCKUDO_DEFAULT_APP_ID": "4",
  ]

  private static let families = [
    "pusher": pusher, "reverb": reverb, "soketi": soketi, "sockudo": sockudo,
  ]

  @Test(
    arguments: """
      pusher trigger -c a -e x d => 1:ps@pk https://api-eu.pusher.com:443
      pusher subscribe a => pk https://ws-eu.pusher.com:443
      reverb trigger -c a -e x d => 2:rs@rk http://reverb.test:8080
      soketi trigger -c a -e x d => 3:ss@sk http://127.0.0.1:6001
      soketi SOKETI_PORT=7001 subscribe a => sk http://127.0.0.1:7001
      sockudo trigger -c a -e x d => 4:ds@dk http://127.0.0.1:6001
      sockudo PORT=7002 subscribe a => dk http://127.0.0.1:7002
      """ as Table)
  func `each family of variables names app, secret and server`(row: Table.Row) throws {
    row.expect(try row.settings(families: Self.families).serverText)
  }

  @Test(
    arguments: """
      PUSHER_KEY=k PUSHER_SECRET=s PUSHER_CLUSTER=us2 subscribe private-a
        => s@k https://ws-us2.pusher.com:443
      pusher PUSHER_KEY=k PUSHER_SECRET=s PUSHER_CLUSTER=us2 subscribe private-a
        => ps@pk https://ws-eu.pusher.com:443
      """ as Table)
  func `shorter names of variables come second`(row: Table.Row) throws {
    row.expect(try row.settings(families: Self.families).serverText)
  }

  @Test(
    arguments: """
      trigger -c a -e x d => 2:rs@rk http://10.0.0.1:9000
      subscribe a => rk http://reverb.test:8080
      """ as Table)
  func `Reverb's internal address is for the HTTP API only`(row: Table.Row) throws {
    let own = ["REVERB_INTERNAL_HOST": "10.0.0.1", "REVERB_INTERNAL_PORT": "9000"]
    row.expect(try row.settings(Self.merged(own, Self.reverb)).serverText)
  }

  @Test(
    arguments: """
      https://uk:us@api-ap1.pusher.com/apps/77 trigger -c a -e x d
        => 77:us@uk https://api-ap1.pusher.com:443
      http://k:s@localhost:6001/pre/apps/1 subscribe a => k http://localhost:6001/pre
      http://k:s@api.pusherapp.com/apps/1 subscribe a => k http://ws-mt1.pusher.com:80
      """ as Table)
  func `PUSHER_URL says it all`(row: Table.Row) throws {
    row.expect(try row.settings(after: "PUSHER_URL=").serverText)
  }

  @Test(arguments: [
    "hunter2", "https://hunter2@h/apps/1", "https://k:hunter2@h", "https://k:hunter2@/apps/1",
    "https://k:hunter2@h/apps/", "//k:hunter2@h/apps/1",
  ])
  func `a wrong PUSHER_URL is refused and its secret not repeated`(url: String) {
    #expect(
      refusal { _ = try subscribe("a", ["PUSHER_URL": url]) }
        == "PUSHER_URL is not of the form https://KEY:SECRET@api-CLUSTER.pusher.com/apps/ID")
  }

  @Test(
    arguments: """
      pusher reverb soketi trigger -c a -e x d => 1:ps@pk https://api-eu.pusher.com:443
      pusher reverb subscribe --key rk private-a => rs@rk http://reverb.test:8080
      pusher trigger --key K --app-id 9 --host h --port 1 -c a -e x d => 9:ps@K https://h:1
      PUSHER_APP_SECRET=s subscribe --key K private-a => s@K https://ws-mt1.pusher.com:443
      """ as Table)
  func `families do not mix; PUSHER_ or the family of the key comes first`(row: Table.Row) throws {
    row.expect(try row.settings(families: Self.families).serverText)
  }

  @Test(
    arguments: ["BROADCAST_CONNECTION=", "BROADCAST_DRIVER="],
    """
    reverb pusher reverb subscribe a => rk …
    pusher pusher reverb subscribe a => pk …
    log pusher reverb subscribe a => pk …
    pusher reverb subscribe a => rk …
    """ as Table)
  func `the framework's choice of family is followed`(variable: String, row: Table.Row) throws {
    row.expect(try row.settings(after: variable, families: Self.families).serverText)
  }

  @Test func `BROADCAST_CONNECTION wins over BROADCAST_DRIVER`() throws {
    let environment = Self.merged(
      Self.pusher, Self.reverb, ["BROADCAST_CONNECTION": "pusher", "BROADCAST_DRIVER": "reverb"])
    #expect(try subscribe("a", environment).connection.key == "pk")
  }

  @Test(arguments: ["", "null", "(null)", "empty", "(empty)", "NULL", "'null'"])
  func `an empty variable and Laravel's words for nothing are nothing`(word: String) throws {
    let environment = Self.merged(
      ["PUSHER_APP_KEY": word, "PUSHER_HOST": word, "PUSHER_PORT": word, "PUSHER_SCHEME": word],
      ["PUSHER_KEY": "k", "PUSHER_APP_CLUSTER": "eu", "PUSHER_APP_SECRET": word])
    #expect(try subscribe("a", environment).connection.summary == "k https://ws-eu.pusher.com:443")
    #expect(
      refusal { _ = try subscribe("private-a", environment) }?.contains("--secret-file") == true)
    guard !word.isEmpty else { return }
    // The program's own variables have no words of Laravel.
    let file = ["PUSHER_CLI_ENV_FILE": word]
    #expect(
      refusal { _ = try subscribe("--key k a", file) }?.hasPrefix("PUSHER_CLI_ENV_FILE") == true)
  }

  @Test func `Reverb's path is taken by clients, and serve says that it has none`() throws {
    let named = Self.merged(Self.reverb, ["REVERB_SERVER_PATH": "/ws", "REVERB_PATH": "live"])
    #expect(try subscribe("a", named).connection.path == "/live")
    #expect(try trigger("-c a -e x d", named).connection.path == "/live")
    let inner = Self.merged(Self.reverb, ["REVERB_SERVER_PATH": "/ws", "REVERB_PATH": "null"])
    for (line, path) in [("a", "/ws"), ("--path /own a", "/own"), ("--cluster eu a", "")] {
      #expect(try subscribe(line, inner).connection.path == path)
    }
    let rows = try ConfigSettings(
      arguments("config"), environment: inner, files: PretendFiles().access
    ).rows
    #expect(rows.contains(.init(name: "path", value: "/ws", origin: "REVERB_SERVER_PATH")))
    let lines = named.map { "\($0.key)=\($0.value)\n" }.joined()
    let files = PretendFiles(contents: [".env": lines + "REVERB_HOST=127.0.0.1\n"])
    #expect(
      try serve("--env-file .env --port 1", files: files).warnings.map(\.text) == [
        ".env: serve does not read REVERB_PATH, REVERB_SERVER_PATH; docs/moving.md says what to set"
      ])
  }

  @Test(
    arguments: """
      BROADCAST_CONNECTION=log subscribe a
        => BROADCAST_CONNECTION is 'log': the app writes its events to its log, so none comes here;
        set it to reverb or pusher
      BROADCAST_CONNECTION=log check a
        => BROADCAST_CONNECTION is 'log': the app writes its events to its log, so none comes here;
        set it to reverb or pusher
      BROADCAST_DRIVER=null subscribe a
        => BROADCAST_DRIVER is 'null': the app drops its events, so none comes here; set it to reverb
        or pusher
      BROADCAST_CONNECTION=log subscribe --key k --host h a =>
      BROADCAST_CONNECTION=log subscribe --local a =>
      """ as Table)
  func `subscribe and check tell a broadcaster that sends events elsewhere`(row: Table.Row) throws {
    row.expect(try row.settings(Self.reverb).warningText)
  }

  @Test(arguments: ["api-eu.pusher.com", "ws-eu.pusher.com", "API-eu.Pusher.com"])
  func `a host of pusher.com names the cluster`(host: String) throws {
    let environment = ["PUSHER_APP_KEY": "k", "PUSHER_HOST": host, "PUSHER_APP_CLUSTER": "mt1"]
    #expect(try subscribe("a", environment).connection.host == "ws-eu.pusher.com")
    #expect(try subscribe("a --key k --host \(host)").connection.host == "ws-eu.pusher.com")
  }

  @Test(
    arguments: """
      PUSHER_APP_KEY=k PUSHER_HOST=api.pusherapp.com subscribe a
        => k https://ws-mt1.pusher.com:443
      reverb REVERB_HOST=0.0.0.0 subscribe a => rk http://127.0.0.1:8080
      subscribe --key k --host [::] a => k https://::1:443
      subscribe --key k --host [::1] a => k https://::1:443
      """ as Table)
  func `a host without a cluster is the cluster, an address this machine`(row: Table.Row) throws {
    row.expect(try row.settings(families: Self.families).serverText)
  }

  @Test(arguments: [
    ("http", "http://h:80"), ("https", "https://h:443"), ("ws", "http://h:80"),
    ("wss", "https://h:443"), ("HTTPS", "https://h:443"),
  ])
  func `a scheme is http or ws, each also secure`(scheme: String, server: String) throws {
    let environment = ["PUSHER_APP_KEY": "k", "PUSHER_HOST": "h", "PUSHER_SCHEME": scheme]
    #expect(try subscribe("a", environment).connection.summary == "k " + server)
  }

  @Test(
    arguments: """
      PUSHER_SCHEME=ftp subscribe --key k a
        => PUSHER_SCHEME: 'ftp' is not one of https, http, wss, ws
      PUSHER_PORT=x subscribe --key k a => PUSHER_PORT: 'x' is not a port from 1 to 65535
      PUSHER_PORT=0 subscribe --key k a => PUSHER_PORT: '0' is not a port from 1 to 65535
      PUSHER_HOST=https://h subscribe --key k a
        => PUSHER_HOST: 'https://h' is not a host name; give scheme, port and path separately
      PUSHER_APP_CLUSTER=e.u subscribe --key k a
        => PUSHER_APP_CLUSTER: 'e.u' is not a cluster name such as eu or mt1
      PUSHER_CLI_OUTPUT=xml subscribe --key k a
        => PUSHER_CLI_OUTPUT: 'xml' is not one of json, pretty, raw
      PUSHER_CLI_COLOR=blue subscribe --key k a
        => PUSHER_CLI_COLOR: 'blue' is not one of auto, always, never
      reverb REVERB_PATH=a?b subscribe a => REVERB_PATH: 'a?b' is not a path such as /realtime
      REVERB_APP_KEY=rk subscribe a
        => the app key is for a Reverb server, but no host is set: give --host or REVERB_HOST
      PUSHER_APP_KEY= subscribe a => no app key…
      pusher reverb soketi PUSHER_APP_SECRET= trigger -c a -e x d
        => no secret: give --secret-file or PUSHER_APP_SECRET
      """ as Table)
  func `a wrong or missing variable is named`(row: Table.Row) {
    row.expectRefusal(families: Self.families)
  }

  @Test func `a cluster given as an option leaves the environment's server out`() throws {
    let environment = Self.merged(
      ["PUSHER_HOST": "h", "PUSHER_PORT": "6001", "PUSHER_SCHEME": "http"], Self.pusher)
    let connection = try subscribe("--cluster us3 a", environment).connection
    #expect(connection.summary == "pk https://ws-us3.pusher.com:443")
  }

  @Test(
    arguments: """
      pusher reverb trigger --local -c a -e x d => 1:local@local http://127.0.0.1:6001
      trigger --local --port 7001 -c a -e x d => 1:local@local http://127.0.0.1:7001
      """ as Table)
  func `local names server and credentials, whatever the environment holds`(row: Table.Row) throws {
    row.expect(try row.settings(families: Self.families).serverText)
  }

  @Test func `the secret's file can be named by a variable or by systemd`() throws {
    let files = PretendFiles(contents: ["/s": "fs\n", "/run/c/secret": "cs\n"])
    func secret(_ environment: [String: String]) throws -> String {
      let settings = try subscribe(
        "private-a", Self.merged(environment, ["PUSHER_APP_KEY": "k"]), files: files)
      return String(settings.summary.prefix { $0 != "@" })
    }
    let service = ["CREDENTIALS_DIRECTORY": "/run/c"]
    #expect(try secret(Self.merged(service, ["PUSHER_APP_SECRET_FILE": "/s"])) == "fs")
    #expect(try secret(service) == "cs")
    let message = refusal { _ = try secret(["CREDENTIALS_DIRECTORY": "/run/other"]) }
    #expect(message?.hasPrefix("private-a needs") == true)
  }

  @Test func `a secret nobody needs is not read`() throws {
    let environment = ["PUSHER_APP_KEY": "k", "PUSHER_APP_SECRET_FILE": "/missing"]
    #expect(try subscribe("a", environment).authorization == .unavailable)
    #expect(
      refusal { _ = try subscribe("private-a", environment) }?.hasPrefix(
        "PUSHER_APP_SECRET_FILE: cannot read '/missing': no such file or directory; ") == true)
  }
}

struct `Colour` {
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
