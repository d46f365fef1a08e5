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

  /// A value that the script asks the program for.
  private enum Lookup: String, CaseIterable {
    case profiles
    /// The channels of a running local server; needs `--local` on the line.
    case channels

    init?(_ flag: Flag) {
      switch flag {
      case .profile: self = .profiles
      case .channel: self = .channels
      default: return nil
      }
    }

    init?(operandsOf command: Command) {
      guard [.subscribe, .check, .channels, .users, .auth].contains(command) else { return nil }
      self = .channels
    }
  }

  /// Prints the names in the output of `channels`, except names with characters special to shells.
  private static let channelFilter = #"sed -n 's/.*"channel":"\([-A-Za-z0-9_=@,.]*\)".*/\1/p'"#
  /// Short, because the user waits at the keyboard.
  private static let askingTime = "--connect-timeout 600ms"

  static func words(of command: Command) -> [String] {
    Command.words.filter { Command(word: $0) == command }
  }

  static func operands(of command: Command) -> [String] {
    switch command {
    case .help: Command.allCases.map(\.rawValue) + HelpPage.topics.map(\.name)
    case .config: Set<Command>.talking.map(\.rawValue).sorted() + ConfigSettings.words
    case .completion: allCases.map(\.rawValue)
    case .sign, .verify: ["channel", "user", "request", "webhook"]
    case .webhook: ["listen", "send"]
    case .bench: BenchMode.allCases.map(\.rawValue)
    default: []
    }
  }
}

