/// Scripts that let a shell complete commands, options and their values; made from the flag table.
enum CompletionScript: String, CaseIterable, Sendable {
  case bash
  case zsh
  case fish

  /// The script; it goes to the shell's own folder of completions, or is read at its start.
  var text: String {
    switch self {
    case .bash: Self.bashText
    case .zsh: Self.zshText
    case .fish: Self.fishText
    }
  }

  /// Words after which a command's own options are completed.
  private static func words(of command: Command) -> [String] {
    Command.words.filter { Command(word: $0) == command }
  }
}

// MARK: - bash

extension CompletionScript {
  private static var bashText: String {
    var lines = [
      "# Completion of pusher-cli for bash.", "_pusher_cli() {",
      "  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}",
      "  local command= word words",
      "  # The shell splits --name=value at the sign.",
      "  if [[ $current == = ]]; then", "    current=",
      "  elif [[ $previous == = ]]; then", "    previous=${COMP_WORDS[COMP_CWORD - 2]}", "  fi",
      "  for word in \"${COMP_WORDS[@]:1:COMP_CWORD - 1}\"; do",
      "    case $word in",
      "      \(Command.words.joined(separator: " | "))) command=$word && break ;;", "    esac",
      "  done", "  COMPREPLY=()", "  case $command:$previous in",
    ]
    for command in Command.allCases { lines += bashValues(of: command) }
    lines += ["  esac", "  case $command in"]
    for command in Command.allCases {
      let names = words(of: command).joined(separator: " | ")
      lines.append("    \(names)) words='\(bashWords(behind: command))' ;;")
    }
    lines += [
      "    *) words='\(Command.words.joined(separator: " ")) --help --version' ;;", "  esac",
      "  mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")", "}",
      "complete -o bashdefault -o default -F _pusher_cli pusher-cli",
    ]
    return lines.joined(separator: "\n") + "\n"
  }

  /// What follows an option with a value: one of its words, a file, or whatever the user types.
  private static func bashValues(of command: Command) -> [String] {
    var lines: [String] = []
    for flag in Flags.of(command) where flag.takesValue {
      let patterns = words(of: command).flatMap { word in
        flag.spellings.map { "\(word):\($0)" }
      }
      let action =
        switch flag.offeredValues {
        case let choices where !choices.isEmpty:
          "mapfile -t COMPREPLY < <(compgen -W '\(choices.joined(separator: " "))' -- \"$current\")"
        case _ where flag.metavariable == "FILE":
          "mapfile -t COMPREPLY < <(compgen -f -- \"$current\")"
        default: "compopt +o default +o bashdefault"
        }
      lines.append("    \(patterns.joined(separator: " | "))) \(action) && return ;;")
    }
    return lines
  }

  private static func bashWords(behind command: Command) -> String {
    let options = Flags.of(command).flatMap(\.spellings)
    return (operands(of: command) + options).joined(separator: " ")
  }

  /// The words that a command takes besides options, where they are known.
  private static func operands(of command: Command) -> [String] {
    switch command {
    case .help: Command.allCases.map(\.rawValue) + HelpPage.topics.map(\.name)
    case .config: Set<Command>.talking.map(\.rawValue).sorted() + ["path"]
    case .completion: allCases.map(\.rawValue)
    case .sign, .verify: ["channel", "user", "request", "webhook"]
    case .webhook: ["listen"]
    default: []
    }
  }
}

// MARK: - zsh

extension CompletionScript {
  private static var zshText: String {
    var lines = [
      "#compdef pusher-cli",
      "# Completion of pusher-cli for zsh: a file of fpath, or to be sourced.",
      "_pusher_cli() {",
      "  local context state state_descr line", "  typeset -A opt_args", "  local -a commands",
      "  commands=(",
    ]
    for command in Command.allCases {
      for word in words(of: command) {
        lines.append("    \(quoted("\(word):\(command.summary)"))")
      }
    }
    lines += [
      "  )", "  _arguments -C '1: :->command' '*:: :->rest'", "  case $state in",
      "    command) _describe command commands ;;", "    rest)", "      case $words[1] in",
    ]
    for command in Command.allCases {
      lines.append("        \(words(of: command).joined(separator: "|")))")
      lines.append("          _arguments -s \\")
      lines += Flags.of(command).map { "            \(zshSpecification($0)) \\" }
      let operands = operands(of: command)
      lines.append(
        operands.isEmpty
          ? "            '*:argument:_default'"
          : "            \(quoted("*:argument:(\(operands.joined(separator: " ")))"))")
      lines.append("          ;;")
    }
    lines += [
      "      esac", "      ;;", "  esac", "}",
      "if [[ $funcstack[1] == _pusher[-_]cli ]]; then", "  _pusher_cli \"$@\"", "else",
      "  (( $+functions[compdef] )) || { autoload -Uz compinit && compinit -i -D }",
      "  compdef _pusher_cli pusher-cli", "fi",
    ]
    return lines.joined(separator: "\n") + "\n"
  }

  private static func zshSpecification(_ flag: Flag) -> String {
    // A value may follow in the same word, after the letter or after '='.
    let names = flag.spellings.map { name in
      flag.takesValue ? name + (name.hasPrefix("--") ? "=" : "+") : name
    }
    let text = "[" + escaped(flag.summary, "[]:\\") + "]"
    var value = ""
    if flag.takesValue {
      value =
        switch flag.offeredValues {
        case let choices where !choices.isEmpty:
          ":\(flag.metavariable):(\(choices.joined(separator: " ")))"
        case _ where flag.metavariable == "FILE": ":FILE:_files"
        default: ":\(flag.metavariable): "
        }
    }
    let repeats = flag.isRepeatable || flag.value == .counter ? "*" : ""
    guard names.count == 2 else { return quoted(repeats + names[0] + text + value) }
    let exclusion = repeats.isEmpty ? quoted("(\(flag.spellings.joined(separator: " ")))") : "'*'"
    return "\(exclusion){\(names.joined(separator: ","))}\(quoted(text + value))"
  }

  private static func escaped(_ text: String, _ special: String) -> String {
    text.reduce(into: "") { result, character in
      if special.contains(character) { result.append("\\") }
      result.append(character)
    }
  }

  private static func quoted(_ text: String) -> String {
    "'" + text.replacing("'", with: "'\\''") + "'"
  }
}

// MARK: - fish

extension CompletionScript {
  private static var fishText: String {
    var lines = ["# Completion of pusher-cli for fish."]
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
      for flag in Flags.of(command) {
        lines.append("complete -c pusher-cli \(condition) \(fishSpecification(flag))")
      }
      for operand in operands(of: command) {
        lines.append("complete -c pusher-cli \(condition) -x -a \(operand)")
      }
    }
    return lines.joined(separator: "\n") + "\n"
  }

  private static func fishSpecification(_ flag: Flag) -> String {
    let name = flag.isOnByDefault ? "no-" + flag.name : flag.name
    var parts = ["-l \(name)"]
    if let letter = flag.letter { parts.append("-s \(letter)") }
    switch flag.offeredValues {
    case let choices where !choices.isEmpty:
      parts.append("-x -a \(fishQuoted(choices.joined(separator: " ")))")
    case _ where flag.metavariable == "FILE": parts.append("-r -F")
    case _ where flag.takesValue: parts.append("-x")
    default: break
    }
    return (parts + ["-d \(fishQuoted(flag.summary))"]).joined(separator: " ")
  }

  private static func fishQuoted(_ text: String) -> String {
    "'" + escaped(text, "'\\") + "'"
  }
}
