import PusherCore
import PusherServer
import Testing

@testable import pusher_cli

struct `Settings of serve` {
  @Test func `the defaults of serve are local and told`() throws {
    let settings = try serve()
    #expect(settings.listen.place(settings.listen.port) == "127.0.0.1:6001")
    #expect(identity(settings) == ["1", "local", "local"])
    #expect(settings.defaulted == ["app id '1'", "key 'local'", "secret 'local'"])
    #expect(settings.server.applications[0].allowsClientEvents)
    #expect(settings.server.acceptsCompression && settings.warnings == [])
    #expect(try !serve("--no-compression").server.acceptsCompression)
    #expect(settings.server.authEndpoints == .thisMachine)
    #expect(try serve("--no-serve-auth").server.authEndpoints == .nobody)
  }

  @Test(
    arguments: """
      --webhook http://h/ --dialect soketi =>
      --webhook http://h/ --dialect reverb
        => Reverb has no webhooks; serve --dialect reverb sends them anyway
      --dialect reverb =>
      """ as Table)
  func `webhooks that the dialect's server would not send are told`(row: Table.Row) throws {
    row.expect(try row.settings(after: "serve ").warningText)
  }

  /// A file of Reverb's variables, with others.
  private static func reverb(_ variables: String) -> PretendFiles {
    PretendFiles(contents: [
      ".env": "REVERB_APP_KEY=k\nREVERB_APP_SECRET=s\nREVERB_APP_ID=1\n"
        + variables.replacing(" ", with: "\n")
    ])
  }

  @Test(arguments: [
    ("localhost", "127.0.0.1"), ("127.0.0.2", "127.0.0.2"), ("0.0.0.0", "127.0.0.1"),
    ("::1", "::1"), ("[::1]", "::1"),
  ])
  func `serve listens where a file says that clients connect`(name: String, host: String) throws {
    let files = Self.reverb("REVERB_HOST=\(name) REVERB_PORT=21080 REVERB_SCHEME=http")
    let settings = try serve("--env-file .env", files: files)
    #expect(settings.listen.host == host && settings.listen.port == 21_080)
    #expect(settings.warnings == [])
    #expect(try serve("--env-file .env --listen 127.0.0.1:7", files: files).listen.port == 7)
  }

  @Test(
    arguments: """
      SOKETI_DEBUG=1 =>
      SOKETI_DEFAULT_APP_MAX_CONNS=9 SOKETI_SSL_CERT= OTHER=1
        => soketi.env: serve does not read SOKETI_DEFAULT_APP_MAX_CONNS; docs/moving.md says what to
        set
      SOKETI_E=1 SOKETI_D=1 SOKETI_A=1 SOKETI_C=1 SOKETI_B=1
        => soketi.env: serve does not read SOKETI_A, SOKETI_B, SOKETI_C and 2 more; docs/moving.md
        says what to set
      """ as Table)
  func `soketi's variables name app and port, and unread settings are told`(row: Table.Row) throws {
    let lines =
      "SOKETI_DEFAULT_APP_ID=7 SOKETI_DEFAULT_APP_KEY=k SOKETI_DEFAULT_APP_SECRET=s "
      + "SOKETI_PORT=7001 SOKETI_DEBUG=1 " + row.input
    let settings = try serve(
      "--env-file soketi.env",
      files: PretendFiles(contents: ["soketi.env": lines.replacing(" ", with: "\n")]))
    #expect(identity(settings) == ["7", "k", "s"])
    #expect(settings.listen.place(settings.listen.port) == "127.0.0.1:7001")
    row.expect(settings.warningText)
  }

  @Test(
    arguments: """
      REVERB_SERVER_HOST=0.0.0.0 REVERB_SERVER_PORT=8080 =>
      REVERB_APP_MAX_CONNECTIONS=9 REVERB_MAX_REQUEST_SIZE=20000
        => .env: serve does not read REVERB_APP_MAX_CONNECTIONS, REVERB_MAX_REQUEST_SIZE;
        docs/moving.md says what to set
      """ as Table)
  func `unread limits of Reverb are told`(row: Table.Row) throws {
    let place = "REVERB_HOST=localhost REVERB_PORT=21080 REVERB_SCHEME=http "
    let settings = try serve("--env-file .env", files: Self.reverb(place + row.input))
    row.expect(settings.warningText)
    let paced = Self.reverb(place + "REVERB_APP_RATE_LIMITING_ENABLED=true")
    #expect(try serve("--env-file .env --dialect reverb", files: paced).warnings == [])
    // The limits are not those of the app that is served.
    let other = Self.reverb(
      "REVERB_APP_MAX_CONNECTIONS=9 PUSHER_APP_KEY=p PUSHER_APP_SECRET=s PUSHER_APP_ID=2")
    #expect(try serve("--env-file .env", files: other).warnings == [])
  }

