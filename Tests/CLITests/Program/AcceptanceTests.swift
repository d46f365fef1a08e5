import Foundation
import PusherCore
import Testing

@testable import pusher_cli

/// Checks that hold at every verbosity, on every terminal and in every shell.
@Suite("What a script and a person can rely on", .runsPrograms) struct AcceptanceTests {
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
  func `at any verbosity standard output has the events alone`(options: [String]) throws {
    let server = try ticking()
    try server.subscribed(["news", "-n", "3"] + options).expect(
      prints: (1...3).map(Self.line).joined())
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

  // MARK: Colour

  /// - Parameter isTerminal: Whether standard output and standard error lead to a terminal.
  @Test(arguments: [[true, true], [true, false], [false, true], [false, false]])
  func `each stream is coloured by where it leads itself`(isTerminal: [Bool]) throws {
    let server = try ScriptedServer { connection in
      try connection.join()
      try connection.send(event: "tick", data: #"{"a":1}"#)
      try connection.close(code: 4001)
    }
    let terminals = [try PseudoTerminal(), try PseudoTerminal()]
    let paths = zip(terminals, isTerminal).map {
      $1 ? $0.path : TemporaryFolder.shared.file("screen")
    }
    let shell = try ChildProgram(
      "sh",
      ["-c", #"out=$1 err=$2; shift 2; exec "$0" "$@" >"$out" 2>"$err""#, PusherCLI.path]
        + paths + ["subscribe"] + server.address + ["news"],
      environment: PusherCLI.environment.merging(["TERM": "xterm"]) { $1 })
    #expect(try shell.wait() == .exited(3))
    for (stream, word) in ["tick", "4001"].enumerated() {
      let shown = try isTerminal[stream] ? terminals[stream].text : fileText(paths[stream])
      #expect(shown.contains(word), "\(shown)")
      #expect(shown.contains("\u{1B}") == isTerminal[stream], "\(shown)")
    }
  }

  // MARK: A frozen server

  @Test func `a frozen server is noticed by its pong, and ends the watchdog's signs`() throws {
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

  // MARK: Help and installation

  @Test(arguments: Command.allCases)
  func `help on standard output begins with examples and gives 0`(command: Command) throws {
    guard command != .help, command != .version else { return }
    for words in [["--help"], ["-h", "--nonsense"]] {
      let result = try PusherCLI.run([command.rawValue] + words)
      result.expect(says: "")
      #expect(result.outputText.hasPrefix("Usage: pusher-cli \(command.rawValue)"))
      let examples = result.outputText.components(separatedBy: "\n\n").dropFirst().first ?? ""
      #expect(examples.hasPrefix("  ") && examples.contains("pusher-cli "), "\(examples)")
    }
  }

  @Test(arguments: ["--version", "-V", "version"])
  func `the version is one line on standard output`(word: String) throws {
    let result = try PusherCLI.run(word)
    result.expect(says: "")
    #expect(result.outputText.wholeMatch(of: /pusher-cli [0-9][^\n]*\n/) != nil)
  }

  @Test func `the version with its build names all that a bug report needs`() throws {
    let result = try PusherCLI.run(["version", "--verbose"])
    result.expect(says: "")
    let lines = result.outputLines
    #expect(lines.first == "pusher-cli \(Version.current)")
    let names = lines.dropFirst().map { $0.prefix { $0 != ":" } }
    #expect(
      names == ["commit", "swift", "openssl", "encrypted channels", "redis", "system"], "\(lines)")
    #expect(lines.contains { $0.hasPrefix("openssl: OpenSSL 3.") })
    #expect(lines.last?.hasPrefix("system: ") == true && lines.last?.hasSuffix("unknown") == false)
  }

  @Test(.needs(.program("make")))
  func `make install puts program, manual and completions in place, and takes them away`() throws {
    let root = TemporaryFolder.shared.file("installed")
    func make(_ door: String) throws -> ProgramResult {
      try PusherCLI.tool([
        "make", "-C", Documentation.folder, door, "DESTDIR=\(root)", "PREFIX=/opt/it",
        "PROGRAM=\(PusherCLI.path.replacing(" ", with: "\\ "))",
      ])
    }
    func files() throws -> [String] {
      try PusherCLI.tool(["find", root, "-type", "f", "-printf", "%P\\n"]).outputLines.sorted()
    }
    try make("install").expect()
    let expected = [
      "bin/pusher-cli", "share/bash-completion/completions/pusher-cli",
      "share/fish/vendor_completions.d/pusher-cli.fish", "share/man/man1/pusher-cli.1",
      "share/zsh/site-functions/_pusher-cli",
    ]
    #expect(try files() == expected.map { "opt/it/" + $0 })
    try PusherCLI.tool([root + "/opt/it/bin/pusher-cli", "--version"]).expect()
    try make("uninstall").expect()
    #expect(try files() == [])
  }
}
