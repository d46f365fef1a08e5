/// Scripts that let a shell complete commands, options and their values; made from the flag table.
enum CompletionScript: String, CaseIterable, Sendable {
  case bash
  case zsh
  case fish

  /// The script; it goes to the shell's own folder of completions, or is read at its start.
  var text: String {
    let lines =
      switch self {
      case .bash: Self.bashLines
      case .zsh: Self.zshLines
      case .fish: Self.fishLines
      }
    return lines.joined(separator: "\n") + "\n"
  }

  /// What the program is asked for while somebody types.
  enum Lookup: String, CaseIterable {
    /// The profiles of the configuration file.
    case profiles
    /// The channels of a running local server, where `--local` stands on the line.
    case channels

    /// What the values of a flag are; `nil` for those that need no question.
    init?(_ flag: Flag) {
      switch flag {
      case .profile: self = .profiles
      case .channel: self = .channels
      default: return nil
      }
    }

    /// What a command takes besides options.
    init?(operandsOf command: Command) {
      guard [.subscribe, .check, .channels, .users, .auth].contains(command) else { return nil }
      self = .channels
    }
  }

  /// The filter that finds names in the lines of `channels`; names that a shell could take for more are left out.
  static let channelFilter = #"sed -n 's/.*"channel":"\([-A-Za-z0-9_=@,.]*\)".*/\1/p'"#
  /// How long a server may take, so that nobody waits at the keyboard.
  static let askingTime = "--connect-timeout 600ms"

  /// Words after which a command's own options are completed.
  static func words(of command: Command) -> [String] {
    Command.words.filter { Command(word: $0) == command }
  }

  /// The words that a command takes besides options, where they are known.
  static func operands(of command: Command) -> [String] {
    switch command {
    case .help: Command.allCases.map(\.rawValue) + HelpPage.topics.map(\.name)
    case .config: Set<Command>.talking.map(\.rawValue).sorted() + ConfigCommand.words
    case .completion: allCases.map(\.rawValue)
    case .sign, .verify: ["channel", "user", "request", "webhook"]
    case .webhook: ["listen"]
    default: []
    }
  }
}
