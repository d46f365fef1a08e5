import PusherCore
import PusherServer
import Testing

@testable import pusher_cli

@Suite struct `Settings of serve` {
  @Test func `defaults are local and told`() throws {
    let settings = try serve()
    #expect(settings.server.listen.host == "127.0.0.1")
    #expect(settings.server.listen.port == 6001)
    #expect(identity(settings) == ["1", "local", "local"])
    #expect(settings.defaulted == ["app id '1'", "key 'local'", "secret 'local'"])
    #expect(settings.server.applications[0].allowsClientEvents)
    #expect(settings.server.authEndpoints == .thisMachine)
    #expect(settings.warnings == [])
  }

  @Test func `webhooks that the dialect's server would not send are told`() throws {
    #expect(try serve("--webhook http://h/ --dialect soketi").warnings == [])
    #expect(
      try serve("--webhook http://h/ --dialect reverb").warnings
        == ["Reverb has no webhooks; serve --dialect reverb sends them anyway"])
    #expect(try serve("--dialect reverb").warnings == [])
  }

  private static func reverb(_ lines: String) -> PretendFiles {
    PretendFiles(contents: [
      ".env": "REVERB_APP_KEY=k\nREVERB_APP_SECRET=s\nREVERB_APP_ID=1\n" + lines
    ])
  }

  @Test(arguments: [
    ("HOST=localhost", "127.0.0.1"), ("HOST=127.0.0.2", "127.0.0.2"), ("HOST=0.0.0.0", "127.0.0.1"),
    ("HOST=::1", "::1"), ("HOST=[::1]", "::1"),
  ])
  func `serve listens where a file says that clients connect`(line: String, host: String) throws {
    let files = Self.reverb("REVERB_\(line)\nREVERB_PORT=21080\nREVERB_SCHEME=http\n")
    let settings = try serve("--env-file .env", files: files)
    #expect(settings.listen.host == host)
    #expect(settings.listen.port == 21_080)
    #expect(settings.warnings == [])
    let typed = try serve("--env-file .env --listen 127.0.0.1:7", files: files)
    #expect(typed.listen.port == 7)
  }

  private static func soketi(_ lines: String) -> PretendFiles {
    PretendFiles(contents: [
      "soketi.env": "SOKETI_DEFAULT_APP_ID=7\nSOKETI_DEFAULT_APP_KEY=k\n"
        + "SOKETI_DEFAULT_APP_SECRET=s\nSOKETI_PORT=7001\nSOKETI_DEBUG=1\n" + lines
    ])
  }

  @Test func `soketi's variables name app and port, and unread settings are told`() throws {
    let settings = try serve("--env-file soketi.env", files: Self.soketi(""))
    let app = try #require(settings.server.applications.first)
    #expect([app.id, app.key, app.secret] == ["7", "k", "s"])
    #expect(settings.listen.host == "127.0.0.1")
    #expect(settings.listen.port == 7001)
    #expect(settings.warnings == [])
    let one = Self.soketi("SOKETI_DEFAULT_APP_MAX_CONNS=9\nSOKETI_SSL_CERT=\nOTHER=1\n")
    #expect(
      try serve("--env-file soketi.env", files: one).warnings.map(\.text) == [
        "soketi.env: serve does not read SOKETI_DEFAULT_APP_MAX_CONNS; "
          + "docs/moving.md says what to set"
      ])
    let many = Self.soketi("SOKETI_E=1\nSOKETI_D=1\nSOKETI_A=1\nSOKETI_C=1\nSOKETI_B=1\n")
    #expect(
      try serve("--env-file soketi.env", files: many).warnings.map(\.text) == [
        "soketi.env: serve does not read SOKETI_A, SOKETI_B, SOKETI_C and 2 more; "
          + "docs/moving.md says what to set"
      ])
  }

  @Test func `unread limits of Reverb are told`() throws {
    let place = "REVERB_HOST=localhost\nREVERB_PORT=21080\nREVERB_SCHEME=http\n"
    let usual = "REVERB_SERVER_HOST=0.0.0.0\nREVERB_SERVER_PORT=8080\n"
    #expect(
      try serve("--env-file .env", files: Self.reverb(place + usual)).warnings == [])
    let limited = Self.reverb(
      place + "REVERB_APP_MAX_CONNECTIONS=9\nREVERB_MAX_REQUEST_SIZE=20000\n")
    #expect(
      try serve("--env-file .env", files: limited).warnings.map(\.text) == [
        ".env: serve does not read REVERB_APP_MAX_CONNECTIONS, REVERB_MAX_REQUEST_SIZE; "
          + "docs/moving.md says what to set"
      ])
    let paced = Self.reverb(place + "REVERB_APP_RATE_LIMITING_ENABLED=true\n")
    #expect(try serve("--env-file .env --dialect reverb", files: paced).warnings == [])
    // The limits are not those of the app that is served.
    let other = Self.reverb(
      "REVERB_APP_MAX_CONNECTIONS=9\nPUSHER_APP_KEY=p\nPUSHER_APP_SECRET=s\nPUSHER_APP_ID=2\n")
    #expect(try serve("--env-file .env", files: other).warnings == [])
  }

  @Test(arguments: [
    (
      "REVERB_HOST=ws.test\nREVERB_PORT=443\n",
      "REVERB_HOST in .env is 'ws.test', which is not this machine; serve listens on 127.0.0.1:6001 "
        + "(--listen sets another address)"
    ),
    (
      "REVERB_PORT=8080\n",
      "REVERB_PORT in .env sets a port, but no host is set; serve listens on 127.0.0.1:6001 "
        + "(--listen sets another address)"
    ),
    (
      "REVERB_HOST=localhost\nREVERB_PORT=65536\n",
      "REVERB_PORT in .env: '65536' is not a port from 1 to 65535; serve listens on 127.0.0.1:6001 "
        + "(--listen sets another address)"
    ),
  ])
  func `a warning says why serve does not listen where a file says`(lines: String, warning: String)
    throws
  {
    let settings = try serve("--env-file .env", files: Self.reverb(lines))
    #expect(settings.listen.port == 6001)
    #expect(settings.warnings.map(\.text) == [warning])
  }

  @Test(arguments: [
    ("REVERB_SCHEME=https\n", "REVERB_SCHEME in .env is 'https', but serve speaks http"),
    (
      "",
      "REVERB_PORT in .env sets a port without a scheme, which means https, but serve speaks http"
    ),
  ])
  func `a warning says when clients with the file would speak TLS`(line: String, words: String)
    throws
  {
    let lines = "REVERB_HOST=localhost\nREVERB_PORT=8443\n" + line
    let files = Self.reverb(lines)
    let settings = try serve("--env-file .env", files: files)
    #expect(settings.listen.port == 8443)
    #expect(
      settings.warnings.map(\.text) == [
        words + ": set the scheme to http, or give --tls-cert and --tls-key"
      ])
  }

  @Test func `options and the environment replace them`() throws {
    let files = PretendFiles(contents: ["s": "secret\n"])
    let typed = try serve("--key k --app-id 1 --secret-file s --no-client-events", files: files)
    #expect(identity(typed) == ["1", "k", "secret"])
    #expect(typed.defaulted == [])
    #expect(!typed.server.applications[0].allowsClientEvents)
    let environment = ["PUSHER_APP_KEY": "pk", "PUSHER_APP_ID": "7", "PUSHER_APP_SECRET": "ps"]
    let found = try serve("", environment)
    #expect(identity(found) == ["7", "pk", "ps"])
  }

  @Test(arguments: [
    ("127.0.0.1:0", "127.0.0.1", 0), (":7001", "127.0.0.1", 7001), ("[::1]:1", "::1", 1),
    ("localhost:65535", "localhost", 65_535),
  ])
  func `an address to listen on`(text: String, host: String, port: Int) throws {
    let settings = try serve("--listen " + text)
    #expect(settings.server.listen.host == host)
    #expect(settings.server.listen.port == port)
  }

  @Test(arguments: ["6001", "h", "h:", "h:x", "h:65536", "::1:80", "[]:1", "http://h:1"])
  func `a wrong address is refused`(text: String) {
    #expect(
      refusal { _ = try serve("--listen " + text) }
        == "--listen: '\(text)' is not of the form HOST:PORT, such as 127.0.0.1:6001")
  }

  @Test(arguments: ["0.0.0.0:6001", "[::]:6001", "127.example.com:1", "laptop:80"])
  func `the known secret is not served where others can reach it`(address: String) throws {
    let message = try #require(refusal { _ = try serve("--listen " + address) })
    #expect(message.contains("give --secret-file, or PUSHER_APP_KEY"))
    let own = ["PUSHER_APP_KEY": "k", "PUSHER_APP_SECRET": "mine"]
    let settings = try serve("--listen " + address, own)
    #expect(settings.server.authEndpoints == .nobody && settings.warnings == [])
    let open = try serve("--auth-endpoints --listen " + address, own)
    #expect(open.server.authEndpoints == .everybody)
    #expect(open.warnings == [UsageWarning(Self.openEndpoints)])
  }

  @Test func `clients may compress unless told otherwise`() throws {
    #expect(try serve().server.acceptsCompression)
    #expect(try !serve("--no-compression").server.acceptsCompression)
  }

  @Test func `the endpoints can be switched off on this machine`() throws {
    #expect(try serve("--no-auth-endpoints").server.authEndpoints == .nobody)
  }

  private static let openEndpoints =
    "--auth-endpoints: everyone who reaches this server, also through a proxy, gets signatures "
    + "for every channel"

  @Test func `a name that a proxy needs warns of what is closed or open through it`()
    throws
  {
    let closed = try serve("--allow-host ws.example.com")
    #expect(closed.server.authEndpoints == .thisMachine)
    #expect(
      closed.warnings == [
        UsageWarning(
          "--allow-host ws.example.com: requests for this name or through a proxy cannot use the "
            + "authorisation endpoints, /faults and the console; --auth-endpoints opens the "
            + "endpoints to everyone, --no-auth-endpoints removes them")
      ])
    let open = try serve("--allow-host ws.example.com --auth-endpoints")
    #expect(open.warnings == [UsageWarning(Self.openEndpoints)])
    #expect(try serve("--allow-host ws.example.com --no-auth-endpoints").warnings == [])
    #expect(try serve("--allow-host shop.test").warnings == [])
    #expect(try serve("--auth-endpoints").warnings == [])
  }

  @Test func `origins and hosts are allowed by name`() throws {
    let settings = try serve(
      "--allow-origin https://A.example --allow-origin http://192.168.1.5:3000/ --allow-origin null "
        + "--allow-origin file:// --allow-host Dev.Example --allow-host ::2 --allow-host [fe80::1]")
    #expect(
      settings.server.access.origins.allowed.map(\.description).sorted() == [
        "file://", "http://192.168.1.5:3000", "https://a.example", "null",
      ])
    #expect(
      settings.server.access.hosts.allowed.map(\.description).sorted() == [
        "[::2]", "[fe80::1]", "dev.example",
      ])
    for wrong in ["a.example", "https://a.example/x", "*", "https://*.example", "https://"] {
      #expect(
        refusal { _ = try serve("--allow-origin " + wrong) }
          == "--allow-origin: '\(wrong)' is not of the form https://HOST or https://HOST:PORT")
    }
    for wrong in ["a.example:80", "http://a.example", "*.example", "[::1]:80"] {
      #expect(
        refusal { _ = try serve("--allow-host " + wrong) }
          == "--allow-host: '\(wrong)' is not a host name or address without a port")
    }
  }

  @Test func `only a server of this machine alone minds by which name it is asked for`() throws {
    #expect(try !serve("--listen 127.0.0.1:1").server.access.hosts.isPublic)
    #expect(try !serve("--listen localhost:1").server.access.hosts.isPublic)
    let own = ["PUSHER_APP_KEY": "k", "PUSHER_APP_SECRET": "mine"]
    #expect(try serve("--listen 0.0.0.0:1", own).server.access.hosts.isPublic)
  }

  @Test func `webhooks go to URLs of http and https`() throws {
    let settings = try serve("--webhook http://a/x --webhook https://b --webhook-delay 1ms")
    #expect(settings.server.applications[0].webhooks.map(\.host) == ["a", "b"])
    #expect(settings.server.webhooks.delay == .milliseconds(1))
    #expect(
      refusal { _ = try serve("--webhook ws://a") }
        == "--webhook: a webhook URL must begin with http:// or https://")
    #expect(refusal { _ = try serve("--webhook a") }?.hasPrefix("--webhook: ") == true)
  }

  @Test func `two things do not share standard output`() {
    #expect(
      refusal { _ = try serve("--log-events --print-env") }
        == "--log-events and --print-env both print on standard output; give one")
  }

  @Test func `certificate and key come together`() throws {
    let files = PretendFiles(contents: ["c": "", "k": ""])
    #expect(refusal { _ = try serve("--tls-cert c", files: files) } == "--tls-cert needs --tls-key")
    #expect(refusal { _ = try serve("--tls-key k", files: files) } == "--tls-key needs --tls-cert")
    let server = try serve("--tls-cert c --tls-key k", files: files).server
    #expect([server.certificate?.file, server.certificate?.key] == ["c", "k"])
  }

  private func identity(_ settings: ServeSettings) -> [String] {
    settings.server.applications.flatMap { [$0.id, $0.key, $0.secret] }
  }
}

