internal import PusherCore

enum HelpPage: Equatable {
  case overview
  /// A command's page, with all options or only the common ones.
  case command(Command, complete: Bool)
  /// The page of `webhook listen` or `webhook send`, with its own options.
  case webhook(WebhookWord, complete: Bool)
  /// The manual's text of the flags with this name, in one command or in all.
  case flag(String, of: Command? = nil)
  case environment, exitCodes, faults, output, recipes

  static let topics: [(name: String, page: HelpPage)] = [
    ("environment", .environment), ("exit-codes", .exitCodes), ("faults", .faults),
    ("output", .output), ("patterns", .flag(Flag.event.name, of: .subscribe)),
    ("recipes", .recipes),
    ("where", .flag(Flag.whereExpression.name)),
  ]

  /// - Parameter word: The first argument after the command.
  init(for command: Command, _ word: String?, complete: Bool) {
    switch command {
    case .help, .version: self = .overview
    case .webhook:
      self =
        word.flatMap(WebhookWord.init).map { .webhook($0, complete: complete) }
        ?? .command(command, complete: complete)
    default: self = .command(command, complete: complete)
    }
  }

  /// Finds the page for `help WORD…`: a command, a topic, or the name of a flag without dashes.
  ///
  /// - Throws: ``UsageError`` if no page has that name.
  init(named words: [String]) throws(UsageError) {
    guard let word = words.first else {
      self = .overview
      return
    }
    let command = Command(word: word)
    let hasWord = command == .webhook && words.count > 1 && WebhookWord(rawValue: words[1]) != nil
    if let extra = words.dropFirst(hasWord ? 2 : 1).first {
      throw UsageError("help takes one command or topic (found '\(extra)' too)", helpFor: nil)
    }
    if let command {
      self.init(for: command, words.dropFirst().first, complete: false)
    } else if let topic = Self.topics.first(where: { $0.name == word }) {
      self = topic.page
    } else if Command.habits[word] == nil, Flag.all.contains(where: { $0.name == word }) {
      self = .flag(word)
    } else {
      let names = Command.words + Self.topics.map(\.name)
      let clause = Command.clause(for: word, in: names)
      throw UsageError("no help on '\(Command.shown(word))'\(clause)", helpFor: nil)
    }
  }

  /// The printed page: at most 80 columns, with a newline at the end.
  var text: String {
    switch self {
    case .overview: Self.text(PackageResources.overview_txt)
    case .command(let command, let complete):
      Self.text(
        Self.frames[command] ?? [], command.rawValue,
        Flag.of(command).filter { complete || $0.isCommon(of: command) }, complete: complete)
    case .webhook(let word, let complete):
      Self.text(
        word == .listen ? PackageResources.webhook_listen_txt : PackageResources.webhook_send_txt,
        "webhook \(word.rawValue)",
        Flag.of(.webhook).filter {
          !word.foreignFlags.contains($0) && (complete || $0.isCommon(of: .webhook))
        }, complete: complete)
    case .flag(let name, let command):
      Self.text(
        of: Flag.all.filter { flag in
          flag.name == name && !flag.manual.isEmpty
            && command.map { flag.commands.contains($0) } != false
        })
    case .environment: Self.text(PackageResources.environment_txt)
    case .exitCodes: Self.exitCodesText
    case .faults: Self.text(PackageResources.faults_txt)
    case .output: Self.text(PackageResources.output_txt)
    case .recipes: Self.text(PackageResources.recipes_txt)
    }
  }

  private static func text(_ bytes: some Collection<UInt8>) -> String {
    String(decoding: bytes, as: UTF8.self)
  }

  private static let frames: [Command: [UInt8]] = [
    .subscribe: PackageResources.subscribe_txt,
    .sse: PackageResources.sse_txt,
    .trigger: PackageResources.trigger_txt,
    .channels: PackageResources.channels_txt,
    .users: PackageResources.users_txt,
    .terminate: PackageResources.terminate_txt,
    .auth: PackageResources.auth_txt,
    .sign: PackageResources.sign_txt,
    .verify: PackageResources.verify_txt,
    .webhook: PackageResources.webhook_txt,
    .serve: PackageResources.serve_txt,
    .check: PackageResources.check_txt,
    .bench: PackageResources.bench_txt,
    .config: PackageResources.config_txt,
    .completion: PackageResources.completion_txt,
  ]

