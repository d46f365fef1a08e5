import Foundation
import PusherCore
import Testing

@testable import pusher_cli

struct `Settings of subscribe` {
  @Test func `subscribe with a key and a channel has the defaults`() throws {
    let settings = try subscribe("--key K my-channel")
    #expect(settings.connection.summary == "K https://ws-mt1.pusher.com:443")
    #expect(settings.connection.connectTimeout == .seconds(10))
    #expect(settings.authorization == .unavailable)
    #expect(settings.printing.form.output == .json && settings.printing.form.terminator == 10)
    #expect(settings.printing.bufferSize == 16 << 20)
    #expect(settings.reconnect == .automatic && settings.maxRetries == nil)
    #expect(settings.retryMaxDelay == .seconds(120))
    #expect(settings.activityTimeout == nil)
    #expect(settings.pongTimeout == .seconds(30))
    #expect(settings.webSocket.compressionOffer != nil)
    #expect(settings.verbosity == .normal && settings.warnings == [])
  }

  @Test func `all options of subscribe reach its settings`() throws {
    let settings = try subscribe(
      "--key K --host h -p 6001 --scheme ws --path /pre/ -c a -c b a -e x* -x y -n 3 -W 1m "
        + "--idle-timeout 5 -t -0 -L --buffer 1M -o pretty --connect-timeout 3s "
        + "--reconnect never --max-retries 0 --retry-max-delay 9 --retry-delay 2s --activity-timeout 60 "
        + "--pong-timeout 7 --no-compression -v --color never")
    #expect(settings.channels == ["a", "b"])
    #expect(settings.connection.summary == "K http://h:6001/pre")
    #expect(settings.connection.connectTimeout == .seconds(3))
    #expect(settings.printing.includedEvents == ["x*"])
    #expect(settings.printing.excludedEvents == ["y"] && settings.printing.count == 3)
    #expect(settings.run.timeout == .seconds(60) && settings.run.idleTimeout == .seconds(5))
    #expect(settings.printing.form.hasTimestamps && settings.printing.printsLifecycle)
    #expect(settings.printing.form.terminator == 0 && settings.printing.bufferSize == 1 << 20)
    #expect(settings.printing.form.output == .pretty && settings.printing.form.color == .never)
    #expect(settings.reconnect == .never && settings.maxRetries == 0)
    #expect(settings.retryMaxDelay == .seconds(9))
    #expect(settings.reconnectDelay == .seconds(2))
    #expect(settings.activityTimeout == .seconds(60))
    #expect(settings.pongTimeout == .seconds(7))
    #expect(settings.webSocket.compressionOffer == nil)
  }

