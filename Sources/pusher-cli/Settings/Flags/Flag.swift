internal import PusherCore

/// One row of the flag table: all that parser, help, manual and completions know of a flag.
///
/// Rows with the same name are equal. A name with several meanings has a row for each of them.
///
/// A row is an object, because the start of every run passes rows around: a copy of a structure
/// would count the references of each member.
final class Flag: Equatable, Sendable {
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
  /// The commands whose short help shows the flag.
  private let commonCommands: Set<Command>
  let standard: String?
  /// Short description, without a full stop.
  let summary: String
  /// Text of the manual; by default the summary as a sentence, and empty if another row of the name
  /// has it.
  ///
  /// Literals are in backquotes, the value as help shows it; `{default}` is the default value.
  var manual: String {
    givenManual ?? summary.prefix(1).uppercased() + summary.dropFirst() + "."
  }
  private let givenManual: String?
  /// ``manual`` with the default value.
  var filledManual: String {
    guard let standard else { return manual }
    return manual.pieces(separatedBy: "{default}").joined(separator: standard)
  }
  /// Values for completions, made when they are asked for: every run makes the table.
  private let offers: @Sendable () -> [String]
  /// Flag that this one cancels when it comes later.
  let cancels: String?

  init(
    _ name: String, letter: Character? = nil, _ value: Value = .toggle,
    offers: @escaping @Sendable @autoclosure () -> [String] = [],
    isRepeatable: Bool = false, isOnByDefault: Bool = false, allowsEmpty: Bool = false,
    shows disclosure: Disclosure = .whole, is role: Role = .option, variables: [String] = [],
    excludes: [Exclusion] = [], needs: [String] = [], of commands: Set<Command>, in group: Group,
    isCommon: Bool = false, isCommonOf some: Set<Command> = [], default standard: String? = nil,
    cancels: String? = nil, summary: String,
    manual: String? = nil
  ) {
    (self.name, self.letter, self.value, self.offers) = (name, letter, value, offers)
    (self.isRepeatable, self.isOnByDefault) = (isRepeatable, isOnByDefault)
    (self.allowsEmpty, self.disclosure) = (allowsEmpty, disclosure)
    commonCommands = isCommon ? commands : some
    (self.role, self.variables, self.excludes, self.needs) = (role, variables, excludes, needs)
    (self.commands, self.group, self.standard) = (commands, group, standard)
    (self.cancels, self.summary) = (cancels, summary)
    givenManual = manual
  }

  static func == (left: Flag, right: Flag) -> Bool { left.isNamed(right.name) }

  /// Compares the lengths first, because every run searches the table several times.
  private func isNamed(_ other: String) -> Bool {
    name.utf8.count == other.utf8.count && name == other
  }

  /// True if the short help of a command shows the flag; `--help-all` shows every flag.
  func isCommon(of command: Command) -> Bool { commonCommands.contains(command) }

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
    return offers()
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

/// The flag table, from which parser, help, manual and completions are made; one row per flag.
///
/// A name may have several rows with the same kind of value, since a flag may precede the command.
/// Rows are in the order of the help.
extension Flag {
  static let all =
    receiving + forwarding + steering + sending + asking + loading
    + requesting + serving + hooking + watching + consoles
    + connecting + authorizing + waiting + speaking

  static func of(_ command: Command) -> [Flag] { all.filter { $0.commands.contains(command) } }

  /// Returns the row of a long name: the command's own, else the first one.
  static func named(_ name: String, for command: Command? = nil) -> Flag? {
    first(for: command) { $0.isNamed(name) }
  }

  static func withLetter(_ letter: Character, for command: Command? = nil) -> Flag? {
    first(for: command) { $0.letter == letter }
  }

  /// Returns the flags that a flag excludes or cancels, whichever row says so.
  static func rivals(of name: String, for command: Command) -> [String] {
    of(command).flatMap { row in
      let others = row.excludes.map(\.name) + [row.cancels].compactMap { $0 }
      return row.name == name ? others : others.contains(name) ? [row.name] : []
    }
  }

  private static func first(for command: Command?, where fits: (Flag) -> Bool) -> Flag? {
    all.first { fits($0) && (command.map($0.commands.contains) ?? true) } ?? all.first(where: fits)
  }
}

extension Set<Command> {
  static let every = Set(Command.allCases)
  /// Call the HTTP API.
  static let calling: Set = [
    Command.trigger, .channels, .users, .terminate, .check, .bench, .webhook,
  ]
  /// Sign without a server.
  static let signing: Set = [Command.auth, .sign, .verify]
  static let joining: Set = [Command.subscribe, .check]
  /// Subscribe as `subscribe` does.
  static let authorizing = joining.union([.bench])
  static let client = calling.union(joining)
  static let printing: Set = [Command.subscribe, .sse]
  static let dialling = client.union([.sse])
  static let working = client.union(signing).union([.serve, .webhook])
  static let talking = working.union([.sse])
}

/// Options that a command does not have, and what to use in their place.
extension Flag {
  /// Returns the reason why `command` refuses a flag, typed as `written`; `nil` if it has the flag.
  static func refusal(of flag: Flag, written: String, by command: Command) -> String? {
    // The name is compared first, because that is quicker than to search the set of commands.
    guard !all.contains(where: { $0 == flag && $0.commands.contains(command) }) else { return nil }
    let start = "\(command.rawValue) has no option \(written)"
    if let hint = hint(for: flag, written: written, by: command) { return "\(start): \(hint)" }
    let owners = Command.allCases.filter { of($0).contains(flag) }.map(\.rawValue)
    let list =
      owners.count > 1
      ? owners.dropLast().joined(separator: ", ") + " and " + owners[owners.count - 1]
      : owners.joined()
    let name = written == flag.spelling ? "it" : flag.spelling
    return "\(start) (\(name) belongs to \(list))"
  }