  @Test(
    arguments: """
      REVERB_HOST=ws.test REVERB_PORT=443
        => REVERB_HOST in .env is 'ws.test', which is not this machine; serve listens on
        127.0.0.1:6001 (--listen sets another address)
      REVERB_PORT=8080
        => REVERB_PORT in .env sets a port, but no host is set; serve listens on 127.0.0.1:6001
        (--listen sets another address)
      REVERB_HOST=localhost REVERB_PORT=65536
        => REVERB_PORT in .env: '65536' is not a port from 1 to 65535; serve listens on
        127.0.0.1:6001 (--listen sets another address)
      """ as Table)
  func `a warning says why serve does not listen where a file says`(row: Table.Row) throws {
    let settings = try serve("--env-file .env", files: Self.reverb(row.input))
    #expect(settings.listen.port == 6001)
    row.expect(settings.warningText)
  }

  @Test(
    arguments: """
      REVERB_SCHEME=https => REVERB_SCHEME in .env is 'https', but serve speaks http
      OTHER=1
        => REVERB_PORT in .env sets a port without a scheme, which means https, but serve speaks http
      """ as Table)
  func `a warning says when clients with the file would speak TLS`(row: Table.Row) throws {
    let files = Self.reverb("REVERB_HOST=localhost REVERB_PORT=8443 " + row.input)
    let settings = try serve("--env-file .env", files: files)
    #expect(settings.listen.port == 8443)
    let remedy = ": set the scheme to http, or give --tls-cert and --tls-key"
    let words = settings.warningText
    #expect(words.hasSuffix(remedy) && row.isResult(String(words.dropLast(remedy.count))))
  }

  @Test func `options and the environment replace them`() throws {
    let files = PretendFiles(contents: ["s": "secret\n"])
    let typed = try serve("--key k --app-id 1 --secret-file s --no-client-events", files: files)
    #expect(identity(typed) == ["1", "k", "secret"] && typed.defaulted == [])
    #expect(!typed.server.applications[0].allowsClientEvents)
    let environment = ["PUSHER_APP_KEY": "pk", "PUSHER_APP_ID": "7", "PUSHER_APP_SECRET": "ps"]
    #expect(try identity(serve("", environment)) == ["7", "pk", "ps"])
  }

  @Test(arguments: [
    ("127.0.0.1:0", "127.0.0.1", 0), (":7001", "127.0.0.1", 7001), ("[::1]:1", "::1", 1),
    ("localhost:65535", "localhost", 65_535),
  ])
  func `--listen takes a host, a port or both`(text: String, host: String, port: Int) throws {
    let listen = try serve("--listen " + text).server.listen
    #expect(listen.host == host && listen.port == port)
  }

  @Test(arguments: ["0.0.0.0:6001", "[::]:6001", "127.example.com:1", "laptop:80"])
  func `the known secret is not served where others can reach it`(address: String) throws {
    let message = try #require(refusal { _ = try serve("--listen " + address) })
    #expect(message.contains("give --secret-file, or PUSHER_APP_KEY"))
    let own = ["PUSHER_APP_KEY": "k", "PUSHER_APP_SECRET": "mine"]
    let settings = try serve("--listen " + address, own)
    #expect(settings.server.authEndpoints == .nobody && settings.warnings == [])
    let open = try serve("--serve-auth --listen " + address, own)
    #expect(open.server.authEndpoints == .everybody)
    #expect(open.warnings.first?.text.hasPrefix("--serve-auth: everyone ") == true)
  }

  @Test(
    arguments: """
      --allow-host ws.example.com
        => --allow-host ws.example.com: requests for this name or through a proxy cannot use the
        authorisation endpoints, /faults and the console; --serve-auth opens the endpoints to
        everyone, --no-serve-auth removes them
      --allow-host ws.example.com --serve-auth
        => --serve-auth: everyone who reaches this server, also through a proxy, gets signatures
        for every channel
      --allow-host ws.example.com --no-serve-auth =>
      --allow-host shop.test =>
      --serve-auth =>
      """ as Table)
  func `a name for a proxy warns of what is closed or open through it`(row: Table.Row) throws {
    row.expect(try row.settings(after: "serve ").warningText)
    let closed = try serve("--allow-host ws.example.com")
    #expect(closed.server.authEndpoints == .thisMachine)
  }