  private static func text(
    _ frame: [UInt8], _ words: String, _ flags: [Flag], complete: Bool
  ) -> String {
    var lines = [text(frame.dropLast())]
    if !complete { lines += ["", "Common options:"] }
    for group in Flag.Group.allCases {
      let rows = flags.filter { $0.group == group }
      if complete, !rows.isEmpty { lines += ["", "\(group.rawValue):"] }
      lines += rows.map(line)
    }
    if !complete {
      lines += ["", "All options: pusher-cli \(words) --help-all, or man pusher-cli"]
    }
    return lines.joined(separator: "\n") + "\n"
  }

  private static func text(of flags: [Flag]) -> String {
    var lines: [String] = []
    for flag in flags {
      if !lines.isEmpty { lines.append("") }
      lines.append((flag.letter.map { "-\($0), " } ?? "") + head(of: flag))
      for paragraph in flag.filledManual.pieces(separatedBy: "\n\n") {
        lines.append("")
        lines += wrapped(paragraph.pieces(separatedBy: "`").joined(separator: "'"), head: "")
      }
    }
    return lines.joined(separator: "\n") + "\n"
  }

  static let textColumn = 30

  private static func head(of flag: Flag) -> String {
    let words = flag.spellings.suffix(1) + (flag.takesValue ? [flag.metavariable] : [])
    return words.joined(separator: " ")
  }

  private static func line(for flag: Flag) -> String {
    let head = "  " + (flag.letter.map { "-\($0), " } ?? "    ") + head(of: flag)
    // A head that is too long for its column puts the text on the next line.
    let gap =
      head.count > textColumn - 2
      ? "\n" + String(repeating: " ", count: textColumn)
      : String(repeating: " ", count: textColumn - head.count)
    return head + gap + flag.summary + (flag.standard.map { " (\($0))" } ?? "")
  }

  static var exitCodesText: String {
    var lines = ["Exit statuses:", ""]
    for status in ExitStatus.allCases {
      let number = String(status.rawValue)
      let head = "  " + String(repeating: " ", count: 3 - number.count) + number + "  "
      lines += wrapped(status.meaning, head: head)
    }
    lines += wrapped(ExitStatus.signals, head: "    -  ")
    lines += ["", "Another run may help only after status 4.", ""]
    lines += wrapped(
      "A run waits for events with --count, --until and --until-event. One of them is enough: "
        + "the run then ends with 0, whatever comes later. The statuses of all other ends, without "
        + "such an option and with it:", head: "")
    lines += ["", "  without  with"]
    for row in RunWishes.rows {
      let numbers = [row.free, row.unmet].map { String($0.rawValue) }
      let columns = zip(numbers, [9, 6]).map { number, width in
        String(repeating: " ", count: width - number.utf8.count) + number
      }
      lines += wrapped("\(row.end) (\(row.commands))", head: columns.joined() + "  ")
    }
    lines += wrapped("a signal: the run dies of it", head: "        -     -  ")
    lines += [""]
    lines += wrapped(
      "trigger - ends with 0 if all lines were sent or standard input has no event, and a warning "
        + "says so then. A line that is cut or no event gives 5, a line that the server refuses 3, "
        + "4 or 5.", head: "")
    lines += [""]
    lines += wrapped(
      "On SIGHUP, subscribe (with settings from a file) and serve (with --apps or --tls-cert) "
        + "read their files again and continue.", head: "")
    return lines.joined(separator: "\n") + "\n"
  }

  private static func wrapped(_ text: String, head: String) -> [String] {
    var lines: [String] = []
    var line = head
    var isFresh = true
    for word in text.split(whereSeparator: \.isWhitespace) {
      if !isFresh, line.count + 1 + word.count > 80 {
        lines.append(line)
        line = String(repeating: " ", count: head.count)
        isFresh = true
      }
      line += (isFresh ? "" : " ") + word
      isFresh = false
    }
    return lines + [line]
  }
}
