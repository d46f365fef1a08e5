import Testing

@testable import pusher_cli

struct `Reading the command line` {
  @Test(arguments: [
    "subscribe --count 5 room", "subscribe --count=5 room", "subscribe -n 5 room",
    "subscribe -n5 room", "subscribe -n=5 room", "--count 5 subscribe room",
    "subscribe room --count 5", "sub -n5 -- room", "subscribe -n 3 -n 5 room",
  ])
  func `every way to write a value means the same`(line: String) throws {
    let typed = try arguments(line)
    #expect(typed.command == .subscribe)
    #expect(typed[.count].integer == 5)
    #expect(typed.operands == ["room"])
  }

  @Test func `letters without a value are joined, the last may take one`() throws {
    let typed = try arguments("subscribe -tLn5 a")
    #expect(typed[.timestamps].isOn && typed[.lifecycle].isOn && typed[.count].integer == 5)
  }

  @Test func `a double hyphen ends the options`() throws {
    let typed = try arguments("subscribe -- -c --key")
    #expect(typed.operands == ["-c", "--key"])
    #expect(typed[.key].text == nil)
  }

  @Test func `a lone hyphen is a value and an operand`() throws {
    let typed = try arguments("subscribe --secret-file - -")
    #expect(typed[.secretFile].text == "-")
    #expect(typed.operands == ["-"])
  }

  @Test func `lists repeat and are not split at commas`() throws {
    let typed = try arguments("subscribe -c a,b --channel c -e x -e y,z")
    #expect(typed[.channel].texts == ["a,b", "c"])
    #expect(typed[.event].texts == ["x", "y,z"])
  }

  @Test func `a toggle is taken back, the last mention counts`() throws {
    #expect(try !arguments("subscribe a -t --no-timestamps")[.timestamps].isOn)
    #expect(try arguments("subscribe a --no-timestamps -t")[.timestamps].isOn)
    #expect(try !arguments("subscribe a --no-compression")[.compression].isOn)
    #expect(try arguments("subscribe a")[.compression].isOn)
  }

  @Test(arguments: [
    ("-qv", Verbosity.verbose), ("-vvq", .quiet), ("-vv", .frames), ("-v --no-verbose", .normal),
  ])
  func `quiet and verbose cancel; the last counts`(letters: String, verbosity: Verbosity) throws {
    #expect(try subscribe("--local a " + letters).verbosity == verbosity)
  }

  @Test(
    arguments: """
      --key --channel x
        => option --key needs a value (found '--channel'; write --key=--channel if you mean that)
      -k -c x => option -k needs a value (found '-c'; write --key=-c if you mean that)
      --key => option --key needs a value
      --key= => option --key needs a value (found an empty one)
      --key=--channel x => accepted
      --tee=yes a => option --tee takes no value
      --no-tee=1 a => option --no-tee takes no value
      --no-key a => option --key has no --no- form; leave it out
      """ as Table)
  func `a missing value is found, and one too many`(row: Table.Row) {
    row.expectRefusal { _ = try arguments("subscribe " + row.input) }
  }

  @Test func `--data alone may be empty`() throws {
    #expect(try arguments(["trigger", "--data", ""])[.data].text == "")
    #expect(try arguments(["trigger", "-d="])[.data].text == "")
    #expect(refusal { _ = try arguments(["trigger", "-e", ""]) } != nil)
  }

  @Test(
    arguments: """
      --chanel a => unknown option '--chanel'; did you mean '--channel'?
      --hots a => unknown option '--hots'; did you mean '--host'?
      --clock a => unknown option '--clock'
      --times a => unknown option '--times'; did you mean '--timestamps'?
      --exclude a => unknown option '--exclude'; did you mean '--exclude-event'?
      --zzz a => unknown option '--zzz'
      --no-compresion a => unknown option '--no-compresion'; did you mean '--no-compression'?
      --chan a => unknown option '--chan'; did you mean '--channel'?
      -tz a => unknown option '-z' in '-tz'
      -z a => unknown option '-z'
      -key K a => unknown option '-key'; did you mean '--key'?
      -count=5 a => unknown option '-count'; did you mean '--count'?
      -C 1 a => subscribe has no option -C: -n N (--count) ends the run after N events
      -d x a => subscribe has no option -d (--data belongs to sse, trigger, sign and verify)
      a -d => subscribe has no option -d (--data belongs to sse, trigger, sign and verify)
      """ as Table)
  func `an unknown option is named with the nearest one`(row: Table.Row) {
    row.expectRefusal(after: "subscribe ")
  }

