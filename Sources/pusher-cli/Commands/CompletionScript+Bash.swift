extension CompletionScript {
  static var bashLines: [String] {
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
      let offered = (operands(of: command) + Flags.of(command).flatMap(\.spellings))
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
    Flags.of(command).filter(\.takesValue).map { flag in
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
