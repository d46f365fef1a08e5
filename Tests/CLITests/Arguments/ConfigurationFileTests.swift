import Testing

@testable import pusher_cli

struct `The configuration file: profiles and options of commands` {
  private static let path = "/home/u/.config/pusher-cli/config"
  private static let home = ["HOME": "/home/u"]
  /// The home, and an app in the environment.
  private static let own = home.merging(["PUSHER_APP_KEY": "k", "PUSHER_APP_SECRET": "s"]) { $1 }
  private static let file = """
    # The app that I work on.
    [profile default]
    key = default-key
    secret = "default secret"
    cluster = eu
    auth-endpoint = https://default.test/auth

    [profile shop]
    key = shop-key
    secret-file = ~/shop.secret
    host = reverb.test
    port = 8080
    scheme = http
    path = realtime
    insecure = true

    ; Options of one command.
    [subscribe]
    timestamps = true
    output = pretty
    exclude-event = pusher:*
    exclude-event = debug.*
    connect-timeout = 3s
    """

  private func files(_ text: String = file, at path: String = path) -> PretendFiles {
    PretendFiles(contents: [path: text, "/home/u/shop.secret": "shop secret\n"])
  }

  private func subscribe(
    _ line: String, _ environment: [String: String] = home, _ text: String = file
  ) throws -> SubscribeSettings {
    try read(line, environment, files(text))
  }

  private func read(
    _ line: String, _ environment: [String: String], _ files: PretendFiles
  ) throws -> SubscribeSettings {
    try SubscribeSettings(
      arguments("subscribe " + line), environment: environment, files: files.access)
  }

  // MARK: Profiles

  @Test func `the profile default counts when nothing else names an app`() throws {
    let settings = try subscribe("a")
    #expect(settings.connection.summary == "default-key https://ws-eu.pusher.com:443")
    guard case .endpoint(let endpoint) = settings.authorization else {
      Issue.record("\(settings.authorization)")
      return
    }
    #expect(endpoint.url == "https://default.test/auth")
  }

  @Test func `the environment names an app before the profile default does`() throws {
    // Settings of the other app's server are ignored.
    #expect(try subscribe("private-a", Self.own).summary == "s@k https://ws-mt1.pusher.com:443")
  }

  @Test(arguments: ["--profile shop", "-P shop", "-Pshop"])
  func `a profile that an option names comes before the environment`(option: String) throws {
    let settings = try subscribe(option + " private-a", Self.own)
    #expect(settings.summary == "shop secret@shop-key http://reverb.test:8080/realtime")
    #expect(settings.connection.tls.insecure)
  }

  @Test func `a profile that the environment names comes after the environment's own app`() throws {
    let named = Self.home.merging(["PUSHER_CLI_PROFILE": "shop"]) { $1 }
    #expect(try subscribe("a", named).connection.key == "shop-key")
    let both = named.merging(["PUSHER_APP_KEY": "k"]) { $1 }
    let settings = try subscribe("a", both)
    #expect(settings.connection.key == "k")
    #expect(!settings.connection.tls.insecure)
  }

  @Test func `options that are typed come before those of a profile`() throws {
    let settings = try subscribe("-P shop --host h --port 1 --scheme https --no-insecure a")
    #expect(settings.connection.summary.hasPrefix("shop-key https://h:1"))
    #expect(!settings.connection.tls.insecure)
  }

  @Test func `an option takes back what contradicts it in the file`() throws {
    let files = PretendFiles(contents: [Self.path: Self.file, "s": "typed\n", "ca.pem": ""])
    let settings = try read("--secret-file s private-a", Self.home, files)
    #expect(settings.authorization == .secret(Secret("typed"), nil))
    #expect(try !read("-P shop --cacert ca.pem a", Self.home, files).connection.tls.insecure)
  }

  @Test func `--local leaves profiles out`() throws {
    #expect(try subscribe("--local private-a").summary == "local@local http://127.0.0.1:6001")
  }

  @Test func `a file that others can read is warned of when it holds a secret`() throws {
    var files = files()
    files.permissions = 0o644
    let warnings = try read("a", Self.home, files).warnings.map(\.text)
    #expect(warnings.contains("other users can read \(Self.path); run chmod 600 \(Self.path)"))
    var open = PretendFiles(contents: [Self.path: "[profile default]\nkey = k\n"])
    open.permissions = 0o644
    #expect(try read("a", Self.home, open).warnings.isEmpty)
  }

  // MARK: Options of commands

  @Test func `options of the command count unless typed`() throws {
    let printing = try subscribe("a").printing
    #expect(printing.form.hasTimestamps && printing.form.output == .pretty)
    #expect(printing.excludedEvents == ["pusher:*", "debug.*"])
    #expect(try subscribe("a").connection.connectTimeout == .seconds(3))
    let typed = try subscribe("--no-timestamps -o raw -x typed --connect-timeout 1s a")
    #expect(!typed.printing.form.hasTimestamps && typed.printing.form.output == .raw)
    #expect(typed.printing.excludedEvents == ["typed"])
    #expect(typed.connection.connectTimeout == .seconds(1))
  }

