internal import PusherCore

/// Sources of an app and its server besides options; sources are not mixed.
extension SettingsReader {
  private static let envFileLimit = 1 << 20

  /// Returns the source that options name, else the environment, else the file that the environment
  /// names.
  ///
  /// With `--key`, a source with the same key is preferred, and a source without a key is accepted.
  func source(_ face: Face) throws(UsageError) -> CredentialSource {
    if typed.isOn(.local) { return .local }
    let isNamed = namedProfile != nil || namedFile != nil
    let places = isNamed ? [namedFile] : [environment, fallbackFile]
    var sources = [namedProfile].compactMap { $0 }
    for place in places.compactMap({ $0 }) { sources += try place.sources(isAPI: face == .api) }
    sources = (sources + fallbackProfiles).filter { !$0.isEmpty }
    let key = typed.text(.key)
    if let key, let same = sources.first(where: { $0.key?.value == key }) { return same }
    let chosen = sources.first { $0.key != nil } ?? (key == nil ? nil : sources.first)
    return environment.withServiceCredential(chosen ?? CredentialSource())
  }

  var missingKey: UsageError {
    if let name = typed.text(.profile), namedFile == nil {
      return UsageError("no app key in the profile '\(name)': add a line 'key = KEY'")
    }
    if let file = namedFile?.file {
      return UsageError(
        "no app key in \(file): it sets none of PUSHER_APP_KEY, REVERB_APP_KEY, SOKETI_DEFAULT_APP_KEY"
      )
    }
    let hint = isAppNamed(in: ".env") ? "; ./.env has one: add --env-file .env" : ""
    return UsageError("no app key: give --key, PUSHER_APP_KEY or REVERB_APP_KEY\(hint)")
  }

  mutating func dotEnv(_ path: Setting) throws(UsageError) -> Environment {
    let text = try text(of: path.value, path.origin, limit: Self.envFileLimit, dropsNewline: false)
    let name = path.value == "-" ? "standard input" : path.value
    let file: DotEnv
    do throws(DotEnv.TooLarge) {
      file = try DotEnv(parsing: text, outer: variable)
    } catch {
      throw UsageError(
        "\(path.origin): the values of \(name) are larger than \(DotEnv.expandedLimit >> 10) KiB "
          + "after ${NAME} is replaced")
    }
    for line in file.faultyLines.prefix(3) {
      warn("\(name) line \(line) is not NAME=VALUE; the line is ignored")
    }
    if file.faultyLines.count > 3 {
      warn("\(name): \(file.faultyLines.count - 3) more lines are ignored")
    }
    return Environment(file.variables, file: name)
  }

  /// Checks a `.env` file for a hint only: a foreign folder must not choose the server.
  private func isAppNamed(in path: String) -> Bool {
    guard files.permissions(path) != nil,
      case .success(let bytes) = files.contents(path, Self.envFileLimit),
      let text = String(validating: bytes, as: UTF8.self),
      let parsed = try? DotEnv(parsing: text, outer: variable)
    else { return false }
    let file = Environment(parsed.variables)
    return (try? file.sources(isAPI: false))?.contains { $0.key != nil } ?? false
  }

  private func variable(_ name: String) -> String? {
    environment.variables[name] ?? Environment.variableOfProcess(name)
  }
}

extension ConfigurationFile {
  static let systemPath = "/etc/xdg/pusher-cli/config"

  /// Returns the user's file: PUSHER_CLI_CONFIG, else below XDG_CONFIG_HOME or `~/.config`.
  static func path(_ environment: Environment) -> String {
    if let named = environment[.config] { return named }
    let home = environment["HOME"] ?? ""
    return (environment["XDG_CONFIG_HOME"] ?? home + "/.config") + "/pusher-cli/config"
  }
}

extension SettingsReader {
  /// Reads the file that an option or the environment names, else the user's and the system's.
  mutating func configurationFiles() throws(UsageError) -> [ConfigurationFile] {
    if let path = typed.setting(.config) ?? environment.first(.config) {
      return [try configurationFile(path)]
    }
    let paths = [ConfigurationFile.path(environment), ConfigurationFile.systemPath]
    var found: [ConfigurationFile] = []
    for path in paths where files.permissions(path) != nil {
      found.append(try configurationFile(Setting(origin: "config", value: path)))
    }
    return found
  }

  static func profileNames(
    _ typed: TypedArguments, environment: [String: String], files: FileAccess = .system
  ) throws(UsageError) -> [String] {
    var reader = SettingsReader(unread: typed, environment: environment, files: files)
    return Set(try reader.configurationFiles().flatMap(\.profiles.keys)).sorted()
  }

  private mutating func configurationFile(_ path: Setting) throws(UsageError) -> ConfigurationFile {
    let (text, holders) = try textAndHolders(
      of: path.value, path.origin, limit: 1 << 20, dropsNewline: false)
    let file = try ConfigurationFile(parsing: text, path: path.value, home: environment["HOME"])
    if file.profiles.values.contains(where: { $0.secret != nil }) {
      try judge(holders, of: path.value, path.origin)
    }
    return file
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

extension TypedArguments {
  /// Returns the options for which `--url` stands: scheme, host, port, and those of its path.
  ///
  /// The path ends with `/app/KEY` or `/apps/ID`, or is a prefix.
  func partsOfURL() throws(UsageError) -> [(Flag, String)] {
    guard let text = text(.url) else { return [] }
    let url = try UsageError.explaining("--url: ", try HTTPURL(parsing: text))
    guard url.userInfo == nil else {
      throw UsageError(
        "--url: a secret in the URL would show in ps; put the whole URL into PUSHER_URL")
    }
    guard url.query == nil else {
      throw UsageError("--url: leave out '?' and the text after it; pusher-cli sets the query")
    }
    var path = url.path.split(separator: "/").map(String.init)
    var parts = [
      (Flag.scheme, url.scheme.rawValue), (.host, url.host), (.port, String(url.port)),
    ]
    let words: [String: Flag] = ["app": .key, "apps": .appID]
    if let name = path.last, let flag = path.dropLast().last.flatMap({ words[$0] }) {
      if isGiven(flag) { throw Flag.Exclusion(flag.name, nil).refusal(of: .url) }
      parts.append((flag, name))
      path.removeLast(2)
    }
    if !path.isEmpty { parts.append((.path, path.joined(separator: "/"))) }
    return parts
  }
}
