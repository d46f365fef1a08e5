import Testing

@testable import pusher_cli

/// Every option with every command: it changes the run, or is refused with the right one.
struct `No option is accepted without an effect` {
  /// Words that give an option its use, beside the options that its row needs.
  private static let company: [String: String] = [
    "subscribe --discover": "*", "subscribe --max-channels": "*", "subscribe --app-id": "*",
    "subscribe --api-host": "*", "subscribe --api-port": "*", "subscribe --api-url": "*",
    "subscribe --sign-in": "--user-id 7", "subscribe --watch": "--user-id 7",
    "sse --retry-post": "--data x", "serve --timestamps": "--log-events",
    "check --user-info": "--user-id 7", "subscribe --user-info": "--user-id 7",
    "subscribe --rewind": "--service sockudo", "subscribe --state-file": "--service sockudo",
  ]

  /// Command lines for options that the usual one leaves without use.
  private static let lines: [String: String] = [
    "trigger --batch": "trigger -", "trigger --rate": "trigger -", "trigger --speed": "trigger -",
    "trigger --data": "trigger -c a -e e", "auth --user-info": "auth --socket-id 1.2 --user-id 7",
    "auth --encryption-key-file": "auth private-encrypted-a --socket-id 1.2",
    "bench --encryption-key-file": "bench -c private-encrypted-load",
    "channels --prefix": "channels", "channels --info": "channels",
  ]

  /// Values that the kind of a value does not give.
  private static let values: [String: String] = [
    "header": "X:1", "auth-header": "X:1", "forward-header": "X:1", "auth-param": "a=b",
    "user-info": "{}", "where": "data", "format": "%e", "url": "https://u.example:9",
    "proxy": "http://p:1", "auth-endpoint": "http://e/", "user-auth-endpoint": "http://e/",
    "forward": "http://f/", "webhook": "http://w/", "to": "http://b/", "api-url": "http://b/p",
    "pin-sha256": "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=", "socket-id": "8.9",
    "env-file": "env", "profile": "p", "config": "conf", "secret-file": "secret", "apps": "apps",
    "cacert": "pem", "tls-cert": "pem", "tls-key": "pem", "encryption-key-file": "key",
    "compare": "bench", "fail": "connected==1", "find": "errors==0", "fault": "drop",
    "redis": "redis://r",
    "listen": "127.0.0.1:9", "metrics": "127.0.0.1:9", "allow-origin": "https://o.example",
    "allow-host": "o.example", "rate": "7", "speed": "2", "method": "PUT", "fail-where": "data",
    "info": "subscription_count", "path": "/p", "service": "eventflit", "color": "never",
    "rewind": "5",
  ]

  private static func words(for flag: Flag, of command: Command) -> [String] {
    let special = command == .webhook && flag == .event ? "channel_*" : values[flag.name]
    switch flag.value {
    case .toggle: return [flag.isOnByDefault ? "--no-" + flag.name : flag.spelling]
    case .counter: return [flag.spelling]
    case .text: return [flag.spelling, special ?? "private-x"]
    case .integer(let range, _): return [flag.spelling, "\(max(range.lowerBound, 63))"]
    case .duration: return [flag.spelling, "7s"]
    case .size(let range): return [flag.spelling, "\(range.lowerBound + 1)"]
    case .choice(let words, _):
      // `check` and `bench` print for people by default.
      let isTable = flag == .output && (command == .check || command == .bench)
      let others = words.filter { isTable || $0 != flag.standard }
      return [flag.spelling, special ?? others[0]]
    }
  }

  /// Returns the words of the options that a row needs.
  private static func needs(of flag: Flag, in command: Command) -> [String] {
    guard let name = flag.needs.first, let needed = Flag.named(name, for: command) else {
      return []
    }
    return needs(of: needed, in: command).filter { $0 != flag.spelling }
      + words(for: needed, of: command)
  }

  private static func blanks(_ text: String) -> [String] {
    text.split(separator: " ").map(String.init)
  }

  @Test(arguments: CommandUse.all)
  func `an option of a command changes its run`(use: CommandUse) {
    for flag in Flag.of(use.command) where flag.role != .action {
      let pair = "\(use.command.rawValue) \(flag.spelling)"
      let start = Self.blanks(Self.lines[pair] ?? "\(use.name) \(use.line)")
      let isMutual = flag.needs.contains {
        Flag.named($0, for: use.command)?.needs.contains(flag.name) == true
      }
      let company =
        Self.blanks(Self.company[pair] ?? "")
        + (isMutual ? [] : Self.needs(of: flag, in: use.command))
      let partner = isMutual ? Self.words(for: Flag.named(flag.needs[0]) ?? flag, of: .serve) : []
      let first = start + company
      do {
        let second = first + partner + Self.words(for: flag, of: use.command)
        #expect(try use.differs(first, second), "\(use.name) accepts \(pair) without an effect")
      } catch let error as UsageError {
        // The other words of the command have the option.
        let isOfOtherWord =
          use.name.contains(" ") && error.message.hasPrefix("\(use.name) has no option --")
          || error.message.contains("leave out \(flag.spelling)")
        #expect(isOfOtherWord, "\(second(first, flag, use)): \(error.message)")
      } catch { Issue.record("\(pair): \(error)") }
    }
  }

