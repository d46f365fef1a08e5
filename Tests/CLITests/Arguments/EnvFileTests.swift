import Foundation
import Testing

@testable import pusher_cli

struct `--env-file, --url and the address of the HTTP API` {
  private static let laravel =
    "APP_NAME=Shop\nPUSHER_APP_ID=1\nPUSHER_APP_KEY=file-key\nPUSHER_APP_SECRET=\"file secret\"\n"
    + "PUSHER_HOST=\nPUSHER_APP_CLUSTER=eu\nVITE_PUSHER_APP_KEY=\"${PUSHER_APP_KEY}\"\n"
  private static let event = "-c a -e x data"

  private func files(_ text: String, at path: String = ".env") -> PretendFiles {
    PretendFiles(contents: [path: text], permissions: 0o644)
  }

  // MARK: The file as a source

  @Test func `a Laravel project's file says which app and server it is`() throws {
    let settings = try subscribe("--env-file .env private-orders.1", files: files(Self.laravel))
    #expect(settings.summary == "file secret@file-key https://ws-eu.pusher.com:443")
    #expect(settings.warnings.isEmpty)
    let sent = try trigger("--env-file .env " + Self.event, files: files(Self.laravel))
    #expect(sent.summary == "1:file secret@file-key https://api-eu.pusher.com:443")
  }

  @Test func `a file that an option names counts in place of the environment`() throws {
    let settings = try subscribe(
      "--env-file .env private-a",
      ["PUSHER_APP_KEY": "k", "PUSHER_APP_SECRET": "s", "PUSHER_HOST": "other.test"],
      files: files("REVERB_APP_KEY=rk\nREVERB_APP_SECRET=rs\nREVERB_HOST=reverb.test\n"))
    #expect(settings.summary == "rs@rk https://reverb.test:443")
  }

  @Test func `what the file lacks is not taken from the environment`() {
    let message = refusal {
      _ = try subscribe(
        "--env-file .env private-a", ["PUSHER_APP_KEY": "k", "PUSHER_APP_SECRET": "s"],
        files: files("PUSHER_APP_KEY=file-key\n"))
    }
    #expect(message?.hasPrefix("private-a needs authorisation") == true)
  }

  @Test func `options override single values of the file`() throws {
    let settings = try subscribe(
      "--env-file .env --host h --port 1 --key K private-a", files: files(Self.laravel))
    #expect(settings.summary == "file secret@K https://h:1")
  }

  @Test func `the file that the environment names counts if the environment has no key`() throws {
    let named = ["PUSHER_CLI_ENV_FILE": "shop.env"]
    let shop = files(Self.laravel, at: "shop.env")
    #expect(try subscribe("a", named, files: shop).connection.key == "file-key")
    let both = named.merging(["PUSHER_APP_KEY": "k"]) { $1 }
    #expect(try subscribe("a", both, files: shop).connection.key == "k")
    #expect(try subscribe("--local a", named).connection.key == "local")
    #expect(try sse("http://h/", named).warnings.isEmpty)
  }

  @Test func `variables of the environment may stand in the file`() throws {
    let settings = try subscribe(
      "--env-file .env a", ["PUSHER_KEY": "outer"], files: files("PUSHER_APP_KEY=x-${PUSHER_KEY}"))
    #expect(settings.connection.key == "x-outer")
  }

  @Test func `the file's master key opens encrypted channels`() throws {
    let key = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="
    let line = "--env-file .env -c private-encrypted-a -e x data"
    let file = Self.laravel + "PUSHER_ENCRYPTION_MASTER_KEY=\(key)\n"
    #expect(try trigger(line, files: files(file)).encryptionKey != nil)
    let message = refusal {
      _ = try trigger(line, files: files(Self.laravel + "PUSHER_ENCRYPTION_MASTER_KEY=x\n"))
    }
    #expect(message?.hasPrefix("PUSHER_ENCRYPTION_MASTER_KEY in .env: the key is") == true)
  }

  @Test func `serve takes its app from the file`() throws {
    let app = try serve("--env-file .env", files: files(Self.laravel)).server.applications.first
    #expect(app?.key == "file-key" && app?.secret == "file secret")
  }

  // MARK: Mistakes

  @Test(
    arguments: """
      --env-file none a => --env-file: cannot read 'none': no such file or directory
      --env-file empty.env a
        => no app key in empty.env: it sets none of PUSHER_APP_KEY, REVERB_APP_KEY,
        SOKETI_DEFAULT_APP_KEY
      --env-file bad.env a => PUSHER_PORT in bad.env: 'x' is not a port from 1 to 65535
      """ as Table)
  func `a wrong file of variables is named`(row: Table.Row) {
    let files = PretendFiles(contents: [
      ".env": Self.laravel, "empty.env": "PUSHER_APP_KEY=\nDB=x\n",
      "bad.env": "PUSHER_APP_KEY=k\nPUSHER_PORT=x\n",
    ])
    row.expectRefusal(after: "subscribe ", files: files)
  }