extension CompletionScript {
  private static var bashLines: [String] {
    var lines = [bashHead]
    for command in Command.allCases { lines += bashValues(of: command) }
    lines += ["  esac", "  case $command in"]
    let asking = Command.allCases.filter { Lookup(operandsOf: $0) == .channels }
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

  private static let bashHead = #"""
    # Completion of pusher-cli for bash.
    #
    # For yourself, in ~/.bashrc:  source <(pusher-cli completion bash)
    # For all users:  pusher-cli completion bash | sudo tee /etc/bash_completion.d/pusher-cli

    # Prints the value of the first of these options that is on the line.
    _pusher_cli_value() {
      local index value
      for ((index = 1; index < COMP_CWORD; index++)); do
        [[ " $* " == *" ${COMP_WORDS[index]} "* ]] || continue
        value=${COMP_WORDS[index + 1]}
        [[ $value == = ]] && value=${COMP_WORDS[index + 2]}
        printf '%s\n' "${value/#\~\//$HOME/}"
        return
      done
    }
    _pusher_cli_profiles() {
      local file
      file=$(_pusher_cli_value --config)
      "${COMP_WORDS[0]/#\~\//$HOME/}" config profiles ${file:+--config "$file"} 2>/dev/null
    }
    _pusher_cli_channels() {
      local port
      [[ " ${COMP_WORDS[*]} " == *' --local '* ]] || return
      port=$(_pusher_cli_value --port -p)
      "${COMP_WORDS[0]/#\~\//$HOME/}" channels --local ${port:+--port "$port"} \
        \#(askingTime) 2>/dev/null | \#(channelFilter)
    }
    # Offers the lines that begin with the typed word, quoted for the shell.
    _pusher_cli_offer() {
      local line
      while IFS= read -r line; do
        [[ $line == "$current"* ]] && COMPREPLY+=("$(printf '%q' "$line")")
      done
      return 0
    }
    _pusher_cli() {
      local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
      local command= word words
      # The shell splits --name=value at the equals sign.
      if [[ $current == = ]]; then
        current=
      elif [[ $previous == = ]]; then
        previous=${COMP_WORDS[COMP_CWORD - 2]}
      fi
      for word in "${COMP_WORDS[@]:1:COMP_CWORD - 1}"; do
        case $word in
          \#(Command.words.joined(separator: " | "))) command=$word && break ;;
        esac
      done
      COMPREPLY=()
      case $command:$previous in
    """#

  private static func bashValues(of command: Command) -> [String] {
    Flag.of(command).filter(\.takesValue).map { flag in
      let patterns = words(of: command).flatMap { word in flag.spellings.map { "\(word):\($0)" } }
      let action =
        switch flag.offeredValues {
        case _ where Lookup(flag) != nil:
          "compopt +o default +o bashdefault; "
            + "_pusher_cli_offer < <(_pusher_cli_\(Lookup(flag)?.rawValue ?? ""))"
        case let choices where !choices.isEmpty:
          "mapfile -t COMPREPLY < <(compgen -W '\(choices.joined(separator: " "))' -- \"$current\")"
        case _ where flag.metavariable == "FILE":
          "mapfile -t COMPREPLY < <(compgen -f -- \"$current\")"
        default: "compopt +o default +o bashdefault"
        }
      return "    \(patterns.joined(separator: " | "))) \(action) && return ;;"
    }
  }
}

extension CompletionScript {
  private static var fishLines: [String] {
    var lines = [fishHead]
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
      if let lookup = Lookup(operandsOf: command) {
        lines.append("complete -c pusher-cli \(condition) -f -a '(__pusher_cli_\(lookup))'")
      }
    }
    return lines
  }

  private static let fishHead = #"""
    # Completion of pusher-cli for fish.
    #
    # For yourself:   pusher-cli completion fish >~/.config/fish/completions/pusher-cli.fish
    # For all users:  pusher-cli completion fish | sudo tee /etc/fish/completions/pusher-cli.fish

    # Prints the value of the first of these options that is on the line.
    function __pusher_cli_value
      set -l words (commandline -opc)
      for index in (seq (count $words))
        for name in $argv
          if test "$words[$index]" = $name; and set -q words[(math $index + 1)]
            echo $words[(math $index + 1)]
            return
          else if string match -q -- "$name=*" "$words[$index]"
            string replace -- "$name=" '' "$words[$index]"
            return
          end
        end
      end
    end
    function __pusher_cli_profiles
      set -l words (commandline -opc)
      set -l file (__pusher_cli_value --config)
      set -q file[1]; and set -p file --config
      $words[1] config profiles $file 2>/dev/null
    end
    function __pusher_cli_channels
      set -l words (commandline -opc)
      contains -- --local $words; or return
      set -l port (__pusher_cli_value --port -p)
      set -q port[1]; and set -p port --port
      $words[1] channels --local $port \#(askingTime) 2>/dev/null | \#(channelFilter)
    end
    """#

  private static func fishSpecification(_ flag: Flag) -> String {
    let name = flag.isOnByDefault ? "no-" + flag.name : flag.name
    var parts = ["-l \(name)"]
    if let letter = flag.letter { parts.append("-s \(letter)") }
    switch flag.offeredValues {
    case _ where Lookup(flag) != nil:
      parts.append("-x -a '(__pusher_cli_\(Lookup(flag)?.rawValue ?? ""))'")
    case let choices where !choices.isEmpty:
      parts.append("-x -a \(fishQuoted(choices.joined(separator: " ")))")
    case _ where flag.metavariable == "FILE": parts.append("-r -F")
    case _ where flag.takesValue: parts.append("-x")
    default: break
    }
    return (parts + ["-d \(fishQuoted(flag.summary))"]).joined(separator: " ")
  }

  private static func fishQuoted(_ text: String) -> String {
    "'" + EscapedText.escaped(text, "'\\") + "'"
  }
}

extension CompletionScript {
  private static var zshLines: [String] {
    var lines = [zshHead]
    for command in Command.allCases {
      for word in words(of: command) { lines.append("    \(quoted("\(word):\(command.summary)"))") }
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

  private static let zshHead = #"""
    #compdef pusher-cli
    # Completion of pusher-cli for zsh; works as a file in fpath, and with source.
    #
    # For yourself, in ~/.zshrc:  source <(pusher-cli completion zsh)
    # Or as a file called _pusher-cli in a directory of fpath, before compinit runs:
    #   pusher-cli completion zsh >/usr/local/share/zsh/site-functions/_pusher-cli

    # Prints the value of the first of these options that is on the line.
    _pusher_cli_value() {
      local name value
      local -i index
      for name; do
        index=$words[(I)$name]
        if (( index )); then
          value=${(Q)words[index+1]}
        else
          index=$words[(I)$name=*]
          (( index )) || continue
          value=${(Q)${words[index]#*=}}
        fi
        print -r -- ${value/#\~\//$HOME/}
        return
      done
    }
    _pusher_cli_profiles() {
      local file=$(_pusher_cli_value --config)
      local -a names
      names=(${(f)"$("$program" config profiles ${file:+--config} $file 2>/dev/null)"})
      compadd -a names
    }
    _pusher_cli_channels() {
      (( $words[(I)--local] )) || return 1
      local port=$(_pusher_cli_value --port -p)
      local -a names
      names=(${(f)"$("$program" channels --local ${port:+--port} $port \
        \#(askingTime) 2>/dev/null | \#(channelFilter))"})
      compadd -a names
    }
    _pusher_cli() {
      local context state state_descr line program=${words[1]/#\~\//$HOME/}
      typeset -A opt_args
      local -a commands
      commands=(
    """#

  private static func zshOperands(of command: Command) -> String {
    if let lookup = Lookup(operandsOf: command) { return "'*:channel:_pusher_cli_\(lookup)'" }
    let operands = operands(of: command)
    return operands.isEmpty
      ? "'*:argument:_default'" : quoted("*:argument:(\(operands.joined(separator: " ")))")
  }

  private static func zshSpecification(_ flag: Flag) -> String {
    // The value may follow in the same word, after the letter or after '='.
    let names = flag.spellings.map { name in
      flag.takesValue ? name + (name.hasPrefix("--") ? "=" : "+") : name
    }
    let text = "[" + EscapedText.escaped(flag.summary, "[]:\\") + "]"
    var value = ""
    if flag.takesValue {
      value =
        switch flag.offeredValues {
        case _ where Lookup(flag) != nil:
          ":\(flag.metavariable):_pusher_cli_\(Lookup(flag)?.rawValue ?? "")"
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

  private static func quoted(_ text: String) -> String {
    "'" + text.pieces(separatedBy: "'").joined(separator: "'\\''") + "'"
  }
}