  @Test(
    arguments: """
      a => no app key: give --key, PUSHER_APP_KEY or REVERB_APP_KEY
      --key K => no channel: give one, as in 'pusher-cli subscribe my-channel', or '*' for all
      --key K --host h --cluster eu a => --host and --cluster exclude each other; give one
      --key K --path p?q a => --path: 'p?q' is not a path such as /realtime
      --key K --host h:1 a => --host: 'h:1' is not a host name; give scheme, port and path separately
      --key a/b a => --key: 'a/b' is not an app key
      --key K --cacert /none a => --cacert: cannot read '/none': no such file or directory
      --key K private-a
        => private-a needs authorisation: give --secret-file, PUSHER_APP_SECRET, --auth-endpoint or
        --auth-command
      --local private-encrypted-a
        => private-encrypted-a is encrypted: give --encryption-key-file or
        PUSHER_ENCRYPTION_MASTER_KEY
      --local private-a --auth-command c --encryption-key-file f
        => --encryption-key-file is for signing with the secret; --auth-command returns the keys
        itself
      --local a!b
        => channel 'a!b': '!' is not allowed in a channel name (use A-Z a-z 0-9 _ - = @ , . ;)
      --local private-a --auth-endpoint ftp://h => --auth-endpoint is not an http or https URL
      --local private-a --auth-endpoint http://h --auth-param x
        => --auth-param needs the form NAME=VALUE
      --local private-a --auth-endpoint http://h --user-id 7
        => --user-id is for signing with the secret; --auth-endpoint names the member itself
      --local #a => channel '#a': the events of a user come with --sign-in
      --local private-a --secret-file /none
        => --secret-file: cannot read '/none': no such file or directory; it must contain only the app
        secret, on one line
      --local a --tls-cert c => --tls-cert: cannot read 'c': no such file or directory
      --local a --pin-sha256 abc => --pin-sha256: 'abc' is not a SHA-256 in Base64 (44 characters)
      --key K --secret-file empty private-a
        => --secret-file: 'empty' is empty; it must contain only the app secret, on one line
      --key K --secret-file env private-a
        => --secret-file: 'env' has more than one line; it must contain only the app secret, on one
        line
      --local presence-a --user-id 7 --user-info {x => --user-info is not JSON: …
      --local a --state-file x
        => --state-file: the server keeps no events in this protocol; a server of sockudo does
        (--service sockudo)
      --local a --rewind 5
        => --rewind: the server keeps no events in this protocol; a server of sockudo does (--service
        sockudo)
      --key K --service sockudo --rewind=0 a
        => --rewind: '0' is not a number of events, or a time such as 30s
      --key K --service sockudo --rewind=-1 a
        => --rewind: '-1' is not a number of events, or a time such as 30s
      --key K --service sockudo --rewind=1.5 a
        => --rewind: '1.5' is not a number of events, or a time such as 30s
      """ as Table)
  func `what is missing or wrong is said with what to do`(row: Table.Row) {
    let files = PretendFiles(contents: [
      "empty": "\n", "env": "PUSHER_APP_KEY=k\nPUSHER_APP_SECRET=s\n",
    ])
    row.expectRefusal(after: "subscribe ", files: files)
  }

  @Test(arguments: [(164, 0), (165, 1), (200, 1)])
  func `a long name of a channel is warned of, then refused`(length: Int, warnings: Int) throws {
    let name = String(repeating: "a", count: length)
    #expect(try subscribe("--local " + name).warnings.count == warnings)
    guard length == 200 else { return }
    #expect(refusal { _ = try subscribe("--local a" + name) }?.contains("at most 200") == true)
  }