  @Test(
    arguments: """
      -s => sse has no option -s: only events are printed; -q also hides messages
      -N => sse has no option -N: every event is printed at once anyway
      -m 5 => sse has no option -m: -W TIME ends the run after TIME
      -u a:b => sse has no option -u: put the URL with USER:PASSWORD@ into a file, and give @FILE
      --json {} => sse has no option --json: -d DATA sends JSON with its Content-Type
      -f => sse has no option -f: a refused request ends with a status other than 0 anyway
      -w %{json} => sse has no option -w: -i shows the answer's status and fields
      --compressed => sse has no option --compressed: --compression asks for gzip or deflate
      """ as Table)
  func `an option of curl is refused with the name of ours`(row: Table.Row) {
    row.expectRefusal(after: "sse http://a/ ")
  }

  @Test(arguments: [
    "--secret hunter2", "--secret=hunter2", "--app-secret=hunter2", "--scret=hunter2",
  ])
  func `a secret as an argument is explained and not repeated`(typed: String) throws {
    let message = try #require(refusal(of: "subscribe \(typed) a"))
    #expect(!message.contains("hunter2"))
    let isExplained = message.contains("would show in ps; use --secret-file or PUSHER_APP_SECRET")
    #expect(isExplained == !typed.hasPrefix("--scret"))
  }

  @Test(
    arguments: """
      --count 0 => option --count: '0' is not a whole number of at least 1
      --count -5 => option --count: '-5' is not a whole number of at least 1
      --port 65536 => option --port: '65536' is not a whole number from 1 to 65535
      --timeout 5x => option --timeout: '5x' is not a time such as 500ms, 30s, 5m or 1h30m
      --buffer 1 => option --buffer: '1' is not a size from 64k to 1G
      -o jsn => option --output: 'jsn' is not one of json, pretty, raw; did you mean 'json'?
      --scheme ftp => option --scheme: 'ftp' is not one of https, http, wss, ws
      """ as Table)
  func `a value its kind refuses is named`(row: Table.Row) {
    row.expectRefusal(after: "subscribe a ")
  }

  @Test func `a mistake points to the command's help in one more line`() throws {
    #expect(throws: UsageError("unknown option '--zzz'", helpFor: .subscribe)) {
      try arguments("--zzz subscribe a")
    }
    let error = UsageError("x", helpFor: .subscribe)
    #expect(error.pointer == "Try 'pusher-cli subscribe --help'.")
    #expect(UsageError("x", helpFor: nil).pointer == "Try 'pusher-cli --help'.")
  }
}

struct `Choosing what to do` {
  @Test(arguments: [
    "subscribe --help", "--help subscribe", "subscribe -h", "subscribe --nonsense --help",
    "subscribe --key --help", "subscribe -qh", "-zh subscribe -h", "subscribe --version -h",
    "subscribe --tee=1 -h", "help subscribe", "help sub",
  ])
  func `--help wins over every other argument`(line: String) throws {
    let invocation = try Invocation(line.split(separator: " ").map(String.init))
    #expect(invocation == .page(.command(.subscribe, complete: false), .success))
  }

  @Test func `help behind the end of options or as a value is not asked for`() throws {
    #expect(try arguments("subscribe -- --help").operands == ["--help"])
    #expect(try arguments("subscribe a --key=--help")[.key].text == "--help")
    #expect(try arguments("subscribe a -kh")[.key].text == "h")
  }

