enum HelpPage: Equatable {
  case overview
  /// A command's page, with all options or only the common ones.
  case command(Command, complete: Bool)
  case environment, exitCodes, output, recipes

  static let topics: [(name: String, page: HelpPage)] = [
    ("environment", .environment), ("exit-codes", .exitCodes), ("output", .output),
    ("recipes", .recipes),
  ]

  init(for command: Command, complete: Bool) {
    switch command {
    case .help, .version: self = .overview
    default: self = .command(command, complete: complete)
    }
  }

  /// Finds the page for `help WORD…`.
  ///
  /// - Throws: ``UsageError`` if no page has that name.
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
      let clause = Command.clause(for: word, in: names)
      throw UsageError("no help on '\(Command.shown(word))'\(clause)", helpFor: nil)
    }
  }
}

extension HelpPage {
  /// The printed page: at most 80 columns, with a newline at the end.
  var text: String {
    switch self {
    case .overview: Self.overviewText
    case .command(let command, let complete): Self.text(of: command, complete: complete)
    case .environment: Self.environmentText
    case .exitCodes: Self.exitCodesText
    case .output: Self.outputText
    case .recipes: Self.recipesText
    }
  }

  private static let overviewText = """
    pusher-cli prints the events of a Pusher channel, or of an event stream (SSE),
    as JSON lines.

      pusher-cli subscribe --env-file .env '*'      # every event of your app
      pusher-cli subscribe --local -c private-orders -e 'order.*' -n 1 -W 30s
      pusher-cli sse https://example.com/stream | jq
      pusher-cli trigger --local -c my-channel -e greeting '{"hello":"world"}'

    Commands:
      subscribe [CHANNEL...]   print events as they arrive (short: sub)
      sse URL                  print the events of an event stream (SSE)
      trigger [DATA|-]         send an event, or JSON lines, through the HTTP API
      channels [NAME]          list the occupied channels, or show one
      users CHANNEL            list members; 'terminate USER' ends connections
      auth CHANNEL             print the answer of an authorisation endpoint
      sign, verify KIND        sign by hand, or find out why a signature is refused
      webhook listen|send      print webhooks, or send them for Reverb
      serve                    run a local server for development and tests
      check [CHANNEL...]       test a connection; 'config' shows the settings
      bench [MODE]             load a server, and tell lost events and delays
      help [COMMAND|TOPIC]     show help; also 'completion SHELL' and 'version'

    Topics: environment, exit-codes, output, recipes. Manual: man pusher-cli

    """

  private static func text(of command: Command, complete: Bool) -> String {
    var lines = frames[command].map { [$0] } ?? []
    for group in Flag.Group.allCases {
      let rows = Flag.of(command).filter { $0.group == group && (complete || $0.isCommon) }
      guard !rows.isEmpty else { continue }
      if complete {
        lines += ["", "\(group.rawValue):"]
      } else if lines.last != commonHeading, !lines.contains(commonHeading) {
        lines += ["", commonHeading]
      }
      lines += rows.map(line)
    }
    if !complete {
      lines += ["", "All options: pusher-cli \(command.rawValue) --help-all, or man pusher-cli"]
    }
    return lines.joined(separator: "\n") + "\n"
  }

  private static let commonHeading = "Common options:"

  static let textColumn = 30

  private static func line(for flag: Flag) -> String {
    let letter = flag.letter.map { "-\($0), " } ?? "    "
    let words = flag.spellings.suffix(1) + (flag.takesValue ? [flag.metavariable] : [])
    let head = "  " + letter + words.joined(separator: " ")
    // A head that is too long for its column puts the text on the next line.
    let gap =
      head.count > textColumn - 2
      ? "\n" + String(repeating: " ", count: textColumn)
      : String(repeating: " ", count: textColumn - head.count)
    return head + gap + flag.summary + (flag.standard.map { " (\($0))" } ?? "")
  }
}