  @Test func `a comma in a channel's name is warned of`() throws {
    let settings = try subscribe("--local orders,news a")
    #expect(settings.channels == ["orders,news", "a"])
    #expect(
      settings.warnings == [
        "channel 'orders,news' is one name: separate channels with blanks, not with commas"
      ])
  }

  @Test(arguments: [("s", "s"), ("s\n", "s"), ("s\r\n", "s"), ("s\n\n", "s\n"), (" s ", " s ")])
  func `the secret's file loses only its last newline`(content: String, secret: String) throws {
    let settings = try subscribe(
      "--key K --secret-file f private-a", files: PretendFiles(contents: ["f": content]))
    #expect(settings.authorization == .secret(Secret(secret), nil))
  }

  @Test func `a secret's file that others can read earns a warning`() throws {
    func warnings(_ file: String, _ change: (inout PretendFiles) -> Void) throws -> [String] {
      var files = PretendFiles(contents: [file: "s\n"], permissions: 0o644)
      change(&files)
      return try subscribe("--key K --secret-file \(file) private-a", files: files)
        .warnings.map(\.text)
    }
    #expect(try warnings("f") { _ in } == ["other users can read f; run chmod 600 f"])
    #expect(
      try warnings("f") { $0.isForeign = true }
        == ["f belongs to another user, who can change it; give a file of your own"])
    #expect(try warnings("f") { $0.permissions = 0o600 } == [])
    #expect(try warnings("f") { $0.isSettled = true } == [])
    #expect(try warnings("-") { _ in } == [])
  }

  @Test(arguments: [
    "--key K --secret-file f private-a", "--local --encryption-key-file f private-encrypted-a",
    "--config f private-a",
  ])
  func `a secret that others decide about is refused`(line: String) {
    let text = line.contains("config") ? "[profile default]\nkey = k\nsecret = s\n" : "s"
    var files = PretendFiles(contents: ["f": text], permissions: 0o606)
    let origin =
      line.split(separator: " ").first { $0.hasSuffix("-file") || $0 == "--config" } ?? ""
    let remedy = "other users can change 'f'; run chmod 600 f"
    #expect(refusal { _ = try subscribe(line, files: files) } == "\(origin): \(remedy)")
    (files.permissions, files.isForeign, files.isReadByRoot) = (0o600, true, true)
    #expect(
      refusal { _ = try subscribe(line, files: files) }
        == "\(origin): 'f' belongs to another user, who can change it; give a file of your own")
  }

  @Test func `a key that is a file is explained`() {
    let files = PretendFiles(contents: ["server.pem": "x"])
    let words = "--key takes the app key, but 'server.pem' is a file"
    #expect(refusal { _ = try subscribe("--key server.pem a", files: files) } == words)
    #expect(
      refusal { _ = try serve("--key server.pem", files: files) }
        == words + "; give a TLS key with --tls-key")
    #expect(refusal { _ = try subscribe("--key other.pem a", files: files) } == nil)
  }

  @Test func `presence is signed as the member given`() throws {
    let settings = try subscribe(
      "--local presence-a --user-id 7 --user-info @info",
      files: PretendFiles(contents: ["info": "{\"name\":\"x\"}\n"]))
    let member: JSONValue = ["user_id": "7", "user_info": ["name": "x"]]
    #expect(settings.authorization == .secret(Secret("local"), member))
  }

  @Test func `an endpoint has headers and form fields`() throws {
    let words = "subscribe --key K private-a --auth-endpoint https://h/auth --auth-header @token"
    let settings = try SubscribeSettings(
      arguments(
        words.components(separatedBy: " ")
          + ["--auth-header", "N:  v w ", "--auth-param", "a=b=c", "--auth-param", "d="]),
      environment: [:],
      files: PretendFiles(contents: ["token": "Authorization: Bearer t=\r\nX-A:b\n"]).access)
    let endpoint = AuthorizationEndpoint(
      url: "https://h/auth",
      headers: [
        NamedValue(name: "Authorization", value: "Bearer t="), NamedValue(name: "X-A", value: "b"),
        NamedValue(name: "N", value: "v w"),
      ], parameters: [NamedValue(name: "a", value: "b=c"), NamedValue(name: "d", value: "")])
    #expect(settings.authorization == .endpoint(endpoint))
  }

  @Test(arguments: ["hunter2", ": hunter2", "a b: hunter2", "N: hunter2\u{1}"])
  func `a wrong header is refused and not repeated`(header: String) throws {
    let words = [
      "subscribe", "--local", "private-a", "--auth-endpoint", "https://h", "--auth-header", header,
    ]
    let message = try #require(
      refusal { _ = try SubscribeSettings(arguments(words), environment: [:]) })
    #expect(message.hasPrefix("--auth-header needs the form"))
    #expect(!message.contains("hunter2"))
  }

  @Test func `an unchecked certificate is warned of on every run`() throws {
    let settings = try subscribe("--local a --insecure")
    #expect(settings.warnings.count == 1 && settings.connection.tls.insecure)
  }

  @Test func `a pinned key softens that warning, and may be given more than once`() throws {
    let pin = "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="
    let settings = try subscribe(
      "--local a --insecure --pin-sha256 \(pin) --pin-sha256 sha256//\(pin)")
    #expect(settings.connection.tls.pins.map(\.description) == ["sha256/\(pin)"])
    #expect(
      settings.warnings.map(\.text) == [
        "--insecure: only the pinned key of the server's certificate is checked"
      ])
  }

  @Test func `a dry run waits for no server`() throws {
    #expect(try trigger("--local -c a -e e 1").access.connection.isLocal)
    #expect(try !trigger("--local -c a -e e 1 --dry-run").access.connection.isLocal)
  }

  @Test func `a client certificate may hold its key`() throws {
    let files = PretendFiles(contents: ["c.pem": "", "k.pem": ""])
    let both = try subscribe("--local a --tls-cert c.pem", files: files)
    #expect(both.connection.tls == TLSConfiguration(certificateFile: "c.pem"))
    let pair = try subscribe("--local a --tls-cert c.pem --tls-key k.pem", files: files)
    #expect(pair.connection.tls == TLSConfiguration(certificateFile: "c.pem", keyFile: "k.pem"))
    #expect(pair.connection.endpointTLS == TLSConfiguration())
  }

  @Test func `what cannot be read twice is read once, for all settings of a run`() throws {
    let reads = Record<String>()
    var files = PretendFiles(contents: ["-": "X: 1\n"]).access
    files.read = { path, _ in
      reads.add(path)
      return .success(FileContent(bytes: Array("X: 1\n".utf8)))
    }
    files.permissions = { _ in nil }
    let line = "a* --cacert ca --tls-cert c --tls-key k -H @h -H @-"
    let settings = try SubscribeSettings(
      arguments("subscribe " + line),
      environment: ["PUSHER_APP_KEY": "k", "PUSHER_APP_SECRET": "s", "PUSHER_APP_ID": "1"],
      files: files)
    #expect(reads.values.sorted() == ["-", "c", "ca", "h", "k"])
    let text = Array("X: 1\n".utf8)
    #expect(settings.connection.tls.kept == ["ca": text, "c": text, "k": text])
    #expect(settings.connection.endpointTLS.kept == ["ca": text])
    #expect(settings.discovery?.access.headers.count == 2)
    #expect(settings.warnings.isEmpty)
  }

  @Test(arguments: ["pre", "/pre", "pre/", "/pre//"])
  func `a path may have its slashes or not, as in the library`(path: String) throws {
    #expect(try subscribe("--local a --path \(path)").connection.path == "/pre")
  }

  @Test func `a secret cannot be printed by accident`() throws {
    let settings = try subscribe("--key K private-a", ["PUSHER_APP_SECRET": "hunter2"])
    var dumped = "\(settings) \(String(reflecting: settings))"
    dump(settings, to: &dumped)
    #expect(!dumped.contains("hunter2"))
    #expect("\(Secret("hunter2"))" == "<secret>")
    #expect(!String(reflecting: NamedValue(name: "A", value: "hunter2")).contains("hunter2"))
  }
}

