internal import PusherCore

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
  /// True after `--`.
  private(set) var optionsEnded = false
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
    guard let flag = Flag.named(typed, for: command) else { return try negated(typed, attached) }
    guard flag.takesValue else {
      guard attached == nil else { throw mistake("option \(flag.spelling) takes no value") }
      return .on(flag)
    }
    return .value(flag, try value(of: flag, written: flag.spelling, attached: attached))
  }

  private func negated(_ typed: String, _ attached: String?) throws(UsageError) -> Argument {
    let bare = String(typed.dropFirst(3))
    guard typed.hasPrefix("no-"), let flag = Flag.named(bare, for: command) else {
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
    guard let flag = Flag.withLetter(letter, for: command) else {
      letters = ""
      if let reason = Suggestion.refusal(ofForeign: "-\(letter)", by: command) {
        throw mistake(reason)
      }
      let place = cluster.count > 2 ? " in '\(cluster)'" : ""
      throw mistake("unknown option '-\(letter)'\(place)")
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
    guard let value = attached ?? words[position...].first else {
      throw mistake("option \(written) needs a value")
    }
    if attached == nil {
      guard !looksLikeOption(value) else {
        throw mistake(
          "option \(written) needs a value "
            + "(found '\(value)'; write \(flag.spelling)=\(value) if you mean that)")
      }
      position += 1
    }
    guard !value.isEmpty || flag.allowsEmpty else {
      throw mistake("option \(written) needs a value (found an empty one)")
    }
    return value
  }

  /// Refuses a flag of other commands before its value is read; `config` takes all flags.
  private func refuseForeign(_ flag: Flag, _ written: String) throws(UsageError) {
    guard let command, command != .config,
      let reason = Flag.refusal(of: flag, written: written, by: command)
    else { return }
    throw mistake(reason)
  }

  private func looksLikeOption(_ word: String) -> Bool {
    if word.hasPrefix("--") { return true }
    guard word.hasPrefix("-"), let letter = word.dropFirst().first else { return false }
    return Flag.withLetter(letter, for: command) != nil
  }

  /// `-key K` would be read as `-k ey` with channel K, which is never intended.
  private func refuseLongName(_ word: String) throws(UsageError) {
    let name = word.dropFirst().prefix { $0 != "=" }
    guard name.count > 1, Flag.named(String(name)) != nil else { return }
    throw mistake("unknown option '-\(name)'; did you mean '--\(name)'?")
  }

  private func unknown(_ typed: String) -> UsageError {
    // Keep the value after '=' out of the message: it may be the secret.
    if ["secret", "app-secret", "password"].contains(typed) {
      return mistake("--\(typed) would show in ps; use --secret-file or PUSHER_APP_SECRET")
    }
    if let reason = Suggestion.refusal(ofForeign: "--" + typed, by: command) {
      return mistake(reason)
    }
    let flags = command.map(Flag.of) ?? Flag.all
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

/// Value of one flag: from the command line, a file, or the program's own variable.
struct FlagValue: Equatable, Sendable {
  /// The row of the command.
  let flag: Flag
  fileprivate(set) var texts: [String] = []
  /// `nil` for a toggle that is not given.
  fileprivate(set) var choice: Bool?
  fileprivate(set) var count = 0
  /// Name of the other option, the line of a file, or the variable that gives the value; `nil` for
  /// a typed value.
  fileprivate(set) var source: String?
  /// True if the value comes from a file that no option named.
  fileprivate(set) var isWeak = false

  fileprivate init(_ flag: Flag) { self.flag = flag }

  /// Makes the value that the program's own variable gives.
  init(_ flag: Flag, variable: Setting) {
    (self.flag, texts, source) = (flag, [variable.value], variable.origin)
  }

  var isGiven: Bool { !texts.isEmpty || choice == true }
  /// True also for a toggle that is switched off, and for a counter.
  var isSet: Bool { isGiven || choice != nil || count > 0 }
  var text: String? { texts.last }
  var origin: String { source ?? flag.spelling }
  var setting: Setting? { text.map { Setting(origin: origin, value: $0) } }
  var isOn: Bool { choice ?? flag.isOnByDefault }

  // The following are the default of the flag's row if no value is given.

  var value: String? { text ?? flag.standard }
  var integer: Int? { value.flatMap(Quantities.integer) }
  var duration: Duration? { value.flatMap(Quantities.duration) }

  // The following require a default.

  var word: String { standing(value) }
  var number: Int { standing(integer) }
  var bytes: Int { standing(value.flatMap(Quantities.size)) }
  var time: Duration { standing(duration) }

  private func standing<Value>(_ value: Value?) -> Value {
    guard let value else { preconditionFailure("the row of \(flag.spelling) holds no value") }
    return value
  }
}

/// The options of one command, checked by kind: as typed, and later also those of files.
struct TypedArguments: Equatable, Sendable {
  let command: Command
  private(set) var operands: [String] = []
  /// By flag name.
  private var values: [String: FlagValue] = [:]

  init(_ command: Command, _ arguments: [Argument]) throws(UsageError) {
    self.command = command
    for argument in arguments {
      switch argument {
      case .operand(let word): operands.append(word)
      case .value(let flag, let value): try record(value, for: row(of: flag))
      case .on(let flag): set(try row(of: flag), true)
      case .off(let flag): set(try row(of: flag), false)
      }
    }
  }

  subscript(flag: Flag) -> FlagValue {
    if let value = values[flag.name] { return value }
    // Usually the row is the command's own already, so that no table is searched.
    if flag.commands.contains(command) { return FlagValue(flag) }
    return FlagValue(Flag.named(flag.name, for: command) ?? flag)
  }

  /// Takes the options of a file for this command, except those that were typed or are
  /// contradicted.
  ///
  /// - Parameter isNamed: True if an option named the section.
  mutating func fill(_ lines: [ConfigurationFile.Line], isNamed: Bool) throws(UsageError) {
    let given = Set(values.keys)
    let rivals = Set(given.flatMap { Flag.rivals(of: $0, for: command) })
    var filled: [Flag] = []
    for line in lines {
      guard let flag = Flag.named(line.flag.name, for: command), flag.commands.contains(command),
        !given.contains(flag.name), !rivals.contains(flag.name)
      else { continue }
      filled.append(flag)
      if flag.takesValue {
        try record(line.value, for: flag)
      } else {
        set(flag, line.value == "true")
      }
      values[flag.name]?.source = line.origin
      values[flag.name]?.isWeak = !isNamed
    }
    try refuseExclusions(among: filled)
  }

  private func isGiven(_ name: String) -> Bool { values[name]?.isGiven ?? false }

  /// The given flags in the order of the table.
  private var given: [Flag] {
    let rows = values.values.filter(\.isGiven).map(\.flag)
    return Flag.all.filter { row in rows.contains { $0 === row } }
  }

  /// Refuses flags that exclude each other; checks only `flags` if given.
  func refuseExclusions(among flags: [Flag]? = nil) throws(UsageError) {
    for flag in flags?.filter({ isGiven($0.name) }) ?? given {
      for rival in flag.excludes where isGiven(rival.name) {
        if let flags, !flags.contains(where: { $0.name == rival.name }) { continue }
        throw rival.refusal(of: flag)
      }
    }
  }

  /// Refuses a flag without any of its required flags.
  func refuseMissingFlags() throws(UsageError) {
    for flag in given where !flag.needs.isEmpty {
      guard !flag.needs.contains(where: isGiven) else { continue }
      let known = flag.needs.filter {
        Flag.named($0, for: command)?.commands.contains(command) == true
      }
      let list = known.map { "--" + $0 }.joined(separator: " or ")
      throw UsageError("\(flag.spelling) needs \(list)")
    }
  }

  /// Refuses typed options of a command that the rest of its arguments leaves unused.
  ///
  /// A configuration file may hold them.
  ///
  /// - Parameters:
  ///   - use: The command with its word, such as `webhook listen`.
  ///   - owner: The words with which the options have a use.
  func refuse(_ flags: [Flag], by use: String, of owner: String) throws(UsageError) {
    for flag in flags where self[flag].isSet && self[flag].source == nil {
      throw UsageError(
        "\(use) has no option \(flag.spelling) (it belongs to \(owner))", helpFor: command)
    }
  }

  /// Takes what `--url` stands for: scheme, host, port, and those of its path.
  ///
  /// The path ends with `/app/KEY` or `/apps/ID`, or is a prefix.
  mutating func takeURL() throws(UsageError) {
    guard let text = self[.url].text else { return }
    let url = try UsageError.explaining("--url: ", try HTTPURL(parsing: text))
    guard url.userInfo == nil else {
      throw UsageError(
        "--url: a secret in the URL would show in ps; put the whole URL into PUSHER_URL")
    }
    if let query = url.query {
      guard let name = PusherService.named(in: query)?.name else {
        throw UsageError("--url: leave out '?' and the text after it; pusher-cli sets the query")
      }
      if !isGiven(Flag.service.name) { try record(name, for: .service, origin: Flag.url.spelling) }
    }
    var path = url.path.split(separator: "/").map(String.init)
    var parts = [
      (Flag.scheme, url.scheme.rawValue), (.host, url.host), (.port, String(url.port)),
    ]
    let words: [String: Flag] = ["app": .key, "apps": .appID]
    if let name = path.last, let flag = path.dropLast().last.flatMap({ words[$0] }) {
      if isGiven(flag.name) { throw Flag.Exclusion(flag.name, nil).refusal(of: .url) }
      parts.append((flag, name))
      path.removeLast(2)
    }
    if !path.isEmpty { parts.append((.path, path.joined(separator: "/"))) }
    for (flag, value) in parts { try record(value, for: flag, origin: Flag.url.spelling) }
  }

  private func row(of named: Flag) throws(UsageError) -> Flag {
    guard let flag = Flag.named(named.name, for: command) else {
      throw UsageError("unknown option '\(named.spelling)'", helpFor: command)
    }
    if let reason = Flag.refusal(of: flag, written: flag.spelling, by: command) {
      throw UsageError(reason, helpFor: command)
    }
    return flag
  }

  /// - Parameter origin: The option or the file that implies the value; `nil` for a typed value.
  mutating func record(
    _ value: String, for flag: Flag, origin: String? = nil
  ) throws(UsageError) {
    if let fault = flag.fault(in: value) {
      throw UsageError("option \(flag.spelling): \(fault)", helpFor: command)
    }
    change(flag.name) {
      $0.texts.append(value)
      if let origin { $0.source = origin }
    }
  }

  private mutating func change(_ name: String, _ change: (inout FlagValue) -> Void) {
    guard let flag = Flag.named(name, for: command) else { return }
    change(&values[name, default: FlagValue(flag)])
  }

  private mutating func set(_ flag: Flag, _ isOn: Bool) {
    if isOn, let cancelled = flag.cancels { values[cancelled] = nil }
    if flag.value != .counter {
      change(flag.name) { $0.choice = isOn }
    } else if isOn {
      change(flag.name) { $0.count += 1 }
    } else {
      values[flag.name] = nil
    }
  }
}