  @Test func `a variable comes before the file, and the file before what is built in`() throws {
    let environment = Self.home.merging(["PUSHER_CLI_OUTPUT": "raw"]) { $1 }
    #expect(try subscribe("a", environment).printing.form.output == .raw)
    #expect(try subscribe("a", ["PUSHER_APP_KEY": "k"]).printing.form.output == .json)
  }

  @Test func `the output of a file gives way to what is typed or in the environment`() throws {
    let file = "[profile p]\nkey = k\noutput = raw\n[subscribe]\noutput = raw\n"
    let environment = Self.home.merging(["PUSHER_CLI_OUTPUT": "json"]) { $1 }
    func output(_ line: String, _ environment: [String: String]) throws -> OutputFormat {
      try subscribe(line, environment, file).printing.form.output
    }
    #expect(try output("--key k a", Self.home) == .raw)
    #expect(try output("--key k -o pretty a", Self.home) == .pretty)
    #expect(try output("--key k a", environment) == .json)
    #expect(try output("-P p a", environment) == .raw)
    #expect(try subscribe("--key k -F %e a", Self.home, file).printing.form.output == .json)
  }

  @Test func `options of another command do not count`() throws {
    let settings = try sse("http://h/", Self.home, files: files())
    #expect(!settings.printing.form.hasTimestamps)
  }

  // MARK: Choice of the file

  @Test func `the file is where XDG_CONFIG_HOME, an option or a variable says`() throws {
    let text = "[profile default]\nkey = elsewhere\n"
    for (line, environment, path) in [
      ("a", ["XDG_CONFIG_HOME": "/x", "HOME": "/home/u"], "/x/pusher-cli/config"),
      ("--config my.conf a", [:], "my.conf"),
      ("a", ["PUSHER_CLI_CONFIG": "my.conf"], "my.conf"),
    ] {
      #expect(try read(line, environment, files(text, at: path)).connection.key == "elsewhere")
    }
  }

  @Test func `the system's file is read after the user's`() throws {
    let system = "/etc/xdg/pusher-cli/config"
    let files = PretendFiles(contents: [
      Self.path: "[profile default]\nkey = user\n[subscribe]\ntimestamps = false\n",
      system:
        "[profile default]\nkey = system\n[profile b]\nkey = b\n[subscribe]\ntimestamps = true\n",
    ])
    #expect(try read("a", Self.home, files).connection.key == "user")
    #expect(try !read("a", Self.home, files).printing.form.hasTimestamps)
    #expect(try read("-P b a", Self.home, files).connection.key == "b")
    #expect(try read("a", [:], files).connection.key == "system")
  }

  // MARK: Mistakes

  @Test(
    arguments: #"""
      secret = k => config line 1 is in no section: put it under [profile NAME] or [COMMAND]
      [profile a]\nBearer abc== => config line 2 is not OPTION = VALUE
      [shop] => config line 1: '[shop]' is not [profile NAME] or [COMMAND]
      [profile] => config line 1: '[profile]' is not [profile NAME] or [COMMAND]
      [profile a => config line 1: '[profile a' is not [profile NAME] or [COMMAND]
      \n[profile a]\nkey => config line 3 is not OPTION = VALUE
      [profile a]\nkye = k => config line 2: unknown option 'kye'; did you mean 'key'?
      [profile a]\nurl = wss://h => config line 2: unknown option 'url'
      [sse]\nchannel = a => config line 2: unknown option 'channel'
      [subscribe]\ntimestamps = yes => config line 2: timestamps must be true or false
      [subscribe]\ncount = => config line 2: count needs a value
      """# as Table)
  func `a line without a meaning is named, and its value is not`(row: Table.Row) {
    let text = row.input.replacing("\\n", with: "\n")
    row.expectRefusal { _ = try read("--key k --config config a", [:], files(text, at: "config")) }
  }

  @Test(
    arguments: """
      -P shp a => --profile: no profile 'shp'; did you mean 'shop'?
      -P quite-another a => --profile: no profile 'quite-another'; the profiles are default, shop
      --config none a => --config: cannot read 'none': no such file or directory
      """ as Table)
  func `a profile or a file that is not there is named`(row: Table.Row) {
    row.expectRefusal(after: "subscribe ", Self.home, files: files())
  }

  @Test func `a profile without a key is no app`() {
    #expect(
      refusal { _ = try subscribe("-P a a", Self.home, "[profile a]\nhost = h\n") }
        == "no app key in the profile 'a': add a line 'key = KEY'")
  }
}