struct `Settings of trigger` {
  @Test func `data is an argument, an option, a file or standard input`() throws {
    let files = PretendFiles(contents: ["f": "{\"a\":1}\n", "-": "from input\n"])
    let base = "--local -c a -e x "
    #expect(try trigger(base + "{}").payload == .event("x", data: "{}"))
    #expect(try trigger(base + "--data {}").payload == .event("x", data: "{}"))
    #expect(try trigger(base + "@f", files: files).payload == .event("x", data: "{\"a\":1}"))
    #expect(try trigger(base + "-d @-", files: files).payload == .event("x", data: "from input"))
  }

  @Test(
    arguments: """
      --local -e x d => no channel: give --channel
      --local -c a d => no event name: give --event
      --local -c a -e x
        => no data: give it as an argument, or @FILE, or @- for standard input; - reads JSON lines
      --local -c a -e x d e => trigger takes one argument, the data (found 'e' too); quote it as one
      --local -c a -e x d -d e => the data is given twice: as an argument and with --data; give one
      --local -c a -e x -d - => to send standard input as the data, give @-
      --local -c a -e x @ => --data: '@' needs a file name
      --local -c a -e x @none => --data: cannot read '@none': no such file or directory
      --local -c a -e x d --socket-id 1 => --socket-id: '1' is not a socket id such as 123.456
      --local -c a -e x @- --secret-file -
        => --secret-file and --data both read standard input; give one of them a file
      -c a -e x d => no app key: give --key, PUSHER_APP_KEY or REVERB_APP_KEY
      -c a -e x d --key k => no app id: give --app-id or PUSHER_APP_ID
      -c a -e x d --key k --app-id 1 => no secret: give --secret-file or PUSHER_APP_SECRET
      """ as Table)
  func `what is missing or wrong is said with what to do`(row: Table.Row) {
    row.expectRefusal(after: "trigger ", files: PretendFiles(contents: ["-": "s"]))
  }

  @Test func `channels are named once, and the connection that is left out`() throws {
    let settings = try trigger("--local -c a -c b -c a -e x d --socket-id 12.34")
    #expect(settings.channels == ["a", "b"] && settings.socketID == "12.34")
    #expect(settings.connection.host == "127.0.0.1")
  }
}
