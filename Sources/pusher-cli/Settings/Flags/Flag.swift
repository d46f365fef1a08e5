internal import PusherCore

/// One row of the flag table: what parser, help, manual and completions know of a flag, and the key by which its value
/// is read.
///
/// Equal are two rows of the same name: a name has several where commands mean different things by it.
struct Flag: Equatable, Sendable {
  /// The kind of a flag's value, with its word in the help; the value is checked when it is read.
  enum Value: Equatable, Sendable {
    /// No value; `--no-NAME` turns it off.
    case toggle
    /// No value; each mention counts.
    case counter
    case text(String)
    case integer(ClosedRange<Int>, String = "N")
    /// A positive time, such as `1h30m`; a bare number is seconds.
    case duration
    /// Bytes, with k, M or G as powers of 1024.
    case size(ClosedRange<Int>)
    case choice([String], String)
  }

  /// The part that a flag plays among the sources of settings.
  enum Role: Sendable {
    case option
    /// Names the app or its server; all of these come from one source.
    case app
    /// Says where settings come from, so that no configuration file holds it.
    case source
    /// Is done instead of the command.
    case action
  }

  /// A flag that contradicts another.
  struct Exclusion: ExpressibleByStringLiteral, Sendable {
    let name: String
    /// The refusal, where there is more to say than that only one can be given.
    let reason: String?

    init(stringLiteral name: String) { self.init(name, nil) }

    init(_ name: String, _ reason: String?) { (self.name, self.reason) = (name, reason) }

    func refusal(of flag: Flag) -> UsageError {
      UsageError(reason ?? "\(flag.spelling) and --\(name) exclude each other; give one")
    }
  }

  /// The groups of flags, in the order of the help.
  enum Group: CaseIterable, Sendable {
    case receive, print, send, request, ask, serve, connection, authorization, patience, voice

    /// The heading in the help.
    var heading: String {
      switch self {
      case .receive: "Events"
      case .print: "Output"
      case .send: "Event"
      case .request: "Request"
      case .ask: "Question"
      case .serve: "Server"
      case .connection: "Connection"
      case .authorization: "Authorisation"
      case .patience: "Waiting and reconnecting"
      case .voice: "Messages"
      }
    }
  }

  /// The long name, without hyphens.
  let name: String
  let letter: Character?
  let value: Value
  /// Values of a text that shells offer, though others may be right too.
  let offers: [String]
  let isRepeatable: Bool
  /// Whether a toggle is on unless turned off; help then shows `--no-NAME`.
  let isOnByDefault: Bool
  /// Whether an empty value is a value.
  let allowsEmpty: Bool
  /// What may be shown of its value.
  let disclosure: Disclosure
  let role: Role
  /// Environment variables that say the same, the first one preferred.
  let variables: [String]
  /// Flags that contradict it; the row of one of the two says so.
  let excludes: [Exclusion]
  /// Flags without which it means nothing: one of them must be given.
  let needs: [String]
  let commands: Set<Command>
  let group: Group
  /// Whether the short help shows it; `--help-all` shows every flag.
  let isCommon: Bool
  /// The value that counts when none is given, as it would be typed.
  let standard: String?
  /// What it does, in a few words; no full stop.
  let summary: String
  /// What the manual says of it: the summary as a sentence unless there is more to say; empty where another row of the
  /// name says it.
  ///
  /// Literals stand in backquotes, the value as help shows it; `{default}` is the value that counts when none is given.
  let manual: String
  /// Another flag and value this one is a shorter way to write.
  let standsFor: (name: String, value: String)?
  /// A flag this one takes back when it comes later.
  let cancels: String?

  init(
    _ name: String, letter: Character? = nil, _ value: Value = .toggle, offers: [String] = [],
    isRepeatable: Bool = false, isOnByDefault: Bool = false, allowsEmpty: Bool = false,
    shows disclosure: Disclosure = .whole, is role: Role = .option,
    variables: [String] = [], excludes: [Exclusion] = [], needs: [String] = [],
    of commands: Set<Command>, in group: Group, isCommon: Bool = false,
    default standard: String? = nil,
    standsFor: (name: String, value: String)? = nil, cancels: String? = nil,
    summary: String, manual: String? = nil
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

  /// What stands for the value in help; empty for flags without one.
  var metavariable: String {
    switch value {
    case .toggle, .counter: ""
    case .duration: "TIME"
    case .size: "SIZE"
    case .text(let word), .integer(_, let word), .choice(_, let word): word
    }
  }

  var takesValue: Bool { !metavariable.isEmpty }

  /// Whether `--no-NAME` means something.
  var canBeNegated: Bool { !takesValue && role != .action }

  /// The program's own variable, which stands for the flag wherever it is not typed.
  var variable: String? { variables.first { $0.begins(with: "PUSHER_CLI_") } }

  /// Whether one set of options that names an app and its server may hold it, whatever the command makes of it.
  var isOfConnection: Bool { group == .connection || self == .connectTimeout }

  /// The values that shells offer.
  var offeredValues: [String] {
    if case .choice(let words, _) = value { return words }
    return offers
  }

  /// `--name`.
  var spelling: String { "--" + name }

  /// How it is written, letter and name: with `--no-` where that is what a user writes.
  var spellings: [String] {
    (letter.map { ["-\($0)"] } ?? []) + [isOnByDefault ? "--no-" + name : spelling]
  }

  /// What is wrong with a value of this flag; nil when nothing is.
  func fault(in text: String) -> String? {
    switch value {
    case .toggle, .counter, .text:
      return nil
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