@Suite("The file of --apps")
struct AppsFileTests {
  private func settings(_ text: String, _ options: String = "") throws -> ServeSettings {
    try serve("--apps f " + options, files: PretendFiles(contents: ["f": text]))
  }

  @Test func `an app has what the file says, and else what the options say`() throws {
    let apps = try settings(
      #"[{"id":1,"key":"a","secret":"x"},{"id":"two","key":"b","secret":"y","enabled":false,"#
        + #""client_events":true,"subscription_counts":true,"webhooks":["http://h/b"]}]"#,
      "--no-client-events --webhook http://h/all"
    ).server.applications
    #expect(apps.map(\.id) == ["1", "two"])
    #expect(apps.map(\.key) == ["a", "b"])
    #expect(apps.map(\.secret) == ["x", "y"])
    #expect(apps.map(\.allowsClientEvents) == [false, true])
    #expect(apps.map(\.sendsSubscriptionCounts) == [false, true])
    #expect(apps.map(\.isEnabled) == [true, false])
    #expect(apps.map { $0.webhooks.map(\.path) } == [["/all"], ["/all", "/b"]])
  }

  @Test func `an app has limits of its own`() throws {
    let limits = try settings(
      #"[{"id":1,"key":"a","secret":"x"},{"id":2,"key":"b","secret":"x","limits":{"connections":1,"#
        + #""channels_per_connection":2,"presence_members":3,"event_bytes":4,"cached_channels":6,"#
        + #""client_events_per_second":5,"events_per_second":7,"bytes_per_second":8,"#
        + #""channels_per_address":9}}]"#
    ).server.applications.map(\.limits)
    func values(_ place: Int) -> [Int?] {
      let of = limits[place]
      return [
        of.connections, of.subscriptions, of.presenceMembers, of.eventData,
        of.clientEventsPerSecond,
        of.cachedEvents, of.eventsPerSecond, of.bytesPerSecond, of.channelsPerAddress,
      ]
    }
    #expect(values(0) == Array(repeating: nil, count: 9))
    #expect(values(1) == Array(1...9))
  }

