import Foundation
import Testing

@testable import pusher_cli

@Suite(.runsPrograms) struct `Completion in shells` {
  private func file(_ script: CompletionScript) throws -> String {
    try TemporaryFolder.shared.file("completion.\(script.rawValue)", holding: script.text)
  }

  @Test(arguments: CompletionScript.allCases)
  func `every flag and every command is in the script`(script: CompletionScript) {
    let text = script.text
    for command in Command.allCases { #expect(text.contains(command.rawValue)) }
    for flag in Flag.all {
      let name = flag.isOnByDefault ? "no-" + flag.name : flag.name
      #expect(text.contains(script == .fish ? "-l \(name) " : "--\(name)"), "\(name)")
    }
  }

  @Test(arguments: CompletionScript.allCases)
  func `the shell takes the script`(script: CompletionScript) throws {
    guard try Need.program(script.rawValue).isMet() else { return }
    let result = try PusherCLI.tool([script.rawValue, "-n", file(script)])
    #expect(result.ending == .exited(0))
    #expect(result.errorText == "")
  }

  private func offers(_ words: [String]) throws -> [String] {
    let list = words.map { "'\($0)'" }.joined(separator: " ")
    let program =
      "source \(try file(.bash)); COMP_WORDS=(\(PusherCLI.word) \(list)); COMP_CWORD=\(words.count); "
      + "compopt() { :; }; _pusher_cli; printf '%s\\n' \"${COMPREPLY[@]}\""
    let result = try PusherCLI.tool(["bash", "-c", program])
    #expect(result.errorText == "")
    return result.outputText.split(separator: "\n").map(String.init)
  }

  @Test(
    arguments: """
      tr => trigger
      subscribe --exclude => --exclude-event
      sub -x a --no-comp => --no-compression
      subscribe --output p => pretty
      subscribe --output = p => pretty
      subscribe --output = => json pretty raw
      serve --fault d => drop duplicate
      channels --info c => cache
      sign web => webhook
      webhook s => send
      webhook send --ev => --event --every
      help exit => exit-codes
      """ as Table)
  func `bash offers commands, options of the command, and values`(row: Table.Row) throws {
    let words = row.input.split(separator: " ").map(String.init)
    row.expect(try offers(words).joined(separator: " "))
  }

  @Test func `bash offers values for an empty word, and files`() throws {
    #expect(try offers(["subscribe", "-o", ""]) == ["json", "pretty", "raw"])
    #expect(try offers(["serve", "--dialect", ""]) == ["pusher", "reverb", "soketi"])
    #expect(try offers(["completion", ""]).contains("zsh"))
    let file = try TemporaryFolder.shared.file("a-secret", holding: "s")
    #expect(try offers(["subscribe", "--secret-file", String(file.dropLast(3))]).contains(file))
  }

  // MARK: Completions from the program

  /// A configuration file with two profiles; a shell would expand the name of the second.
  private static let profiles = "[profile shop]\nkey = k\n[profile $(id);x]\nkey = l\n"

  private static func write(_ text: String) throws -> String {
    try TemporaryFolder.shared.file("profiles", holding: text)
  }

  @Test func `the names of the profiles are printed one a line`() throws {
    let path = try Self.write(Self.profiles)
    let files = [["--config", path], ["--config=\(path)"]]
    for file in files {
      let result = try PusherCLI.run(["config", "profiles"] + file)
      #expect(result.outputText == "$(id);x\nshop\n" && result.errorText == "")
    }
    let named = ["PUSHER_CLI_CONFIG": path, "PUSHER_CLI_PROFILE": "missing"]
    #expect(try PusherCLI.run("config", "profiles", environment: named).outputText.contains("shop"))
    let none = try PusherCLI.run("config", "profiles", "--config", "/dev/null", environment: named)
    #expect(none.outputText == "" && none.ending == .exited(0))
    let wrong = try PusherCLI.run("config", "profiles", "shop")
    #expect(wrong.errorText.contains("config profiles takes no arguments (found 'shop')"))
    let missing = try PusherCLI.run("config", "profiles", "--config", path + "-none")
    #expect(missing.ending == .exited(2))
  }

  /// Starts `serve --local` on a free port with subscribers, and returns its port.
  private static func local(_ channels: String...) throws -> (String, [ChildProgram]) {
    let file = TemporaryFolder.shared.file("port")
    let server = try PusherCLI.start(["serve", "--listen", "127.0.0.1:0", "--port-file", file])
    let port = String(try server.port(in: file))
    let client = try PusherCLI.start(["subscribe", "--local", "--port", port, "-L"] + channels)
    _ = try client.lines(1 + channels.count)
    return (port, [server, client])
  }

  @Test func `bash offers profiles and the channels of a local server`() throws {
    let path = try Self.write(Self.profiles)
    #expect(try offers(["subscribe", "--config", path, "-P", "s"]) == ["shop"])
    #expect(
      try offers(["trigger", "--config", "=", path, "--profile", "="]) == [#"\$\(id\)\;x"#, "shop"])
    #expect(try offers(["subscribe", "--config", path + "-none", "-P", ""]) == [])
    let (port, programs) = try Self.local("news", "private-a.1")
    let both = ["news", "private-a.1"]
    #expect(
      try Self.patiently(both) { try offers(["subscribe", "--local", "-p", port, "-c", ""]) }
        == both)
    #expect(
      try Self.patiently(["news"]) { try offers(["check", "--local", "--port", "=", port, "n"]) }
        == ["news"])
    #expect(try offers(["subscribe", "--port", port, "-c", ""]) == [])
    #expect(try offers(["subscribe", "--local", "-p", port, "--exclude"]) == ["--exclude-event"])
    programs[0].send(SIGTERM)
    _ = try programs[0].wait()
    #expect(try offers(["subscribe", "--local", "-p", port, "-c", ""]) == [])
  }

