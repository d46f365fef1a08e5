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
      let name = flag.isOnByDefault ? "no-" + flag.name.rawValue : flag.name.rawValue
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
    #expect(try offers("sign", "web") == ["webhook"])
    #expect(try offers("help", "exit") == ["exit-codes"])
    #expect(try offers("completion", "").contains("zsh"))
    let file = TemporaryFolder.shared.file("a-secret")
    try "s".write(toFile: file, atomically: true, encoding: .utf8)
    #expect(try offers("subscribe", "--secret-file", String(file.dropLast(3))).contains(file))
  }

  @Test func `the program prints it, and names the shells it knows`() throws {
    #expect(try PusherCLI.run("completion", "fish").outputText == CompletionScript.fish.text)
    let wrong = try PusherCLI.run("completion", "fsh")
    #expect(wrong.ending == .exited(2))
    #expect(
      wrong.errorText.contains("no completion for 'fsh', only for bash, zsh, fish; did you mean"))
  }
}
