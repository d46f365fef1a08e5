enum Argument: Equatable {
  case value(Flag, String)
  case on(Flag)
  /// `--no-NAME`.
  case off(Flag)
  case operand(String)
}

/// Splits words into flags, values and operands: `--name value`, `--name=value`, `-n5`, `-n 5`,
/// `-qv`, `--`.
///
/// Options may be anywhere before `--`. Prefixes of long names are not completed, since a new flag
/// would change the meaning of a script. After an error the lexer continues with the next word, so
/// that it still finds a later `--help`.
struct ArgumentLexer {
  private let words: [String]
  private let command: Command?
  private var position = 0
  private var optionsEnded = false
  /// The unread letters of a word such as `-qv`, and the word.
  private var letters = Substring()
  private var cluster = ""

  init(_ words: [String], command: Command? = nil) {
    self.words = words
    self.command = command
  }

  mutating func next() throws(UsageError) -> Argument? {
    guard letters.isEmpty else { return try nextLetter() }
    guard position < words.count else { return nil }
    let word = words[position]
    position += 1
    guard !optionsEnded, word.hasPrefix("-"), word != "-" else { return .operand(word) }
    if word == "--" {
      optionsEnded = true
      return try next()
    }
    guard word.hasPrefix("--") else {
      try refuseLongName(word)
      letters = word.dropFirst()
      cluster = word
      return try nextLetter()
    }
    return try long(word.dropFirst(2))
  }

  private mutating func long(_ body: Substring) throws(UsageError) -> Argument {
    let parts = body.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    let typed = String(parts[0])
    let attached = parts.count == 2 ? String(parts[1]) : nil
    guard let flag = Flags.named(typed, for: command) else { return try negated(typed, attached) }
    guard flag.takesValue else {
      guard attached == nil else { throw mistake("option \(flag.spelling) takes no value") }
      return .on(flag)
    }
    return .value(flag, try value(of: flag, written: flag.spelling, attached: attached))
  }

  private func negated(_ typed: String, _ attached: String?) throws(UsageError) -> Argument {
    let bare = String(typed.dropFirst(3))
    guard typed.hasPrefix("no-"), let flag = Flags.named(bare, for: command) else {
      throw unknown(typed)
    }
    guard flag.canBeNegated else {
      throw mistake("option \(flag.spelling) has no --no- form; leave it out")
    }
    guard attached == nil else { throw mistake("option --\(typed) takes no value") }
    return .off(flag)
  }

  private mutating func nextLetter() throws(UsageError) -> Argument {
    let letter = letters.removeFirst()
    guard let flag = Flags.withLetter(letter, for: command) else {
      letters = ""
      let place = cluster.count > 2 ? " in '\(cluster)'" : ""
      let clause = Suggestion.clause(forLetter: letter, of: command)
      throw mistake("unknown option '-\(letter)'\(place)\(clause)")
    }
    guard flag.takesValue else { return .on(flag) }
    let rest = letters.hasPrefix("=") ? letters.dropFirst() : letters
    let attached = letters.isEmpty ? nil : String(rest)
    letters = ""
    return .value(flag, try value(of: flag, written: "-\(letter)", attached: attached))
  }

  private mutating func value(
    of flag: Flag, written: String, attached: String?
  ) throws(UsageError) -> String {
    try refuseForeign(flag, written)
    if let attached {
      guard !attached.isEmpty || flag.allowsEmpty else {
        throw mistake("option \(written) needs a value (found an empty one)")
      }
      return attached
    }
    guard position < words.count else { throw mistake("option \(written) needs a value") }
    let next = words[position]
    guard !looksLikeOption(next) else {
      throw mistake(
        "option \(written) needs a value "
          + "(found '\(next)'; write \(flag.spelling)=\(next) if you mean that)")
    }
    position += 1
    guard !next.isEmpty || flag.allowsEmpty else {
      throw mistake("option \(written) needs a value (found an empty one)")
    }
    return next
  }

  /// Refuses a flag of other commands before its value is read; `config` takes all flags.
  private func refuseForeign(_ flag: Flag, _ written: String) throws(UsageError) {
    guard let command, command != .config,
      let reason = Flags.refusal(of: flag, written: written, by: command)
    else { return }
    throw mistake(reason)
  }

  private func looksLikeOption(_ word: String) -> Bool {
    if word.hasPrefix("--") { return true }
    guard word.hasPrefix("-"), let letter = word.dropFirst().first else { return false }
    return Flags.withLetter(letter, for: command) != nil
  }

  /// `-key K` would be read as `-k ey` with channel K, which is never intended.
  private func refuseLongName(_ word: String) throws(UsageError) {
    let name = word.dropFirst().prefix { $0 != "=" }
    guard name.count > 1, Flags.named(String(name)) != nil else { return }
    throw mistake("unknown option '-\(name)'; did you mean '--\(name)'?")
  }

  private func unknown(_ typed: String) -> UsageError {
    // Keep the value after '=' out of the message: it may be the secret.
    if ["secret", "app-secret", "password"].contains(typed) {
      return mistake("--\(typed) would show in ps; use --secret-file or PUSHER_APP_SECRET")
    }
    let flags = command.map(Flags.of) ?? Flags.all
    let names = flags.map(\.name) + flags.filter(\.canBeNegated).map { "no-" + $0.name }
    let candidates = Array(Set(names)).sorted()
    let clause = Suggestion.clause(for: typed, in: candidates, prefix: "--")
    let name = typed.utf8.prefix {
      ($0 | 0x20) &- 0x61 < 26 || $0 &- 0x30 < 10 || "-_.".utf8.contains($0)
    }
    let shown = name.count == typed.utf8.count ? typed : "\(Substring(name))…"
    return mistake("unknown option '--\(shown)'\(clause)")
  }

  private func mistake(_ message: String) -> UsageError { UsageError(message, helpFor: command) }
}
