internal import PusherCore

extension CompletionScript {
  static var zshLines: [String] {
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
      lines += Flags.of(command).map { "            \(zshSpecification($0)) \\" }
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
