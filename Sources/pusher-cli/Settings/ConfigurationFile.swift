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
    let path: String
  }

  let path: String
  private(set) var profiles: [String: Section] = [:]
  private(set) var commands: [String: Section] = [:]

  /// Parses a whole file; `home` replaces `~` at the start of a value.
  init(parsing text: String, path: String, home: String?) throws(UsageError) {
    self.path = path
    var heading: Heading?
    let lines = text.utf8.split(separator: 0x0A, omittingEmptySubsequences: false)
    for (index, bytes) in lines.enumerated() {
      let line = Self.trimmed(text[bytes.startIndex..<bytes.endIndex])
      let origin = "\(path) line \(index + 1)"
      guard let first = line.utf8.first, !"#;".utf8.contains(first) else { continue }
      if first == UInt8(ascii: "[") {
        heading = try Heading(line, origin)
        continue
      }
      guard let heading else {
        throw UsageError("\(origin) is in no section: put it under [profile NAME] or [COMMAND]")
      }
      try take(line, under: heading, origin, home)
    }
  }

  private enum Heading {
    case profile(String)
    case command(Command)

    init(_ line: String, _ origin: String) throws(UsageError) {
      let words = line.dropFirst().dropLast().split(separator: " ").map(String.init)
      if line.last == "]", words.count == 2, words[0] == "profile" {
        self = .profile(words[1])
      } else if line.last == "]", words.count == 1, let command = Command(word: words[0]) {
        self = .command(command)
      } else {
        throw UsageError("\(origin): '\(line)' is not [profile NAME] or [COMMAND]")
      }
    }
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
    switch heading {
    case .profile(let profile):
      if name == "secret" {
        let secret = SecretOrigin.text(Secret(value), origin: origin)
        profiles[profile, default: Section(path: path)].secret = secret
      } else {
        let line = try Self.line(name, value, nil, origin)
        profiles[profile, default: Section(path: path)].lines.append(line)
      }
    case .command(let command):
      let line = try Self.line(name, value, command, origin)
      commands[command.rawValue, default: Section(path: path)].lines.append(line)
    }
  }

  private static func line(
    _ name: String, _ value: String, _ command: Command?, _ origin: String
  ) throws(UsageError) -> Line {
    let known = (command.map(Flags.of) ?? Flags.all).filter {
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
}

extension ConfigurationFile.Section {
  var source: CredentialSource {
    func setting(_ flag: Flag) -> Setting? {
      lines.last { $0.flag == flag }.map { Setting(origin: $0.origin, value: $0.value) }
    }
    let file = setting(.secretFile).map { SecretOrigin.file(path: $0.value, origin: $0.origin) }
    return CredentialSource(
      key: setting(.key), secret: secret ?? file, appID: setting(.appID),
      cluster: setting(.cluster), host: setting(.host), port: setting(.port),
      scheme: setting(.scheme), path: setting(.path))
  }

  var options: [ConfigurationFile.Line] { lines.filter { $0.flag.role != .app } }
}