  /// Returns the right option where the list of owners would not help; `nil` for most flags.
  private static func hint(for flag: Flag, written: String, by command: Command) -> String? {
    switch (command, flag) {
    case (.sse, .key) where written == "-k":
      "-k is --key; to skip the check of the certificate, give --insecure"
    case (.sse, .failCondition): "a refused request ends with a status other than 0 anyway"
    case (.sse, _) where flag.group == .connection:
      "its URL names the server; for channels, use 'pusher-cli subscribe'"
    case (.serve, .host), (.serve, .url): "give its address with --listen HOST:PORT"
    case (.serve, .scheme): "--tls-cert and --tls-key make it speak https and wss"
    case (.serve, .path): "it answers at /; a proxy can take a prefix away"
    case (.serve, .local): "it is the server of --local"
    case (.serve, .output), (.serve, .format):
      "--log-events prints events as JSON lines"
    case (.serve, .authEndpoint): "--serve-auth answers authorisation requests"
    case (.auth, _) where flag.group == .connection, (.sign, _) where flag.group == .connection,
      (.verify, _) where flag.group == .connection:
      "it signs without a server; leave the option out"
    case (.auth, .channel), (.sign, .channel), (.verify, .channel), (.channels, .channel),
      (.users, .channel), (.check, .channel):
      "give the channel as an argument"
    case (.terminate, .userID): "give the user as an argument"
    case (.trigger, .timeout), (.channels, .timeout), (.users, .timeout), (.terminate, .timeout),
      (.check, .timeout):
      "--connect-timeout limits the wait"
    case (.bench, .data), (.bench, .timeout): "--time sets how long it sends"
    case (.bench, .count): "--rate and --time set the number of events"
    case (.subscribe, .prefix): "give a pattern as a channel, such as 'private-*'"
    case (.subscribe, .until): "--until-event ends the run at the name of an event"
    default: nil
    }
  }
}

/// The part of a flag's value that `config`, messages and traces may show.
///
/// A value of the form `@FILE` names a file and is shown whole.
enum Disclosure: Sendable {
  case whole
  /// The name of a field such as `Authorization: …`.
  case field
  /// The name of a parameter such as `token=…`.
  case parameter
  /// Scheme, host and port of a URL: user, password, path and query may be secret.
  case place
  /// An address to listen at: what stands before an `@`, by mistake, may be secret.
  case address
  /// The first word of a command line: the others may be tokens.
  case program
  case nothing
  private static let hidden = "…"

  /// Returns the part of `text` that may be shown; `text` may be malformed.
  func shown(_ text: String) -> String {
    switch self {
    case .whole: return text
    case _ where text.begins(with: "@") && self != .program: return text
    case .field: return Self.name(in: text, before: ":")
    case .parameter: return Self.name(in: text, before: "=")
    case .place: return Self.place(in: text)
    case .address:
      return text.utf8.lastIndex(of: UInt8(ascii: "@")).map { Self.hidden + text[$0...] } ?? text
    case .program: return Self.program(in: text)
    case .nothing: return Self.hidden
    }
  }

  private static func name(in text: String, before mark: Unicode.Scalar) -> String {
    guard let end = text.utf8.firstIndex(of: UInt8(ascii: mark)), ASCII.isToken(text[..<end]) else {
      return hidden
    }
    return "\(text[...end])\(hidden)"
  }

  /// Returns scheme, if any, and authority of a URL; the authority may be a list of hosts.
  private static func place(in text: String) -> String {
    if text.isEmpty { return text }
    let mark = text.range(ofBytes: "://")
    let scheme = mark.map { text[..<$0.upperBound] } ?? ""
    let rest = mark.map { text[$0.upperBound...] } ?? text[...]
    let authority = rest.utf8.prefix { !"/?#".utf8.contains($0) }
    let behind = rest.utf8[authority.endIndex...]
    let isScheme = scheme.utf8.dropLast(3).allSatisfy {
      ($0 | 0x20) &- 0x61 < 26 || "+".utf8.contains($0)
    }
    // A later @ may end a password that contains a slash.
    guard isScheme, !behind.contains(UInt8(ascii: "@")) else { return hidden }
    let at = authority.lastIndex(of: UInt8(ascii: "@"))
    let hosts = Substring(at.map { authority[$0...].dropFirst() } ?? authority)
    let isPlain = hosts.utf8.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false)
      .allSatisfy { HTTPURL.isAuthority(String(Substring($0))) }
    return isPlain ? "\(scheme)\(hosts)" : hidden
  }

  private static func program(in text: String) -> String {
    let isWordByte = { (byte: UInt8) in
      (byte | 0x20) &- 0x61 < 26 || byte &- 0x30 < 10 || "-_./".utf8.contains(byte)
    }
    let word = text.utf8.prefix { $0 != 0x20 }
    guard !word.isEmpty, word.allSatisfy(isWordByte) else { return hidden }
    return word.count == text.utf8.count ? text : "\(Substring(word)) \(hidden)"
  }
}
