import Foundation
import PusherCore
import Testing

@testable import pusher_cli

/// Checks that hold at every verbosity, on every terminal and in every shell.
@Suite("What a script and a person can rely on", .runsPrograms)
struct AcceptanceTests {
  private func ticking(_ count: Int = 3) throws -> ScriptedServer {
    try ScriptedServer.joined { connection in
      for number in 1...count { try connection.send(event: "tick", data: "\(number)") }
    }
  }

  private static func line(_ number: Int) -> String {
    #"{"event":"tick","channel":"news","data":\#(number)}"# + "\n"
  }

  // MARK: Standard output

  @Test(arguments: [[], ["-q"], ["-v"], ["-vv"], ["--stats", "10ms"], ["--color", "auto"]])
  func `at any verbosity standard output holds the events and nothing else`(options: [String])
    throws
  {
    let server = try ticking()
    let result = try PusherCLI.run(
      ["subscribe"] + server.address + ["news", "-n", "3"] + options)
    #expect(result.ending == .exited(0))
    #expect(result.outputText == (1...3).map(Self.line).joined())
  }

  @Test func `on a terminal it asks nothing, pages nothing and shows the same bytes`() throws {
    let terminal = try PseudoTerminal()
    let server = try ticking(60)
    let program = try ChildProgram(
      PusherCLI.path,
      ["subscribe"] + server.address + ["news", "-n", "60", "--color", "never", "-q"],
      environment: PusherCLI.environment.merging(["PAGER": "false"]) { $1 }, on: terminal.path)
    try terminal.await("\"data\":60}\r\n")
    #expect(try program.wait() == .exited(0))
    #expect(terminal.text == (1...60).map(Self.line).joined().replacing("\n", with: "\r\n"))
  }

  @Test func `a secret in the environment earns no warning, nor does a file of the owner's alone`()
    throws
  {
    let file = try TemporaryFolder.shared.file("own-secret", holding: "s\n")
    chmod(file, 0o600)
    let settings =
      [
        ([], ["PUSHER_APP_SECRET": "s"]), (["--secret-file", file], [:]),
      ] as [([String], [String: String])]
    for (options, environment) in settings {
      let server = try ScriptedServer.joined { connection in
        try connection.send(event: "tick", channel: "private-a", data: "1")
      }
      let result = try PusherCLI.run(
        ["subscribe"] + server.address + ["private-a", "-n", "1"] + options,
        environment: environment)
      #expect(result.ending == .exited(0) && result.errorText == "", "\(result.errorText)")
    }
  }

  // MARK: Colour

  /// Destinations of standard output and standard error, and the colour settings of the
  /// environment.
  struct Screen: Sendable, CustomTestStringConvertible {
    var outputIsTerminal: Bool
    var errorIsTerminal: Bool
    var environment: [String: String]
    var colours: Bool

    var testDescription: String {
      "\(environment) out: \(outputIsTerminal) err: \(errorIsTerminal)"
    }
  }

  static let screens: [Screen] = [
    (["TERM": "xterm"], true), (["TERM": "xterm", "NO_COLOR": "1"], false),
    (["TERM": "xterm", "NO_COLOR": ""], true), (["TERM": "xterm", "FORCE_COLOR": "0"], true),
    (["TERM": "dumb"], false),
  ].flatMap { environment, colours in
    [(true, true), (true, false), (false, true), (false, false)].map {
      Screen(
        outputIsTerminal: $0.0, errorIsTerminal: $0.1, environment: environment, colours: colours)
    }
  }

