internal import PusherConsole
internal import PusherCore

/// Scripts for shell completion of commands, options and values, made from the flag table.
enum CompletionScript: String, CaseIterable, Sendable {
  case bash, zsh, fish

  var text: String {
    let lines =
      switch self {
      case .bash: Self.bashLines
      case .zsh: Self.zshLines
      case .fish: Self.fishLines
      }
    return lines.joined(separator: "\n") + "\n"
  }

  /// Values that a script offers for a flag.
  private enum Offer {
    /// Names that the script asks the program for, by the script's function.
    case lookup(String)
    case words([String])
    case files
    /// Any text, so nothing to offer.
    case text

    /// The channels are those of a running local server, which need `--local` on the line.
    ///
    /// - Parameter flag: Takes a value.
    init(_ flag: Flag) {
      self =
        switch flag {
        case .profile: .lookup("profiles")
        case .channel: .lookup("channels")
        case _ where !flag.offeredValues.isEmpty: .words(flag.offeredValues)
        case _ where flag.metavariable == "FILE": .files
        default: .text
        }
    }
  }

  private static func lookup(operandsOf command: Command) -> String? {
    [.subscribe, .check, .channels, .users, .auth].contains(command) ? "channels" : nil
  }

  /// Asks for channels for a short time, because the user waits at the keyboard, and prints their
  /// names, except names with characters special to shells.
  private static let askForNames =
    #"--connect-timeout 600ms 2>/dev/null | sed -n 's/.*"channel":"\([-A-Za-z0-9_=@,.]*\)".*/\1/p'"#

  /// Returns the part of a script that every command shares.
  private static func head(_ bytes: [UInt8]) -> String {
    String(decoding: bytes.dropLast(), as: UTF8.self)
      .pieces(separatedBy: "@NAMES@").joined(separator: askForNames)
      .pieces(separatedBy: "@COMMANDS@").joined(separator: Command.words.joined(separator: " | "))
  }

  static func words(of command: Command) -> [String] {
    Command.words.filter { Command(word: $0) == command }
  }

  static func operands(of command: Command) -> [String] {
    switch command {
    case .help: Command.allCases.map(\.rawValue) + HelpPage.topics.map(\.name)
    case .config: Set<Command>.talking.map(\.rawValue).sorted() + ConfigSettings.words
    case .completion: allCases.map(\.rawValue)
    case .sign, .verify: SignSettings.kinds
    case .webhook: WebhookWord.allCases.map(\.rawValue)
    case .bench: BenchMode.allCases.map(\.rawValue)
    default: []
    }
  }