  /// Returns a shell's completions.
  ///
  /// Asks again if a busy machine exceeded the server's short timeout.
  private static func patiently(
    _ words: [String], _ offers: () throws -> [String]
  ) throws -> [String] {
    for _ in 0..<3 where (try? offers()) == words { return words }
    return try offers()
  }

  private static let finding =
    "PATH=" + URL(filePath: PusherCLI.path).deletingLastPathComponent().path + ":"
    + (PusherCLI.environment["PATH"] ?? "")

  private func fishOffers(_ line: String) throws -> [String] {
    let result = try PusherCLI.tool([
      "env", Self.finding, "fish", "-c", "source \(file(.fish)); complete -C 'pusher-cli \(line)'",
    ])
    #expect(result.errorText == "")
    return result.outputText.split(separator: "\n").map { String($0.prefix { $0 != "\t" }) }
      .sorted()
  }

  @Test func `fish offers profiles and the channels of a local server`() throws {
    guard try Need.program("fish").isMet() else { return }
    let path = try Self.write(Self.profiles)
    let (port, programs) = try Self.local("news", "private-a.1")
    let lines = [
      "subscribe --config \(path) -P s": ["shop"],
      "subscribe --config=\(path) --profile ": ["$(id);x", "shop"],
      "subscribe --local -p \(port) -c ": ["news", "private-a.1"],
      "channels --local --port=\(port) n": ["news"], "subscribe -p \(port) -c ": [],
    ]
    for (line, words) in lines {
      #expect(try Self.patiently(words) { try fishOffers(line) } == words, "\(line)")
    }
    withExtendedLifetime(programs) {}
  }

  @Test func `zsh offers profiles and the channels of a local server`() throws {
    guard try Need.program("zsh").isMet() else { return }
    let path = try Self.write("[profile shop]\nkey = k\n[profile store]\nkey = l\n")
    let (port, programs) = try Self.local("news", "private-a.1")
    let lines = [
      "subscribe --config \(path) -P ": ["shop", "store"],
      "subscribe --config=\(path) --profile=": ["shop", "store"],
      "subscribe --local -p \(port) -c ": ["news", "private-a.1"],
      "check --local --port=\(port) ": ["news", "private-a.1"],
    ]
    for (line, words) in lines {
      let offered = try Self.patiently(words) {
        let result = try PusherCLI.tool(
          ["env", Self.finding, "zsh", "-fc", Self.typing, "zsh", file(.zsh), line, words[1]],
          within: .seconds(20))
        return words.filter(result.outputText.contains)
      }
      #expect(offered == words, "\(line)")
    }
    withExtendedLifetime(programs) {}
  }

  private static let values: [(String, String)] = [
    ("subscribe --output ", "json pretty raw"), ("subscribe --output=", "json pretty raw"),
    ("subscribe -o ", "json pretty raw"), ("serve --dialect ", "pusher reverb soketi"),
    ("serve --fault d", "drop duplicate"), ("subscribe --exec-fail ", "continue stop"),
    ("subscribe --cluster us", "us2 us3"), ("subscribe --color a", "always auto"),
    ("channels --info ", "cache subscription_count user_count"),
  ]

  @Test func `fish offers the same values`() throws {
    guard try Need.program("fish").isMet() else { return }
    for (line, words) in Self.values {
      let offered = try fishOffers(line).map { $0.replacing("--output=", with: "") }
      #expect(offered.sorted() == words.split(separator: " ").map(String.init), "\(line)")
    }
  }

  @Test func `zsh takes it by source too, without and with its completion system`() throws {
    guard try Need.program("zsh").isMet() else { return }
    for opening in ["", "autoload -Uz compinit; compinit -D -u; "] {
      let result = try PusherCLI.tool(
        ["zsh", "-fc", "\(opening)source \(file(.zsh)); print -r -- $_comps[pusher-cli]"])
      #expect(result.errorText == "" && result.outputText == "_pusher_cli\n")
    }
  }

  private static let typing = #"""
    zmodload zsh/zpty
    zpty shell "zsh -f -i"
    zpty -w shell "PROMPT=; autoload -Uz compinit; compinit -u -d ${1:h}/zcompdump; setopt no_auto_menu; LISTMAX=1000"
    zpty -w shell "stty -echo; source $1; zle -C list list-choices _main_complete; bindkey '^I' list; print -n BEG; print IN"
    while zpty -r shell line; do [[ $line == *BEGIN* ]] && break; done
    zpty -w -n shell "pusher-cli $2"$'	'
    while zpty -r shell piece "*$3*"; do print -r -- "$piece"; break; done
    zpty -d shell
    """#

  @Test func `zsh offers the same values`() throws {
    guard try Need.program("zsh").isMet() else { return }
    for (line, words) in Self.values {
      let last = words.split(separator: " ").last.map(String.init) ?? ""
      let result = try PusherCLI.tool(["zsh", "-fc", Self.typing, "zsh", file(.zsh), line, last])
      for word in words.split(separator: " ") {
        #expect(result.outputText.contains(word), "\(line): \(result.outputText)")
      }
    }
  }

  @Test func `the program prints it, and names the shells it knows`() throws {
    #expect(try PusherCLI.run("completion", "fish").outputText == CompletionScript.fish.text)
    let wrong = try PusherCLI.run("completion", "fsh")
    #expect(wrong.ending == .exited(2))
    #expect(
      wrong.errorText.contains("no completion for 'fsh', only for bash, zsh, fish; did you mean"))
  }
}
