internal import PusherCore

/// The configuration file: apps by name, and values for options that were not typed.
///
/// `[profile NAME]` holds an app, its server and options; `[COMMAND]` holds options of one command.
/// A line is `OPTION = VALUE` with an option's long name, and `true` or `false` for an option
/// without a value. A repeatable option may have several lines. A profile may also hold `secret`.
/// Comments are lines that begin with `#` or `;`.
struct ConfigurationFile: Equatable, Sendable {
  struct Line: Equatable, Sendable {
    let flag: Flag
    /// As typed; `true` or `false` for a flag without a value.
    let value: String
    let origin: String
  }

  struct Section: Equatable, Sendable {
    fileprivate(set) var lines: [Line] = []
    fileprivate(set) var secret: SecretOrigin?

    var source: CredentialSource {
      func setting(_ flag: Flag) -> Setting? {
        lines.last { $0.flag == flag }.map { Setting(origin: $0.origin, value: $0.value) }
      }
      let file = setting(.secretFile).map { SecretOrigin.file(path: $0.value, origin: $0.origin) }
      return CredentialSource(secret: secret ?? file, setting)
    }

    var options: [Line] { lines.filter { $0.flag.role != .app } }
  }

  private typealias Heading = (profile: String?, command: Command?)

  private(set) var profiles: [String: Section] = [:]
  private(set) var commands: [Command: Section] = [:]

  /// Parses a whole file; `home` replaces `~` at the start of a value.
  init(parsing text: String, path: String, home: String?) throws(UsageError) {
    var heading: Heading?
    let lines = text.utf8.split(separator: 0x0A, omittingEmptySubsequences: false)
    for (index, bytes) in lines.enumerated() {
      let line = Self.trimmed(text[bytes.startIndex..<bytes.endIndex])
      let origin = "\(path) line \(index + 1)"
      guard let first = line.utf8.first, !"#;".utf8.contains(first) else { continue }
      if first == UInt8(ascii: "[") {
        heading = try Self.heading(line, origin)
        continue
      }
      guard let heading else {
        throw UsageError("\(origin) is in no section: put it under [profile NAME] or [COMMAND]")
      }
      try take(line, under: heading, origin, home)
    }
  }

  private static func heading(_ line: String, _ origin: String) throws(UsageError) -> Heading {
    let words = line.dropFirst().dropLast().split(separator: " ").map(String.init)
    if line.last == "]", words.count == 2, words[0] == "profile" { return (words[1], nil) }
    if line.last == "]", words.count == 1, let command = Command(word: words[0]) {
      return (nil, command)
    }
    throw UsageError("\(origin): '\(line)' is not [profile NAME] or [COMMAND]")
  }

  private mutating func take(
    _ line: String, under heading: Heading, _ origin: String, _ home: String?
  ) throws(UsageError) {
    // Keep the value out of messages: it may be a secret.
    let equals = line.utf8.firstIndex(of: UInt8(ascii: "=")) ?? line.endIndex
    let name = Self.trimmed(line[..<equals])
    guard equals < line.endIndex, Self.isName(name) else {
      throw UsageError("\(origin) is not OPTION = VALUE")
    }
    var value = Self.trimmed(Substring(line.utf8[equals...].dropFirst())).unquoted("\"")
    if let home, value.begins(with: "~/") { value = home + value.dropFirst() }
    if let profile = heading.profile, name == "secret" {
      let secret = SecretOrigin.text(Secret(value), origin: origin)
      profiles[profile, default: Section()].secret = secret
      return
    }
    let line = try Self.line(name, value, heading.command, origin)
    if let profile = heading.profile { profiles[profile, default: Section()].lines.append(line) }
    if let command = heading.command { commands[command, default: Section()].lines.append(line) }
  }

  private static func line(
    _ name: String, _ value: String, _ command: Command?, _ origin: String
  ) throws(UsageError) -> Line {
    let known = (command.map(Flag.of) ?? Flag.all).filter {
      $0.role == .option || $0.role == .app
    }
    guard let flag = known.first(where: { $0.name == name }) else {
      let clause = Suggestion.clause(for: name, in: known.map(\.name))
      throw UsageError("\(origin): unknown option '\(name)'\(clause)")
    }
    if flag.takesValue {
      guard !value.isEmpty || flag.allowsEmpty else {
        throw UsageError("\(origin): \(name) needs a value")
      }
      if let fault = flag.fault(in: value) { throw UsageError("\(origin): \(name): \(fault)") }
    } else if value != "true" && value != "false" {
      throw UsageError("\(origin): \(name) must be true or false")
    }
    return Line(flag: flag, value: value, origin: origin)
  }

  /// Returns true for a possible option name; messages hide other text, which may be secret.
  private static func isName(_ text: String) -> Bool {
    (1...64).contains(text.utf8.count)
      && text.utf8.allSatisfy {
        ($0 | 0x20) &- 0x61 < 26 || $0 &- 0x30 < 10 || "-_".utf8.contains($0)
      }
  }

  private static func trimmed(_ text: Substring) -> String {
    ASCII.trimmed(text) { $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }
  }

  static let systemPath = "/etc/xdg/pusher-cli/config"

  /// Returns the user's file: PUSHER_CLI_CONFIG, else below XDG_CONFIG_HOME or `~/.config`.
  static func path(_ environment: Environment) -> String {
    if let named = environment[.config] { return named }
    let home = environment["HOME"] ?? ""
    return (environment["XDG_CONFIG_HOME"] ?? home + "/.config") + "/pusher-cli/config"
  }

  static func profile(
    _ name: Setting, in files: [ConfigurationFile]
  ) throws(UsageError) -> ConfigurationFile.Section {
    if let section = files.lazy.compactMap({ $0.profiles[name.value] }).first { return section }
    let known = files.flatMap { $0.profiles.keys }.sorted()
    let clause =
      known.isEmpty
      ? "; no configuration file has a profile"
      : Suggestion.nearest(to: name.value, in: known).map { "; did you mean '\($0)'?" }
        ?? "; the profiles are \(known.joined(separator: ", "))"
    throw UsageError("\(name.origin): no profile '\(name.value)'\(clause)")
  }
}