  @Test func `lines that are not understood are warned of, at most three by number`() throws {
    let broken = "PUSHER_APP_KEY=k\n=1\n=2\n=3\n=4\n=5\n"
    let settings = try subscribe("--env-file .env a", files: files(broken))
    #expect(
      settings.warnings.map(\.text) == [
        ".env line 2 is not NAME=VALUE; the line is ignored",
        ".env line 3 is not NAME=VALUE; the line is ignored",
        ".env line 4 is not NAME=VALUE; the line is ignored", ".env: 2 more lines are ignored",
      ])
  }

  @Test func `a file that is only there is named and not read`() {
    let message = "no app key: give --key, PUSHER_APP_KEY or REVERB_APP_KEY"
    #expect(refusal { _ = try subscribe("a") } == message)
    #expect(
      refusal { _ = try subscribe("a", files: files(Self.laravel)) }
        == message + "; ./.env has one: add --env-file .env")
    #expect(refusal { _ = try subscribe("a", files: files("DB=x")) } == message)
  }

  // MARK: Quotes

  @Test(arguments: ["\"", "'"])
  func `quotes that docker leaves around a value are dropped`(quote: String) throws {
    let settings = try subscribe(
      "private-a",
      [
        "PUSHER_APP_KEY": quote + "k" + quote, "PUSHER_APP_SECRET": quote + "s" + quote,
        "PUSHER_HOST": quote + quote, "PUSHER_APP_CLUSTER": quote + "eu" + quote,
      ])
    #expect(settings.summary == "s@k https://ws-eu.pusher.com:443")
  }

  // MARK: --url

  @Test(
    arguments: """
      --url wss://h:6001/app/K a => K https://h:6001
      --url ws://h/app/K a => K http://h:80
      --url https://h/app/K/ a => K https://h:443
      --url http://[::1]:6001/pre/fix/app/K a => K http://::1:6001/pre/fix
      --key k --url wss://h/ws a => k https://h:443/ws
      --key k --url wss://h a => k https://h:443
      """ as Table)
  func `a URL says server, prefix and key`(row: Table.Row) throws {
    row.expect(try row.settings(after: "subscribe ").serverText)
  }

  @Test(
    arguments: """
      subscribe --url wss://h/app/K?protocol=2 a => sockudo:
      subscribe --url wss://h/app/K?client=js&protocol=2 --service pusher a => pusher:
      subscribe --url wss://h/app/K a => pusher:
      SOCKUDO_DEFAULT_APP_KEY=k subscribe a => sockudo:
      SOCKUDO_DEFAULT_APP_KEY=k subscribe --service pusher a => pusher:
      PUSHER_URL=https://k:s@h/apps/1?protocol=2 subscribe a => sockudo:
      PUSHER_URL=https://k:s@h/apps/1 subscribe a => pusher:
      """ as Table)
  func `protocol=2 and the variables of sockudo name its protocol`(row: Table.Row) throws {
    let settings = try row.settings() as? SubscribeSettings
    row.expect(settings?.connection.service.eventPrefix ?? "")
  }

  @Test func `a URL of the HTTP API says the app's id`() throws {
    let settings = try trigger(
      "--url https://h:8080/apps/77 " + Self.event,
      ["PUSHER_APP_KEY": "k", "PUSHER_APP_SECRET": "s"])
    #expect(settings.summary == "77:s@k https://h:8080")
  }

  @Test(
    arguments: """
      --url wss://k:hunter2@h/app/K a
        => --url: a secret in the URL would show in ps; put the whole URL into PUSHER_URL
      --url wss://h/app/K --key K2 a => --url and --key exclude each other; give one
      --url wss://h/app/K?a=b a
        => --url: leave out '?' and the text after it; pusher-cli sets the query
      --url nonsense a => --url: …
      --url ftp://h/app/K a => --url: …
      --url wss://h:x/app/K a => --url: …
      --url wss:///app/K a => --url: …
      """ as Table)
  func `a URL stands alone and holds no secret`(row: Table.Row) {
    row.expectRefusal(after: "subscribe ")
  }

  // MARK: A separate HTTP API

  @Test func `the HTTP API may have an address of its own`() throws {
    let source = [
      "PUSHER_APP_KEY": "k", "PUSHER_APP_SECRET": "s", "PUSHER_APP_ID": "1", "PUSHER_HOST": "h",
      "PUSHER_PORT": "6001",
    ]
    let moved = try trigger("--api-url http://api.test:8080/ws --path /own " + Self.event, source)
    #expect(moved.connection.apiURL.place == "http://api.test:8080/ws")
    #expect(moved.connection.path.isEmpty)
    let bare = try trigger(
      "--cluster eu --api-url https://api.test --path /own " + Self.event, source)
    #expect(bare.connection.apiURL.place == "https://api.test")
    #expect(bare.connection.path == "/own")
  }
}

