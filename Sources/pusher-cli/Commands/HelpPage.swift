/// A page `help` can show.
enum HelpPage: Equatable {
  case overview
  /// A command's own page; complete with every option, or the common ones.
  case command(Command, complete: Bool)
  case environment
  case exitCodes
  case output
  case recipes

  /// The topics besides the commands, in the order of the help.
  static let topics: [(name: String, page: HelpPage)] = [
    ("environment", .environment), ("exit-codes", .exitCodes), ("output", .output),
    ("recipes", .recipes),
  ]

  /// The page of a command; `help` and `version` need no page of their own.
  init(for command: Command, complete: Bool) {
    switch command {
    case .help, .version: self = .overview
    default: self = .command(command, complete: complete)
    }
  }

  /// The page `help WORD…` asks for.
  ///
  /// - Throws: ``UsageError`` when no page has that name.
  init(named words: [String]) throws(UsageError) {
    guard let word = words.first else {
      self = .overview
      return
    }
    guard words.count == 1 else {
      throw UsageError("help takes one command or topic (found '\(words[1])' too)", helpFor: nil)
    }
    if let command = Command(word: word) {
      self.init(for: command, complete: false)
    } else if let topic = Self.topics.first(where: { $0.name == word }) {
      self = topic.page
    } else {
      let names = Command.words + Self.topics.map(\.name)
      let clause = Suggestion.clause(for: word, in: names)
      throw UsageError("no help on '\(word)'\(clause)", helpFor: nil)
    }
  }
}
