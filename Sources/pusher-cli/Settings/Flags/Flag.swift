internal import PusherCore

/// One row of the flag table: all that parser, help, manual and completions know of a flag.
///
/// Rows are equal if their names are. A name has a row for each of its meanings.
struct Flag: Equatable, Sendable {
  enum Value: Equatable, Sendable {
    /// No value; `--no-NAME` turns it off.
    case toggle
    /// No value; each mention counts.
    case counter
    case text(String)
    case integer(ClosedRange<Int>, String = "N")
    /// Positive time, such as `1h30m`; a bare number is in seconds.
    case duration
    /// Bytes; k, M and G are powers of 1024.
    case size(ClosedRange<Int>)
    case choice([String], String)
  }

  enum Role: Sendable {
    case option
    /// Names the app or its server; all of these come from one source.
    case app
    /// Names a source of settings, so a configuration file cannot hold it.
    case source
    /// Replaces the command.
    case action
  }

  struct Exclusion: ExpressibleByStringLiteral, Sendable {
    let name: String
    /// Message for the refusal; `nil` for the usual one.
    let reason: String?

    init(stringLiteral name: String) { self.init(name, nil) }

    init(_ name: String, _ reason: String?) { (self.name, self.reason) = (name, reason) }

    func refusal(of flag: Flag) -> UsageError {
      UsageError(reason ?? "\(flag.spelling) and --\(name) exclude each other; give one")
    }
  }

  /// The groups in the help, with their headings.
  enum Group: String, CaseIterable, Sendable {
    case receive = "Events"
    case print = "Output"
    case send = "Event"
    case request = "Request"
    case ask = "Input"
    case load = "Load"
    case serve = "Server"
    case connection = "Connection"
    case authorization = "Authorisation"
    case patience = "Waiting and reconnecting"
    case voice = "Messages"
  }

  let name: String
  let letter: Character?
  let value: Value
  let offers: [String]
  let isRepeatable: Bool
  /// The toggle is on by default; help then shows `--no-NAME`.
  let isOnByDefault: Bool
  let allowsEmpty: Bool
  let disclosure: Disclosure
  let role: Role
  /// Environment variables with the same meaning, the preferred one first.
  let variables: [String]
  /// Contradicting flags; one of the two rows has the exclusion.
  let excludes: [Exclusion]
  let needs: [String]
  let commands: Set<Command>
  let group: Group
  /// Shown in the short help; `--help-all` shows every flag.
  let isCommon: Bool
  let standard: String?
  /// Short description, without a full stop.
  let summary: String
  /// Text of the manual; by default the summary as a sentence, and empty if another row of the name
  /// has it.
  ///
  /// Literals are in backquotes, the value as help shows it; `{default}` is the default value.
  let manual: String
  /// Flag and value for which this flag is short.
  let standsFor: (name: String, value: String)?
  /// Flag that this one cancels when it comes later.
  let cancels: String?

  init(
    _ name: String, letter: Character? = nil, _ value: Value = .toggle, offers: [String] = [],
    isRepeatable: Bool = false, isOnByDefault: Bool = false, allowsEmpty: Bool = false,
    shows disclosure: Disclosure = .whole, is role: Role = .option, variables: [String] = [],
    excludes: [Exclusion] = [], needs: [String] = [], of commands: Set<Command>, in group: Group,
    isCommon: Bool = false, default standard: String? = nil,
    standsFor: (name: String, value: String)? = nil, cancels: String? = nil, summary: String,
    manual: String? = nil
  ) {
    (self.name, self.letter, self.value, self.offers) = (name, letter, value, offers)
    (self.isRepeatable, self.isOnByDefault) = (isRepeatable, isOnByDefault)
    (self.allowsEmpty, self.isCommon, self.disclosure) = (allowsEmpty, isCommon, disclosure)
    (self.role, self.variables, self.excludes, self.needs) = (role, variables, excludes, needs)
    (self.commands, self.group, self.standard) = (commands, group, standard)
    (self.standsFor, self.cancels) = (standsFor, cancels)
    self.summary = summary
    self.manual = manual ?? summary.prefix(1).uppercased() + summary.dropFirst() + "."
  }

  static func == (left: Flag, right: Flag) -> Bool { left.name == right.name }

  var metavariable: String {
    switch value {
    case .toggle, .counter: ""
    case .duration: "TIME"
    case .size: "SIZE"
    case .text(let word), .integer(_, let word), .choice(_, let word): word
    }
  }

  var takesValue: Bool { !metavariable.isEmpty }
  var canBeNegated: Bool { !takesValue && role != .action }

  /// The program's own variable, which replaces the flag if that is not typed.
  var variable: String? { variables.first { $0.begins(with: "PUSHER_CLI_") } }

  /// True for flags about the connection, which a file cannot set for `--local`.
  var isOfConnection: Bool { group == .connection || self == .connectTimeout }

  var offeredValues: [String] {
    if case .choice(let words, _) = value { return words }
    return offers
  }

  var spelling: String { "--" + name }

  /// The spellings for users: letter, and long name, with `--no-` if the flag is on by default.
  var spellings: [String] {
    (letter.map { ["-\($0)"] } ?? []) + [isOnByDefault ? "--no-" + name : spelling]
  }

  /// Returns the mistake in a value; `nil` for a valid one.
  func fault(in text: String) -> String? {
    switch value {
    case .toggle, .counter, .text: return nil
    case .integer(let range, _):
      guard let number = Quantities.integer(text), range.contains(number) else {
        return "'\(text)' is not a whole number \(Self.words(for: range))"
      }
    case .duration:
      guard Quantities.duration(text) != nil else {
        return "'\(text)' is not a time such as 500ms, 30s, 5m or 1h30m"
      }
    case .size(let range):
      guard let bytes = Quantities.size(text), range.contains(bytes) else {
        return
          "'\(text)' is not a size from \(range.lowerBound >> 10)k to \(range.upperBound >> 30)G"
      }
    case .choice(let words, _):
      guard words.contains(text) else {
        let clause = Suggestion.clause(for: text, in: words)
        return "'\(text)' is not one of \(words.joined(separator: ", "))\(clause)"
      }
    }
    return nil
  }

  private static func words(for range: ClosedRange<Int>) -> String {
    range.upperBound == .max
      ? "of at least \(range.lowerBound)" : "from \(range.lowerBound) to \(range.upperBound)"
  }
}