/// `.env` files as frameworks write them.
struct `Files of variables` {
  private static func read(_ text: String) throws -> DotEnv {
    try DotEnv(parsing: text) { $0 == "OUTER" ? "from outside" : nil }
  }

  /// Files that this program and python-dotenv read alike, each with all its variables.
  private static let common: [(file: String, variables: [String: String])] = [
    ("A=1", ["A": "1"]),
    ("A=1\nB=2\n", ["A": "1", "B": "2"]),
    ("A=1\r\nB=2\r\n", ["A": "1", "B": "2"]),
    ("A=1\rB=2\r", ["A": "1", "B": "2"]),
    ("\n\n  \n A = 1 \n\t\n", ["A": "1"]),
    ("A=", ["A": ""]),
    ("A=\nB=2", ["A": "", "B": "2"]),
    ("A=\"\"\nB=''", ["A": "", "B": ""]),
    ("# a comment\nA=1 # another\n  # and one more\n", ["A": "1"]),
    ("A=1#2\nB=#3", ["A": "1#2", "B": "#3"]),
    ("A=\"1 # 2\" # 3\nB='1 # 2'", ["A": "1 # 2", "B": "1 # 2"]),
    ("export A=1\nexport\tB=\"2\"", ["A": "1", "B": "2"]),
    ("exported=1\nexport=2", ["exported": "1", "export": "2"]),
    ("A='it''s'\nB=1", ["B": "1"]),
    ("A=two words\nB=  three more words  ", ["A": "two words", "B": "three more words"]),
    ("A=\"two words\"\nB='  kept  '", ["A": "two words", "B": "  kept  "]),
    ("A=\"a\\nb\\tc\\\"d\\\\e\"", ["A": "a\nb\tc\"d\\e"]),
    ("A='a\\nb\\'c\\\\d'", ["A": "a\\nb'c\\d"]),
    ("A=a\\nb", ["A": "a\\nb"]),
    ("A=\"one\ntwo\nthree\"\nB=2", ["A": "one\ntwo\nthree", "B": "2"]),
    ("A='one\n\ntwo'\nB=2", ["A": "one\n\ntwo", "B": "2"]),
    ("A=1\nB=${A}2\nC=\"${B}3\"", ["A": "1", "B": "12", "C": "123"]),
    ("A=${B}\nB=1", ["A": "", "B": "1"]),
    ("A=${OUTER}!", ["A": "from outside!"]),
    ("OUTER=inside\nA=${OUTER}", ["OUTER": "inside", "A": "inside"]),
    ("A=${NONE:-standard}\nB=${OUTER:-standard}", ["A": "standard", "B": "from outside"]),
    ("A=$B $ {C} ${D", ["A": "$B $ {C} ${D"]),
    ("A=1\nA=2\n", ["A": "2"]),
    ("A=1\nthis is no statement\nB=2", ["A": "1", "B": "2"]),
    ("A=\"no end\nB=2\n", ["B": "2"]),
    ("A=\"1\" 2\nB=2\n", ["B": "2"]),
    ("A\nB=2\nexport C\n", ["B": "2"]),
    ("'A'=1\n'B C' = 2", ["A": "1", "B C": "2"]),
    ("A==1\nB=a=b=c", ["A": "=1", "B": "a=b=c"]),
    ("A=Grüße 日本 😀\nB=\"é\"", ["A": "Grüße 日本 😀", "B": "é"]),
    ("A=\u{0B}1\u{0C}\n", ["A": "1"]),
    ("A.B-C=1\n1=2", ["A.B-C": "1", "1": "2"]),
    (
      "APP_NAME=Laravel\nAPP_KEY=base64:dGVzdA==\nAPP_URL=http://localhost\n\nLOG_CHANNEL=stack\n"
        + "DB_PASSWORD=\nBROADCAST_CONNECTION=pusher\n\nPUSHER_APP_ID=1\nPUSHER_APP_KEY=key\n"
        + "PUSHER_APP_SECRET=secret\nPUSHER_HOST=\nPUSHER_PORT=443\nPUSHER_SCHEME=https\n"
        + "PUSHER_APP_CLUSTER=mt1\n\nVITE_APP_NAME=\"${APP_NAME}\"\n"
        + "VITE_PUSHER_APP_KEY=\"${PUSHER_APP_KEY}\"\n",
      [
        "APP_NAME": "Laravel", "APP_KEY": "base64:dGVzdA==", "APP_URL": "http://localhost",
        "LOG_CHANNEL": "stack", "DB_PASSWORD": "", "BROADCAST_CONNECTION": "pusher",
        "PUSHER_APP_ID": "1", "PUSHER_APP_KEY": "key", "PUSHER_APP_SECRET": "secret",
        "PUSHER_HOST": "", "PUSHER_PORT": "443", "PUSHER_SCHEME": "https",
        "PUSHER_APP_CLUSTER": "mt1", "VITE_APP_NAME": "Laravel", "VITE_PUSHER_APP_KEY": "key",
      ]
    ),
    (
      "REVERB_APP_ID=7\nREVERB_APP_KEY=k\nREVERB_APP_SECRET=s\nREVERB_HOST=\"localhost\"\n"
        + "REVERB_PORT=8080\nREVERB_SCHEME=http\nVITE_REVERB_HOST=\"${REVERB_HOST}\"\n",
      [
        "REVERB_APP_ID": "7", "REVERB_APP_KEY": "k", "REVERB_APP_SECRET": "s",
        "REVERB_HOST": "localhost", "REVERB_PORT": "8080", "REVERB_SCHEME": "http",
        "VITE_REVERB_HOST": "localhost",
      ]
    ),
    (
      "###> symfony/framework-bundle ###\nAPP_ENV=dev\nAPP_SECRET=d41d8c\n###< symfony ###\n"
        + "MERCURE_URL=https://example.com/.well-known/mercure\n",
      [
        "APP_ENV": "dev", "APP_SECRET": "d41d8c",
        "MERCURE_URL": "https://example.com/.well-known/mercure",
      ]
    ),
  ]

