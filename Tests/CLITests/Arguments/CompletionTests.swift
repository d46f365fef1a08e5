import Foundation
import Testing

@testable import pusher_cli

@Suite("Completion in shells")
struct CompletionTests {
  /// The script in a file.
  private func file(_ script: CompletionScript) throws -> String {
    let path = TemporaryFolder.shared.file("completion.\(script.rawValue)")
    try script.text.write(toFile: path, atomically: true, encoding: .utf8)
    return path
  }

  @Test(arguments: CompletionScript.allCases)
  func `every flag and every command is in the script`(script: CompletionScript) {
    for command in Command.allCases { #expect(script.text.contains(command.rawValue)) }
    for flag in Flags.all {
      let name = flag.isOnByDefault ? "no-" + flag.name : flag.name
      #expect(script.text.contains(script == .fish ? "-l \(name) " : "--\(name)"), "\(name)")
    }
  }

  @Test(arguments: CompletionScript.allCases)
  func `the shell takes the script`(script: CompletionScript) throws {
    guard try Need.program(script.rawValue).isMet() else { return }
    let result = try PusherCLI.tool([script.rawValue, "-n", file(script)])
    #expect(result.ending == .exited(0))
    #expect(result.errorText == "")
  }

  /// What bash offers for the last of these words.
  private func offers(_ words: String...) throws -> [String] {
    let list = words.map { "'\($0)'" }.joined(separator: " ")
    let program =
      "source \(try file(.bash)); COMP_WORDS=(pusher-cli \(list)); COMP_CWORD=\(words.count); "
      + "compopt() { :; }; _pusher_cli; printf '%s\\n' \"${COMPREPLY[@]}\""
    let result = try PusherCLI.tool(["bash", "-c", program])
    #expect(result.errorText == "")
    return result.outputText.split(separator: "\n").map(String.init)
  }

  @Test func `bash offers commands, options of the command, and values`() throws {
    #expect(try offers("tr") == ["trigger"])
    #expect(try offers("subscribe", "--exclude") == ["--exclude-event"])
    #expect(try offers("sub", "-x", "a", "--no-comp") == ["--no-compression"])
    #expect(try offers("subscribe", "--listen") == [])
    #expect(try offers("subscribe", "--output", "p") == ["pretty"])
    #expect(try offers("subscribe", "-o", "") == ["json", "pretty", "raw"])
    #expect(try offers("subscribe", "--output", "=", "p") == ["pretty"])
    #expect(try offers("subscribe", "--output", "=") == ["json", "pretty", "raw"])
    #expect(try offers("serve", "--dialect", "") == ["pusher", "reverb", "soketi"])
    #expect(try offers("serve", "--fault", "d") == ["drop", "duplicate"])
    #expect(try offers("channels", "--info", "c") == ["cache"])
    #expect(try offers("sign", "web") == ["webhook"])
    #expect(try offers("help", "exit") == ["exit-codes"])
    #expect(try offers("completion", "").contains("zsh"))
    let file = TemporaryFolder.shared.file("a-secret")
    try "s".write(toFile: file, atomically: true, encoding: .utf8)
    #expect(try offers("subscribe", "--secret-file", String(file.dropLast(3))).contains(file))
  }

  private static let values: [(String, String)] = [
    ("subscribe --output ", "json pretty raw"), ("subscribe --output=", "json pretty raw"),
    ("subscribe -o ", "json pretty raw"), ("serve --dialect ", "pusher reverb soketi"),
    ("serve --fault d", "drop duplicate"),
    ("channels --info ", "cache subscription_count user_count"),
  ]

  @Test func `fish offers the same values`() throws {
    guard try Need.program("fish").isMet() else { return }
    for (line, words) in Self.values {
      let result = try PusherCLI.tool(
        ["fish", "-c", "source \(file(.fish)); complete -C 'pusher-cli \(line)'"])
      let offered = result.outputText.split(separator: "\n").map {
        String($0.prefix { $0 != "\t" }).replacing("--output=", with: "")
      }
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

  /// A zsh on a terminal of its own, in which somebody types a line and the tabulator.
  private static let typing = #"""
    zmodload zsh/zpty
    zpty shell "zsh -f -i"
    zpty -w shell "PROMPT=; autoload -Uz compinit; compinit -D -u; setopt no_auto_menu; LISTMAX=1000"
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
