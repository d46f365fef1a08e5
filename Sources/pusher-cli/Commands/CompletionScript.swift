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
  enum Lookup: String, CaseIterable {
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
  static let channelFilter = #"sed -n 's/.*"channel":"\([-A-Za-z0-9_=@,.]*\)".*/\1/p'"#
  /// Short, because the user waits at the keyboard.
  static let askingTime = "--connect-timeout 600ms"

  static func words(of command: Command) -> [String] {
    Command.words.filter { Command(word: $0) == command }
  }

  static func operands(of command: Command) -> [String] {
    switch command {
    case .help: Command.allCases.map(\.rawValue) + HelpPage.topics.map(\.name)
    case .config: Set<Command>.talking.map(\.rawValue).sorted() + ConfigCommand.words
    case .completion: allCases.map(\.rawValue)
    case .sign, .verify: ["channel", "user", "request", "webhook"]
    case .webhook: ["listen", "send"]
    case .bench: BenchMode.allCases.map(\.rawValue)
    default: []
    }
  }
}