  private func second(_ first: [String], _ flag: Flag, _ use: CommandUse) -> String {
    (first + Self.words(for: flag, of: use.command)).joined(separator: " ")
  }

  @Test(arguments: Command.allCases)
  func `an option of others is refused, and the right one named`(command: Command) {
    for name in Set(Flag.all.map(\.name)) {
      guard let flag = Flag.named(name, for: command), !flag.commands.contains(command) else {
        continue
      }
      let argument = flag.takesValue ? Argument.value(flag, "x") : .on(flag)
      let message = refusal { _ = try TypedArguments(command, [argument]) } ?? ""
      let start = "\(command.rawValue) has no option \(flag.spelling)"
      #expect(message.hasPrefix(start), "\(command.rawValue) \(flag.spelling): \(message)")
      let rest = message.dropFirst(start.count)
      #expect(rest.hasPrefix(": ") || rest.hasPrefix(" (it belongs to "), "\(message)")
    }
  }

  @Test func `each command with settings, and each word of a command, is tried`() throws {
    #expect(Set(CommandUse.all.map(\.command)) == Set<Command>.talking)
    for use in CommandUse.all {
      let words = Self.blanks("\(use.name) \(use.line)")
      #expect(try !use.differs(words, words), "\(use.name)")
    }
  }

  @Test(
    arguments: """
      sse --cluster eu http://h/
        => sse has no option --cluster: its URL names the server; for channels, use 'pusher-cli
        subscribe'
      sse -k http://h/
        => sse has no option -k: -k is --key; to skip the check of the certificate, give --insecure
      serve --host ::1 => serve has no option --host: give its address with --listen HOST:PORT
      serve 8085 => serve takes a command only after '--' (found '8085'); give --port 8085
      serve 8085x => serve takes a command only after '--' (found '8085x')
      bench -c 50 => -c is --channel, a name, and '50' is a number: give --subscribers 50
      bench -n 50 => bench has no option -n: --rate and --time set the number of events
      trigger c e {} => trigger takes one argument, the data: give -c c -e e
      trigger -c c e {} => trigger takes one argument, the data: give -e e
      trigger -e e c {} => trigger takes one argument, the data: give -c c
      trigger -e e -c c a b => trigger takes one argument, the data (found 'b' too); quote it as one
      subscribe a -F json => --format prints its text, here 'json': for this format, give -o json
      check a -W 5s => check has no option -W: --connect-timeout limits the wait
      users -c presence-a => users has no option -c: give the channel as an argument
      auth private-a --socket-id 1.2 --host h
        => auth has no option --host: it signs without a server; leave the option out
      sign channel private-a --socket-id 1.2 --timestamp 5
        => sign channel has no option --timestamp (it belongs to sign request)
      verify request GET /a --socket-id 1.2
        => verify request has no option --socket-id (it belongs to verify channel and user)
      webhook listen --host h => webhook listen has no option --host (it belongs to webhook send)
      subscribe --max-channels 3 a
        => --max-channels is for patterns: give one as a channel, such as 'private-*'
      """ as Table)
  func `a habit of another command or program is told the right option`(row: Table.Row) {
    row.expectRefusal(["PUSHER_APP_KEY": "k", "PUSHER_APP_SECRET": "s", "PUSHER_APP_ID": "1"])
  }

  @Test(arguments: [
    ("--port 8085", 8085), ("-p 8085", 8085), ("--config c --port 2", 2), ("--config d", 3),
    ("--config d --listen :4", 4),
  ])
  func `the port of serve is the port of its address`(line: String, port: Int) throws {
    let contents = ["c": "[serve]\nlisten = 127.0.0.1:1\n", "d": "[serve]\nport = 3\n"]
    let settings = try serve(line, files: PretendFiles(contents: contents))
    #expect(settings.listen.host == "127.0.0.1" && settings.listen.port == port)
    #expect(settings.warnings.isEmpty || line.contains("config"))
    let environment = ["REVERB_APP_KEY": "k", "REVERB_HOST": "localhost", "REVERB_PORT": "8080"]
    #expect(try serve("--port 0", environment).listen.port == 0)
  }

  @Test func `the sockets of bench send the fields of a file`() throws {
    let files = PretendFiles(contents: ["h": "X-Token: 1\n"])
    let settings = try BenchSettings(
      arguments("bench --local -H @h"), environment: [:], files: files.access)
    #expect(settings.subscription.destination.headers["X-Token"] == "1")
  }
}