  @Test func `origins and hosts are allowed by name`() throws {
    let access = try serve(
      "--allow-origin https://A.example --allow-origin http://192.168.1.5:3000/ --allow-origin null "
        + "--allow-origin file:// --allow-host Dev.Example --allow-host ::2 --allow-host [fe80::1]"
    ).server.access
    #expect(
      access.origins.map(\.description).sorted() == [
        "file://", "http://192.168.1.5:3000", "https://a.example", "null",
      ])
    #expect(
      access.hosts.map(\.description).sorted() == ["[::2]", "[fe80::1]", "dev.example"])
  }

  @Test(arguments: [
    (
      "--allow-origin", ["a.example", "https://a.example/x", "*", "https://*.example", "https://"],
      "of the form https://HOST or https://HOST:PORT"
    ),
    (
      "--allow-host", ["a.example:80", "http://a.example", "*.example", "[::1]:80"],
      "a host name or address without a port"
    ),
    (
      "--listen",
      ["6001", "h", "h:", "h:x", "h:65536", "::1:80", "[]:1", "http://h:1"],
      "of the form HOST:PORT, such as 127.0.0.1:6001"
    ),
  ])
  func `a malformed origin, host or address fails`(option: String, texts: [String], form: String) {
    for text in texts {
      #expect(
        refusal { _ = try serve("\(option) \(text)") } == "\(option): '\(text)' is not \(form)")
    }
  }

  @Test(arguments: [("127.0.0.1:1", false), ("localhost:1", false), ("0.0.0.0:1", true)])
  func `only a local server minds by which name it is asked`(place: String, isPublic: Bool) throws {
    let own = ["PUSHER_APP_KEY": "k", "PUSHER_APP_SECRET": "mine"]
    #expect(try serve("--listen " + place, own).server.access.isPublic == isPublic)
  }

  @Test func `webhooks go to URLs of http and https`() throws {
    let server = try serve("--webhook http://a/x --webhook https://b --webhook-delay 1ms").server
    #expect(server.applications[0].webhooks.map(\.host) == ["a", "b"])
    #expect(server.webhooks.delay == .milliseconds(1))
    #expect(
      refusal { _ = try serve("--webhook ws://a") }
        == "--webhook: a webhook URL must begin with http:// or https://")
    #expect(refusal { _ = try serve("--webhook a") }?.hasPrefix("--webhook: ") == true)
  }

  @Test func `certificate and key come together`() throws {
    let files = PretendFiles(contents: ["c": "", "k": ""])
    let server = try serve("--tls-cert c --tls-key k", files: files).server
    #expect([server.certificate?.file, server.certificate?.key] == ["c", "k"])
  }

  private func identity(_ settings: ServeSettings) -> [String] {
    settings.server.applications.flatMap { [$0.id, $0.key, $0.secret] }
  }
}

struct `The file of --apps` {
  private func settings(_ text: String, _ options: String = "") throws -> ServeSettings {
    try serve("--apps f " + options, files: PretendFiles(contents: ["f": text]))
  }

  @Test func `an app has what the file says, and else what the options say`() throws {
    let apps = try settings(
      #"[{"id":1,"key":"a","secret":"x"},{"id":"two","key":"b","secret":"y","enabled":false,"#
        + #""client_events":true,"subscription_counts":true,"webhooks":["http://h/b"]}]"#,
      "--no-client-events --webhook http://h/all"
    ).server.applications
    #expect(apps.map { [$0.id, $0.key, $0.secret] } == [["1", "a", "x"], ["two", "b", "y"]])
    #expect(
      apps.map { [$0.allowsClientEvents, $0.sendsSubscriptionCounts, $0.isEnabled] }
        == [[false, false, true], [true, true, false]])
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

  @Test func `the kept events of clients of protocol V2 have flags`() throws {
    let limits = try serve("--recovery-window 10m --recovery-limit 7").server.limits
    #expect(limits.times.recovery == .seconds(600) && limits.recoveryEvents == 7)
    #expect(try serve("--recovery-limit 0").server.limits.recoveryEvents == 0)
  }

  @Test(
    arguments: """
      [ => --apps: the file is …
      {} => --apps: the file must be a JSON array with at least one app
      [] => --apps: the file must be a JSON array with at least one app
      [1] => --apps: app 1 is not a JSON…
      [{"key":"a","secret":"x"}] => --apps: app 1: id is missing or cannot be part of a URL
      [{"id":"1","key":"a b","secret":"x"}]
        => --apps: app '1': key is missing or cannot be part of a URL
      [{"id":"1","key":"a"}] => --apps: app '1': secret must be a non-empty string
      [{"id":"1","key":"a","secret":"x","client_event":1}]
        => --apps: app '1' has an unknown member 'client_event'…
      [{"id":"1","key":"a","secret":"x","enabled":1}]
        => --apps: app '1': enabled must be true or false
      [{"id":"1","key":"a","secret":"x","webhooks":["ws://h"]}]
        => --apps: app '1': webhooks: a webhook URL must begin with http:// or https://
      [{"id":"1","key":"a","secret":"x","encryption_master_key":"!"}]
        => --apps: app '1': encryption_master_key is not base64…
      [{"id":"1","key":"a","secret":"x","limits":[]}] => --apps: app '1': limits is not a JSON object
      [{"id":"1","key":"a","secret":"x","limits":{"connection":1}}]
        => --apps: app '1': unknown limit 'connection'…
      [{"id":"1","key":"a","secret":"x","limits":{"connections":-1}}]
        => --apps: app '1': connections is not a whole number from 0 to 1000000000
      [{"id":"1","key":"a","secret":"x","limits":{"connections":1.5}}]
        => --apps: app '1': connections is not a whole number from 0 to 1000000000
      [{"id":"1","key":"a","secret":"x"},{"id":"1","key":"b","secret":"x"}]
        => --apps: two apps have the id '1'
      [{"id":"1","key":"a","secret":"x"},{"id":"2","key":"a","secret":"x"}]
        => --apps: the apps '1' and '2' have the same key
      """ as Table)
  func `a mistake in --apps is told with the app that has it`(row: Table.Row) {
    row.expectRefusal { _ = try settings(row.input) }
  }
}
