import Testing

@testable import pusher_cli

@Suite("--env-file, --url and the address of the HTTP API")
struct EnvFileTests {
  private static let laravel =
    "APP_NAME=Shop\nPUSHER_APP_ID=1\nPUSHER_APP_KEY=file-key\nPUSHER_APP_SECRET=\"file secret\"\n"
    + "PUSHER_HOST=\nPUSHER_APP_CLUSTER=eu\nVITE_PUSHER_APP_KEY=\"${PUSHER_APP_KEY}\"\n"
  private static let event = "-c a -e x data"

  private func files(_ text: String, at path: String = ".env") -> PretendFiles {
    PretendFiles(contents: [path: text], permissions: 0o644)
  }

  // MARK: The file as a source

  @Test func `a Laravel project's file says which app and server it is`() throws {
    let settings = try subscribe(
      "--env-file .env private-orders.1", files: files(Self.laravel))
    #expect(settings.connection.key == "file-key")
    #expect(settings.connection.host == "ws-eu.pusher.com")
    #expect(settings.authorization == .secret(Secret("file secret"), nil))
    #expect(settings.warnings.isEmpty)
    let sent = try trigger("--env-file .env " + Self.event, files: files(Self.laravel))
    #expect(sent.appID == "1")
    #expect(sent.connection.host == "api-eu.pusher.com")
  }

  @Test func `a file that an option names counts in place of the environment`() throws {
    let settings = try subscribe(
      "--env-file .env private-a",
      ["PUSHER_APP_KEY": "k", "PUSHER_APP_SECRET": "s", "PUSHER_HOST": "other.test"],
      files: files("REVERB_APP_KEY=rk\nREVERB_APP_SECRET=rs\nREVERB_HOST=reverb.test\n"))
    #expect(settings.connection.key == "rk")
    #expect(settings.connection.host == "reverb.test")
    #expect(settings.authorization == .secret(Secret("rs"), nil))
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
    #expect(settings.connection.key == "K")
    #expect(settings.connection.host == "h")
    #expect(settings.authorization == .secret(Secret("file secret"), nil))
  }

  @Test func `the file that the environment names counts where the environment has no key`() throws
  {
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
    #expect(app?.key == "file-key")
    #expect(app?.secret == "file secret")
  }

  // MARK: Mistakes

  @Test(arguments: [
    ("--env-file none a", "--env-file: cannot read 'none': no such file or directory"),
    ("--env-file .env --local a", "--local and --env-file exclude each other; give one"),
    (
      "--env-file empty.env a",
      "no app key in empty.env: it sets none of PUSHER_APP_KEY, REVERB_APP_KEY, SOKETI_DEFAULT_APP_KEY"
    ),
    ("--env-file bad.env a", "PUSHER_PORT in bad.env: 'x' is not a port from 1 to 65535"),
  ])
  func `a wrong file is named`(line: String, expected: String) {
    let files = PretendFiles(contents: [
      ".env": Self.laravel, "empty.env": "PUSHER_APP_KEY=\nDB=x\n",
      "bad.env": "PUSHER_APP_KEY=k\nPUSHER_PORT=x\n",
    ])
    #expect(refusal { _ = try subscribe(line, files: files) } == expected)
  }

  @Test func `lines that are not understood are warned of, at most three by number`() throws {
    let broken = "PUSHER_APP_KEY=k\n=1\n=2\n=3\n=4\n=5\n"
    let settings = try subscribe("--env-file .env a", files: files(broken))
    #expect(
      settings.warnings.map(\.text) == [
        ".env line 2 is not NAME=VALUE; the line is ignored",
        ".env line 3 is not NAME=VALUE; the line is ignored",
        ".env line 4 is not NAME=VALUE; the line is ignored",
        ".env: 2 more lines are ignored",
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
    #expect(settings.connection.key == "k")
    #expect(settings.connection.host == "ws-eu.pusher.com")
    #expect(settings.authorization == .secret(Secret("s"), nil))
  }

  // MARK: --url

  @Test(arguments: [
    ("wss://h:6001/app/K", "h", 6001, true, "", "K"),
    ("ws://h/app/K", "h", 80, false, "", "K"),
    ("https://h/app/K/", "h", 443, true, "", "K"),
    ("http://[::1]:6001/pre/fix/app/K", "::1", 6001, false, "/pre/fix", "K"),
    ("wss://h/ws", "h", 443, true, "/ws", "k"),
    ("wss://h", "h", 443, true, "", "k"),
  ])
  func `a URL says server, prefix and key`(
    url: String, host: String, port: Int, isSecure: Bool, path: String, key: String
  ) throws {
    let given = key == "k" ? "--key k " : ""
    let connection = try subscribe("\(given)--url \(url) a").connection
    #expect(connection.host == host)
    #expect(connection.port == port)
    #expect(connection.isSecure == isSecure)
    #expect(connection.path == path)
    #expect(connection.key == key)
  }

  @Test func `a URL of the HTTP API says the app's id`() throws {
    let settings = try trigger(
      "--url https://h:8080/apps/77 " + Self.event,
      ["PUSHER_APP_KEY": "k", "PUSHER_APP_SECRET": "s"])
    #expect(settings.appID == "77")
    #expect(settings.connection.host == "h")
    #expect(settings.connection.port == 8080)
  }

  @Test(arguments: [
    (
      "--url wss://k:hunter2@h/app/K a",
      "--url: a secret in the URL would show in ps; put the whole URL into PUSHER_URL"
    ),
    ("--url wss://h/app/K --host x a", "--url and --host exclude each other; give one"),
    ("--url wss://h/app/K --cluster eu a", "--url and --cluster exclude each other; give one"),
    ("--url wss://h/app/K --key K2 a", "--url and --key exclude each other; give one"),
    (
      "--url wss://h/app/K?a=b a",
      "--url: leave out '?' and the text after it; pusher-cli sets the query"
    ),
  ])
  func `a URL stands alone and holds no secret`(line: String, expected: String) {
    #expect(refusal { _ = try subscribe(line) } == expected)
  }

  @Test(arguments: ["nonsense", "ftp://h/app/K", "wss://h:x/app/K", "wss:///app/K"])
  func `a text that is not a URL is refused`(text: String) {
    #expect(refusal { _ = try subscribe("--url \(text) a") }?.hasPrefix("--url: ") == true)
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