  @Test(arguments: common.indices)
  func `a file says what its writer meant`(index: Int) throws {
    let (file, variables) = Self.common[index]
    #expect(try Self.read(file).variables == variables)
  }

  @Test(.enabled(if: PythonPeer.isWanted, Comment(rawValue: PythonPeer.reason)))
  func `python-dotenv reads the same files in the same way`() throws {
    let folder = TemporaryFolder.shared
    let paths = try Self.common.enumerated().map { index, entry in
      try folder.file("dot-\(index).env", holding: entry.file)
    }
    let result = try PythonPeer.start("read_env.py", paths).result()
    let lines = result.outputText.split(separator: "\n")
    #expect(lines.count == Self.common.count && lines.count >= 40)
    for (line, entry) in zip(lines, Self.common) {
      let variables = try JSONDecoder().decode([String: String].self, from: Data(line.utf8))
      #expect(variables == entry.variables, "\(entry.file)")
    }
  }

  @Test(arguments: [
    ("S=x\nA='${S}'", "${S}"), ("S=x\nA=\"\\${S} ${S}\"", "${S} x"), ("A= # later", ""),
    ("\u{FEFF}A=1", "1"), ("A=\"one\r\ntwo\"\r\n", "one\ntwo"),
    ("S=x\nA=${S} ${S ${S\nB=${S}", "x ${S ${S"),
  ])
  func `dollar signs, comments, a mark of byte order and line ends in quotes are no surprise`(
    file: String, value: String
  ) throws {
    #expect(try Self.read(file).variables["A"] == value)
  }

  @Test func `lines that are not understood are told by their numbers`() throws {
    #expect(try Self.read("A=1\n=2\n\nB C=3\nD=\"4\n5\"\nE='x\nF=6").faultyLines == [2, 4, 7])
    #expect(try Self.read("A=1\r\nB=\"2\r\n3\"\r\n=\r\n").faultyLines == [4])
  }

  @Test func `values that double again and again end at the limit, which is named`() throws {
    let bomb =
      "A0=\(String(repeating: "x", count: 64))\n"
      + (1...30).map { "A\($0)=${A\($0 - 1)}${A\($0 - 1)}" }.joined(separator: "\n")
    #expect(throws: DotEnv.TooLarge.self) { try Self.read(bomb) }
    let files = PretendFiles(contents: [".env": bomb])
    #expect(
      refusal { _ = try subscribe("--env-file .env a", files: files) }
        == "--env-file: the values of .env are larger than 1024 KiB after ${NAME} is replaced")
    // Everything within the limit is taken.
    let most = "A=\(String(repeating: "x", count: DotEnv.expandedLimit / 2))\nB=${A}"
    #expect(try Self.read(most).variables["B"]?.utf8.count == DotEnv.expandedLimit / 2)
    #expect(throws: DotEnv.TooLarge.self) { try Self.read(most + "\nC=x") }
  }
}