  private static var bashLines: [String] {
    var lines = [head(PackageResources.completion_bash_txt)]
    for command in Command.allCases { lines += bashValues(of: command) }
    lines += ["  esac", "  case $command in"]
    let asking = Command.allCases.filter { lookup(operandsOf: $0) != nil }
    lines.append("    \(asking.flatMap(words).joined(separator: " | ")))")
    lines += [
      "      if [[ $current != -* ]]; then", "        _pusher_cli_offer < <(_pusher_cli_channels)",
      "        ((${#COMPREPLY[@]} == 0)) || return 0", "      fi ;;", "  esac",
      "  case $command in",
    ]
    for command in Command.allCases {
      let names = words(of: command).joined(separator: " | ")
      let offered = (operands(of: command) + Flag.of(command).flatMap(\.spellings))
      lines.append("    \(names)) words='\(offered.joined(separator: " "))' ;;")
    }
    lines += [
      "    *) words='\(Command.words.joined(separator: " ")) --help --version' ;;", "  esac",
      "  mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")", "}",
      "complete -o bashdefault -o default -F _pusher_cli pusher-cli",
    ]
    return lines
  }

  private static func bashValues(of command: Command) -> [String] {
    Flag.of(command).filter(\.takesValue).map { flag in
      let patterns = words(of: command).flatMap { word in flag.spellings.map { "\(word):\($0)" } }
      let action =
        switch Offer(flag) {
        case .lookup(let name):
          "compopt +o default +o bashdefault; _pusher_cli_offer < <(_pusher_cli_\(name))"
        case .words(let words):
          "mapfile -t COMPREPLY < <(compgen -W '\(words.joined(separator: " "))' -- \"$current\")"
        case .files: "mapfile -t COMPREPLY < <(compgen -f -- \"$current\")"
        case .text: "compopt +o default +o bashdefault"
        }
      return "    \(patterns.joined(separator: " | "))) \(action) && return ;;"
    }
  }

  private static var fishLines: [String] {
    var lines = [head(PackageResources.completion_fish_txt)]
    for command in Command.allCases {
      for word in words(of: command) {
        lines.append(
          "complete -c pusher-cli -n __fish_use_subcommand -x -a \(word) -d \(fishQuoted(command.summary))"
        )
      }
    }
    for command in Command.allCases {
      let condition =
        "-n '__fish_seen_subcommand_from \(words(of: command).joined(separator: " "))'"
      for flag in Flag.of(command) {
        lines.append("complete -c pusher-cli \(condition) \(fishSpecification(flag))")
      }
      for operand in operands(of: command) {
        lines.append("complete -c pusher-cli \(condition) -x -a \(operand)")
      }
      if let lookup = lookup(operandsOf: command) {
        lines.append("complete -c pusher-cli \(condition) -f -a '(__pusher_cli_\(lookup))'")
      }
    }
    return lines
  }

  private static func fishSpecification(_ flag: Flag) -> String {
    let name = flag.isOnByDefault ? "no-" + flag.name : flag.name
    var parts = ["-l \(name)"]
    if let letter = flag.letter { parts.append("-s \(letter)") }
    if flag.takesValue {
      switch Offer(flag) {
      case .lookup(let name): parts.append("-x -a '(__pusher_cli_\(name))'")
      case .words(let words):
        parts.append("-x -a \(fishQuoted(words.joined(separator: " ")))")
      case .files: parts.append("-r -F")
      case .text: parts.append("-x")
      }
    }
    return (parts + ["-d \(fishQuoted(flag.summary))"]).joined(separator: " ")
  }

  private static func fishQuoted(_ text: String) -> String {
    "'" + text.escaping("'\\") + "'"
  }

  private static var zshLines: [String] {
    var lines = [head(PackageResources.completion_zsh_txt)]
    for command in Command.allCases {
      for word in words(of: command) {
        lines.append("    \(SnippetTarget.shellWord("\(word):\(command.summary)"))")
      }
    }
    lines += [
      "  )", "  _arguments -C '1: :->command' '*:: :->rest'", "  case $state in",
      "    command) _describe command commands ;;", "    rest)", "      case $words[1] in",
    ]
    for command in Command.allCases {
      lines.append("        \(words(of: command).joined(separator: "|")))")
      lines.append("          _arguments -s \\")
      lines += Flag.of(command).map { "            \(zshSpecification($0)) \\" }
      lines += ["            \(zshOperands(of: command))", "          ;;"]
    }
    lines += [
      "      esac", "      ;;", "  esac", "}",
      "if [[ $funcstack[1] == _pusher[-_]cli ]]; then", "  _pusher_cli \"$@\"", "else",
      "  (( $+functions[compdef] )) || { autoload -Uz compinit && compinit -i -D }",
      "  compdef _pusher_cli pusher-cli", "fi",
    ]
    return lines
  }

  private static func zshOperands(of command: Command) -> String {
    if let lookup = lookup(operandsOf: command) { return "'*:channel:_pusher_cli_\(lookup)'" }
    let operands = operands(of: command)
    return operands.isEmpty
      ? "'*:argument:_default'"
      : SnippetTarget.shellWord("*:argument:(\(operands.joined(separator: " ")))")
  }

  private static func zshSpecification(_ flag: Flag) -> String {
    // The value may follow in the same word, after the letter or after '='.
    let names = flag.spellings.map { name in
      flag.takesValue ? name + (name.hasPrefix("--") ? "=" : "+") : name
    }
    let text = "[" + flag.summary.escaping("[]:\\") + "]"
    var value = ""
    if flag.takesValue {
      value =
        switch Offer(flag) {
        case .lookup(let name): ":\(flag.metavariable):_pusher_cli_\(name)"
        case .words(let words): ":\(flag.metavariable):(\(words.joined(separator: " ")))"
        case .files: ":FILE:_files"
        case .text: ":\(flag.metavariable): "
        }
    }
    let repeats = flag.isRepeatable || flag.value == .counter ? "*" : ""
    guard names.count == 2 else {
      return SnippetTarget.shellWord(repeats + names[0] + text + value)
    }
    let exclusion =
      repeats.isEmpty
      ? SnippetTarget.shellWord("(\(flag.spellings.joined(separator: " ")))") : "'*'"
    return "\(exclusion){\(names.joined(separator: ","))}\(SnippetTarget.shellWord(text + value))"
  }
}