  @Test(arguments: screens)
  func `each stream is coloured by where it leads itself, and by what the environment says`(
    screen: Screen
  ) throws {
    let server = try ScriptedServer { connection in
      try connection.join()
      try connection.send(event: "tick", data: #"{"a":1}"#)
      try connection.close(code: 4001)
    }
    let (output, error) = (try PseudoTerminal(), try PseudoTerminal())
    let files = (
      TemporaryFolder.shared.file("screen-output"), TemporaryFolder.shared.file("screen-error")
    )
    let paths = [
      screen.outputIsTerminal ? output.path : files.0,
      screen.errorIsTerminal ? error.path : files.1,
    ]
    let shell = try ChildProgram(
      "/usr/bin/env",
      ["sh", "-c", #"out=$1 err=$2; shift 2; exec "$0" "$@" >"$out" 2>"$err""#, PusherCLI.path]
        + paths + ["subscribe"] + server.address + ["news"],
      environment: PusherCLI.environment.merging(screen.environment) { $1 })
    #expect(try shell.wait() == .exited(3))
    let shown = (
      try screen.outputIsTerminal ? output.text : String(contentsOfFile: files.0, encoding: .utf8),
      try screen.errorIsTerminal ? error.text : String(contentsOfFile: files.1, encoding: .utf8)
    )
    #expect(shown.0.contains("tick") && shown.1.contains("4001"), "\(shown)")
    #expect(shown.0.contains("\u{1B}") == (screen.outputIsTerminal && screen.colours), "\(shown)")
    #expect(shown.1.contains("\u{1B}") == (screen.errorIsTerminal && screen.colours), "\(shown)")
  }

  // MARK: A frozen server

  @Test func `a frozen server is found out by its pong, and the watchdog hears no more`()
    throws
  {
    let manager = try ListeningManager(isAbstract: false)
    let server = try LocalServer()
    let program = try PusherCLI.start(
      ["subscribe"] + server.address
        + ["news", "--activity-timeout", "300ms", "--pong-timeout", "1s", "--reconnect", "never"],
      environment: LocalServer.environment("local-secret").merging(
        ["NOTIFY_SOCKET": manager.name, "WATCHDOG_USEC": "400000"]) { $1 })
    #expect(manager.await("READY=1\nSTATUS=subscribed to 1 channel of 127.0.0.1"))
    for _ in 0..<3 { #expect(manager.await("WATCHDOG=1")) }
    server.signal(SIGSTOP)
    defer { server.signal(SIGCONT) }
    #expect(try program.result().errorText.contains("no pong for"))
    #expect(try program.wait() == .exited(4))
    let rest = manager.rest()
    // Notifications sent before the server froze, and those in transit.
    #expect(rest.count { $0 == "WATCHDOG=1" } <= 4, "\(rest)")
    #expect(rest.last == "STOPPING=1")
  }

  // MARK: Record and replay

  @Test func `what tee keeps of a run, trigger sends again`() throws {
    let (first, second) = (try LocalServer(), try LocalServer())
    let file = TemporaryFolder.shared.file("recording")
    let recorder = try ChildProgram(
      "/usr/bin/env",
      ["sh", "-c", #"file=$1; shift; "$0" subscribe -t "$@" | tee "$file""#, PusherCLI.path, file]
        + first.address + ["news", "private-a", "-n", "3"],
      environment: PusherCLI.environment.merging(LocalServer.environment("local-secret")) { $1 })
    try waitUntil("both channels are subscribed") {
      try PusherCLI.run(
        ["channels"] + first.address, environment: LocalServer.environment("local-secret")
      ).outputText.split(separator: "\n").count == 2
    }
    let sent = [("news", "a", #"{"n":1.10}"#), ("private-a", "b", "text"), ("news", "c", "[]")]
    for (channel, event, data) in sent { _ = try first.trigger(channel, event, data) }
    #expect(try recorder.wait() == .exited(0))
    let listener = try second.subscribe(["news", "private-a"], "-L")
    let replay = try PusherCLI.start(
      ["trigger"] + second.address + ["-"],
      environment: LocalServer.environment("local-secret"), input: .file(file))
    #expect(try replay.wait() == .exited(0))
    #expect(
      try listener.lines(3) == [
        #"{"event":"a","channel":"news","data":{"n":1.10}}"#,
        #"{"event":"b","channel":"private-a","data":"text"}"#,
        #"{"event":"c","channel":"news","data":[]}"#,
      ])
  }

  // MARK: Help and installation

  @Test(arguments: Command.allCases)
  func `help is on standard output with status 0, and begins with examples`(command: Command) throws
  {
    guard command != .help, command != .version else { return }
    for words in [["--help"], ["-h", "--nonsense"]] {
      let result = try PusherCLI.run([command.rawValue] + words)
      #expect(result.ending == .exited(0) && result.errorText == "")
      #expect(result.outputText.hasPrefix("Usage: pusher-cli \(command.rawValue)"))
      let examples = result.outputText.components(separatedBy: "\n\n").dropFirst().first ?? ""
      #expect(examples.hasPrefix("  ") && examples.contains("pusher-cli "), "\(examples)")
    }
  }

  @Test func `the version is one line on standard output`() throws {
    for words in [["--version"], ["-V"], ["version"]] {
      let result = try PusherCLI.run(words)
      #expect(result.ending == .exited(0) && result.errorText == "")
      #expect(result.outputText.wholeMatch(of: /pusher-cli [0-9][^\n]*\n/) != nil)
    }
  }

  @Test func `the version with its build names all that a bug report needs`() throws {
    let result = try PusherCLI.run(["version", "--verbose"])
    #expect(result.ending == .exited(0) && result.errorText == "")
    let lines = result.outputText.split(separator: "\n")
    #expect(lines.first == "pusher-cli \(Version.current)")
    let names = lines.dropFirst().map { $0.prefix { $0 != ":" } }
    #expect(
      names == ["commit", "swift", "openssl", "encrypted channels", "redis", "system"], "\(lines)")
    #expect(lines.contains { $0.hasPrefix("openssl: OpenSSL 3.") })
    #expect(lines.last?.hasPrefix("system: ") == true && lines.last?.hasSuffix("unknown") == false)
  }

  @Test(.needs(.program("make")))
  func `make install puts program, manual and completions where it is told, and takes them away`()
    throws
  {
    let root = TemporaryFolder.shared.file("installed")
    func make(_ door: String) throws -> ProgramResult {
      try PusherCLI.tool([
        "make", "-C", Documentation.folder, door, "DESTDIR=\(root)", "PREFIX=/opt/it",
        "PROGRAM=\(PusherCLI.path.replacing(" ", with: "\\ "))",
      ])
    }
    func files() -> [String] {
      let all = FileManager.default.subpaths(atPath: root + "/opt/it") ?? []
      return all.filter {
        !$0.isEmpty
          && (try? FileHandle(forReadingFrom: URL(filePath: "\(root)/opt/it/\($0)")).read(
            upToCount: 1)) != nil
      }.sorted()
    }
    #expect(try make("install").ending == .exited(0))
    #expect(
      files() == [
        "bin/pusher-cli", "share/bash-completion/completions/pusher-cli",
        "share/fish/vendor_completions.d/pusher-cli.fish", "share/man/man1/pusher-cli.1",
        "share/zsh/site-functions/_pusher-cli",
      ])
    let program = try PusherCLI.tool([root + "/opt/it/bin/pusher-cli", "--version"])
    #expect(program.ending == .exited(0))
    #expect(try make("uninstall").ending == .exited(0))
    #expect(files() == [])
  }
}