  @Test func `every option is shown on request`() throws {
    #expect(
      try Invocation(["trigger", "--help-all"])
        == .page(.command(.trigger, complete: true), .success))
  }

  @Test func `without arguments the short help is shown and the status is that of misuse`() throws {
    #expect(try Invocation([]) == .page(.overview, .usage))
    #expect(HelpPage.overview.text.split(separator: "\n").count <= 20)
  }

  @Test(arguments: [
    ("", HelpPage.overview), (" exit-codes", .exitCodes), (" environment", .environment),
    (" output", .output), (" where", .flag("where")), (" patterns", .flag("event", of: .subscribe)),
    (" faults", .faults), (" idle-timeout", .flag("idle-timeout")),
    (" webhook", .command(.webhook, complete: false)),
    (" webhook send", .webhook(.send, complete: false)),
  ])
  func `each topic of help has its page`(word: String, page: HelpPage) throws {
    let words = "help\(word)".split(separator: " ").map(String.init)
    #expect(try Invocation(words) == .page(page, .success))
  }

  @Test(arguments: [
    ("--version", false), ("-V", false), ("version", false), ("subscribe -V --oops", false),
    ("version --verbose", true), ("version -v", true), ("--version -v", true), ("-vV", true),
    ("subscribe -vV", true),
  ])
  func `the version is told, with its build if asked for`(line: String, isVerbose: Bool) throws {
    let words = line.split(separator: " ").map(String.init)
    #expect(try Invocation(words) == .version(isVerbose: isVerbose))
  }

  @Test(arguments: [
    ("pub", "trigger"), ("publish", "trigger"), ("send", "trigger"), ("listen", "subscribe"),
    ("tail", "subscribe"),
  ])
  func `a command's name in other programs leads to ours`(word: String, command: String) {
    let hint = "did you mean '\(command)'?"
    #expect(refusal(of: "\(word) -t topic") == "unknown command '\(word)'; \(hint)")
    #expect(refusal { _ = try Invocation(["help", word]) } == "no help on '\(word)'; \(hint)")
    #expect(refusal(of: "config \(word)")?.hasSuffix("(found '\(word)'); \(hint)") == true)
  }

  @Test(
    arguments: """
      https://user:pass@a/?token=1
        => unknown command 'https://…'; did you mean 'pusher-cli sse https://…'?
      ws://a/app/k
        => unknown command 'ws://…'; did you mean 'pusher-cli subscribe --url ws://…'?
      whisper a => …'pusher-cli subscribe --stdin'…
      subscibe a => unknown command 'subscibe'; did you mean 'subscribe'?
      trig a => unknown command 'trig'; did you mean 'trigger'?
      orders => unknown command 'orders'
      -q => no command: give one of subscribe, sse, serve, trigger, channels, users, terminate, auth,
        sign, verify, webhook, check, bench, config, completion, help, version
      help exit-code => no help on 'exit-code'; did you mean 'exit-codes'?
      serve x => serve takes a command only after '--' (found 'x')
      trigger -C 1 => unknown option '-C'
      trigger --count 1
        => trigger has no option --count (it belongs to subscribe, sse and webhook)
      trigger --count => trigger has no option --count (it belongs to subscribe, sse and webhook)
      serve --user-id 7
        => serve has no option --user-id (it belongs to subscribe, auth, sign, verify, webhook and
        check)
      """ as Table)
  func `an unknown command is named with the nearest one`(row: Table.Row) {
    row.expectRefusal { _ = try Invocation(row.input.split(separator: " ").map(String.init)) }
  }

  @Test(arguments: [
    "127.0.0.1", "localhost", "localhost:1883", "test.mosquitto.org", "::1", "10.0.0.7:80",
  ])
  func `a host after -h is a mistake that is told`(host: String) throws {
    #expect(
      refusal { _ = try Invocation(["sub", "-h", host, "-t", "a"]) }
        == "-h shows help and takes no host (found '\(host)'): give it with --host")
    #expect(
      try Invocation(["sub", "--help", host])
        == .page(.command(.subscribe, complete: false), .success))
  }

  @Test(arguments: ["news", "orders.1", "private-a.b", "a:b", "--", "1.2"])
  func `any other word after -h leaves it help`(word: String) throws {
    #expect(
      try Invocation(["sub", "-h", word, "127.0.0.1"])
        == .page(.command(.subscribe, complete: false), .success))
  }
}
