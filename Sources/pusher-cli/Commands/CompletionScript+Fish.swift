internal import PusherCore

extension CompletionScript {
  static var fishLines: [String] {
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
      for flag in Flags.of(command) {
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