  @Test func `the shares of a socket and of an address have flags`() throws {
    let usual = try serve().server.limits
    #expect(usual == ServerLimits())
    let limits = try serve(
      "--max-channels 4 --max-address-channels 3 --max-socket-channels 2 --joins-per-second 1"
    ).server.limits
    #expect(limits.channels == 4 && limits.channelsPerAddress == 3)
    #expect(limits.subscriptions == 2 && limits.joinsPerSecond == 1)
  }

  @Test(arguments: [
    ("[", "--apps: the file is "),
    ("{}", "--apps: the file must be a JSON array with at least one app"),
    ("[]", "--apps: the file must be a JSON array with at least one app"),
    ("[1]", "--apps: app 1 is not a JSON"),
    (#"[{"key":"a","secret":"x"}]"#, "--apps: app 1: id is missing or cannot be part of a URL"),
    (
      #"[{"id":"1","key":"a b","secret":"x"}]"#,
      "--apps: app '1': key is missing or cannot be part of a URL"
    ),
    (#"[{"id":"1","key":"a"}]"#, "--apps: app '1': secret must be a non-empty string"),
    (
      #"[{"id":"1","key":"a","secret":"x","client_event":1}]"#,
      "--apps: app '1' has an unknown member 'client_event'"
    ),
    (
      #"[{"id":"1","key":"a","secret":"x","enabled":1}]"#,
      "--apps: app '1': enabled must be true or false"
    ),
    (
      #"[{"id":"1","key":"a","secret":"x","webhooks":["ws://h"]}]"#,
      "--apps: app '1': webhooks: a webhook URL must begin with http:// or https://"
    ),
    (
      #"[{"id":"1","key":"a","secret":"x","encryption_master_key":"!"}]"#,
      "--apps: app '1': encryption_master_key is not base64"
    ),
    (
      #"[{"id":"1","key":"a","secret":"x","limits":[]}]"#,
      "--apps: app '1': limits is not a JSON object"
    ),
    (
      #"[{"id":"1","key":"a","secret":"x","limits":{"connection":1}}]"#,
      "--apps: app '1': unknown limit 'connection'"
    ),
    (
      #"[{"id":"1","key":"a","secret":"x","limits":{"connections":-1}}]"#,
      "--apps: app '1': connections is not a whole number from 0 to 1000000000"
    ),
    (
      #"[{"id":"1","key":"a","secret":"x","limits":{"connections":1.5}}]"#,
      "--apps: app '1': connections is not a whole number from 0 to 1000000000"
    ),
    (
      #"[{"id":"1","key":"a","secret":"x"},{"id":"1","key":"b","secret":"x"}]"#,
      "--apps: two apps have the id '1'"
    ),
    (
      #"[{"id":"1","key":"a","secret":"x"},{"id":"2","key":"a","secret":"x"}]"#,
      "--apps: the apps '1' and '2' have the same key"
    ),
  ])
  func `a mistake is told with the app that has it`(text: String, beginning: String) {
    let message = refusal { _ = try settings(text) }
    #expect(message?.hasPrefix(beginning) == true, "\(message ?? "accepted")")
  }

  @Test func `the file stands in place of the options for one app`() {
    #expect(
      refusal { _ = try settings("[]", "--key k") }
        == "--apps and --key exclude each other; give one")
  }
}
