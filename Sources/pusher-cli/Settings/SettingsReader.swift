internal import PusherCore

/// Turns typed options and the environment into settings; collects warnings.
///
/// Order: options, the source that an option names (`--local`, `--env-file`), the environment, the
/// file that the environment names, defaults.
struct SettingsReader {
  private(set) var typed: TypedArguments
  /// Without the options of files.
  private let asTyped: TypedArguments
  let environment: Environment
  let files: FileAccess
  /// The `.env` file that an option names.
  private(set) var namedFile: Environment?
  /// The `.env` file that the environment names.
  private(set) var fallbackFile: Environment?
  private(set) var namedProfile: CredentialSource?
  /// Profiles that apply if nothing else names an app, the preferred one first.
  private(set) var fallbackProfiles: [CredentialSource] = []
  private(set) var warnings: [UsageWarning] = []
  /// The option that reads standard input, which can be read once.
  private var inputReader: String?
  private var knownSecret: Secret?
  /// The regular file that holds the secret, if one does.
  private(set) var secretFile: SecretFile?
  /// Content of pipes and devices, by path: a second read would find nothing.
  private var kept: [String: [UInt8]] = [:]

  init(
    _ typed: TypedArguments, environment: [String: String], files: FileAccess
  ) throws(UsageError) {
    self.init(unread: typed, environment: environment, files: files)
    try typed.refuseExclusions()
    for (flag, value) in try typed.partsOfURL() {
      try self.typed.record(value, for: flag, origin: Flag.url.spelling)
    }
    namedFile = try typed.setting(.envFile).map { path throws(UsageError) in try dotEnv(path) }
    let isUseful = Set<Command>.working.contains(typed.command) && namedFile == nil
    if isUseful, !typed.isOn(.local), let path = self.environment.first(.envFile) {
      fallbackFile = try dotEnv(path)
    }
    if Set<Command>.talking.contains(typed.command) { try takeConfiguration() }
    if typed.command == .serve, let port = self.typed.setting(.servePort) {
      try self.typed.record(":\(port.value)", for: .listen, origin: port.origin)
    }
    if let place = servedPlace() {
      try self.typed.fill(
        [.init(flag: .listen, value: place.value, origin: place.origin)], isNamed: false)
    }
    try self.typed.refuseMissingFlags()
  }

  init(unread typed: TypedArguments, environment: [String: String], files: FileAccess) {
    self.typed = typed
    asTyped = typed
    self.environment = Environment(environment)
    self.files = files
  }

  var origin: SettingsOrigin {
    SettingsOrigin(typed: asTyped, environment: environment.variables, kept: kept)
  }

  /// Takes the named profile (or `default`, if nothing names an app) and the command's options.
  private mutating func takeConfiguration() throws(UsageError) {
    let files = try configurationFiles()
    let isLocal = typed.isOn(.local)
    if let name = typed.setting(.profile) {
      let section = try Self.profile(name, in: files)
      namedProfile = section.source
      try typed.fill(section.options, isNamed: true)
    } else if !isLocal, namedFile == nil {
      let name = environment.first(.profile)
      let named = try name.map { name throws(UsageError) in try Self.profile(name, in: files) }
      let sections = named.map { [$0] } ?? files.compactMap { $0.profiles["default"] }
      fallbackProfiles = sections.map(\.source)
      // Options of a profile for another app's server do not apply here.
      let chosen = try? source(.webSocket)
      for section in sections where section.source.isEmpty || section.source == chosen {
        try typed.fill(section.options, isNamed: false)
      }
    }
    for file in files {
      let options = file.commands[typed.command.rawValue]?.lines ?? []
      try typed.fill(options.filter { !isLocal || !$0.flag.isOfConnection }, isNamed: false)
    }
  }

  mutating func warn(_ text: String) { add(UsageWarning(text)) }
  mutating func warnAlways(_ text: String) { add(UsageWarning(text, isSilenced: false)) }

  /// Several settings may read one option; its warning comes once.
  private mutating func add(_ warning: UsageWarning) {
    if !warnings.contains(warning) { warnings.append(warning) }
  }

  var verbosity: Verbosity {
    if typed.isOn(.quiet) { return .quiet }
    return switch typed.count(.verbose) {
    case 0: .normal
    case 1: .verbose
    default: .frames
    }
  }

  /// Returns the app key; refuses the file of a TLS key, which other programs expect.
  func key(_ source: CredentialSource) throws(UsageError) -> Setting {
    guard let key = typed.setting(.key) ?? source.key else { throw missingKey }
    if key.value.hasSuffix(".pem") || key.value.hasSuffix(".key"),
      files.permissions(key.value) != nil
    {
      let remedy = typed.command == .serve ? "; give a TLS key with --tls-key" : ""
      throw UsageError("\(key.origin) takes the app key, but '\(key.value)' is a file\(remedy)")
    }
    try requireWord(key, what: "app key")
    return key
  }

  /// Refuses an app key or ID that does not fit into a URL's path.
  func requireWord(_ setting: Setting, what: String) throws(UsageError) {
    guard setting.value.isVisible(without: "/?#%"), !setting.value.isEmpty else {
      throw UsageError("\(setting.origin): '\(setting.value)' is not an \(what)")
    }
  }

  /// Returns the secret: from the option's file, else from the source.
  mutating func secret(_ source: CredentialSource) throws(UsageError) -> Secret? {
    if let knownSecret { return knownSecret }
    knownSecret = try readSecret(source)
    return knownSecret
  }

  private mutating func readSecret(_ source: CredentialSource) throws(UsageError) -> Secret? {
    let named = typed.text(.secretFile).map {
      SecretOrigin.file(path: $0, origin: Flag.secretFile.spelling)
    }
    switch named ?? source.secret {
    case nil: return nil
    case .text(let secret, _): return secret
    case .file(let path, Environment.serviceCredentials) where files.permissions(path) == nil:
      return nil
    case .file(let path, let origin):
      let file = SecretFile(path: path, origin: origin)
      if files.permissions(path) != nil { secretFile = file }
      return try secret(in: file)
    }
  }

  mutating func secret(in named: SecretFile) throws(UsageError) -> Secret {
    let (path, origin) = (named.path, named.origin)
    let wanted = "it must contain only the app secret, on one line"
    let file: (text: String, holders: FileHolders?)
    do throws(UsageError) {
      file = try textAndHolders(ofConfidential: path, origin)
    } catch {
      throw UsageError("\(error.message); \(wanted)")
    }
    try judge(file.holders, of: path, origin)
    guard file.text.split(separator: "\n").count == 1 else {
      throw UsageError("\(origin): \(Self.name(path)) has more than one line; \(wanted)")
    }
    return Secret(file.text)
  }

  /// Reads a file that holds secrets; refuses one that others decide about, and warns of readers.
  mutating func confidentialText(in path: String, _ origin: String) throws(UsageError) -> String {
    let file = try textAndHolders(ofConfidential: path, origin)
    try judge(file.holders, of: path, origin)
    return file.text
  }

  private mutating func textAndHolders(
    ofConfidential path: String, _ origin: String
  ) throws(UsageError) -> (text: String, holders: FileHolders?) {
    let file = try textAndHolders(of: path, origin, limit: 65_536)
    guard !file.text.isEmpty else { throw UsageError("\(origin): \(Self.name(path)) is empty") }
    return file
  }

  mutating func judge(
    _ holders: FileHolders?, of path: String, _ origin: String
  ) throws(UsageError) {
    guard let holders, let doubt = holders.doubt else { return }
    guard !holders.isDecidedByOthers else {
      throw UsageError("\(origin): \(doubt.words("'\(path)'", at: path))")
    }
    warn(doubt.words(path, at: path))
  }

  /// Reads a text file, by default without its last newline; `-` is standard input.
  ///
  /// - Parameter word: The word that names the file, for messages; by default the path.
  mutating func text(
    of path: String, _ origin: String, limit: Int, dropsNewline: Bool = true, as word: String? = nil
  ) throws(UsageError) -> String {
    try textAndHolders(of: path, origin, limit: limit, dropsNewline: dropsNewline, as: word).text
  }

  mutating func textAndHolders(
    of path: String, _ origin: String, limit: Int, dropsNewline: Bool = true, as word: String? = nil
  ) throws(UsageError) -> (text: String, holders: FileHolders?) {
    let content = try content(of: path, origin, limit: limit, as: word)
    var bytes = content.bytes
    if dropsNewline, bytes.last == UInt8(ascii: "\n") {
      bytes.removeLast()
      if bytes.last == UInt8(ascii: "\r") { bytes.removeLast() }
    }
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw UsageError("\(origin): \(Self.name(word ?? path)) is not UTF-8 text")
    }
    return (text, content.holders)
  }

  /// Reads a whole file; a pipe only once, however many settings it serves.
  mutating func content(
    of path: String, _ origin: String, limit: Int, as word: String? = nil
  ) throws(UsageError) -> FileContent {
    if path == "-" { try claimInput(for: origin) }
    if let known = kept[path] { return FileContent(bytes: known) }
    switch files.read(path, limit) {
    case .failure(let fault):
      throw UsageError("\(origin): cannot read \(Self.name(word ?? path)): \(fault.reason)")
    case .success(let content):
      keep(content.bytes, of: path)
      return content
    }
  }

  /// Keeps the content of a file that cannot be read again; warns if it is that of the start.
  private mutating func keep(_ bytes: [UInt8], of path: String) {
    guard files.permissions(path) == nil else { return }
    kept[path] = bytes
    if path != "-", files.isKept(path) {
      warn("'\(path)' is not a regular file: the text from the start stays in use")
    }
  }

  mutating func claimInput(for origin: String) throws(UsageError) {
    if let earlier = inputReader, earlier != origin {
      throw UsageError("\(earlier) and \(origin) both read standard input; give one of them a file")
    }
    inputReader = origin
  }

  private static func name(_ path: String) -> String {
    path == "-" ? "standard input" : "'\(path)'"
  }

  /// Returns the value, or the content of `@FILE`; `@-` is standard input.
  mutating func textOrFile(
    _ value: String, _ origin: String, limit: Int, dropsNewline: Bool = true
  ) throws(UsageError) -> String {
    guard value.hasPrefix("@") else { return value }
    guard value.count > 1 else { throw UsageError("\(origin): '@' needs a file name") }
    let path = String(value.dropFirst())
    return try text(
      of: path, origin, limit: limit, dropsNewline: dropsNewline, as: path == "-" ? path : value)
  }

  /// Returns a word of a closed list from the option, else the variable, else the default.
  func choice<Choice: RawRepresentable & CaseIterable>(_ flag: Flag) throws(UsageError) -> Choice
  where Choice.RawValue == String {
    let set = environment[flag]
    let text = (typed.isWeak(flag) ? set : nil) ?? typed.text(flag) ?? set ?? typed.word(flag)
    guard let choice = Choice(rawValue: text) else {
      let words = Choice.allCases.map(\.rawValue).joined(separator: ", ")
      throw UsageError("\(flag.variable ?? flag.spelling): '\(text)' is not one of \(words)")
    }
    return choice
  }

  /// Returns the colour of standard output: the option, then PUSHER_CLI_COLOR, NO_COLOR,
  /// FORCE_COLOR, TERM.
  ///
  /// `auto` means on a terminal. Variables that force colour apply to `pretty` only, in a pipe too.
  /// JSON is for programs, and only the option colours it in a pipe.
  func color(for output: OutputFormat) throws(UsageError) -> ColorChoice {
    let asked: ColorChoice = try choice(.color)
    let isOption = typed.text(.color) != nil
    let choice = asked.resolved(in: environment)
    return choice == .always && !isOption && output != .pretty ? .auto : choice
  }
}

enum Verbosity: Equatable, Sendable {
  case quiet, normal, verbose
  /// Protocol frames too.
  case frames
}

enum ColorChoice: String, CaseIterable, Sendable {
  case auto, always, never

  /// Resolves `auto` by the environment: NO_COLOR, then the variables that force colour, then TERM.
  ///
  /// A result of `auto` means on a terminal.
  func resolved(in environment: Environment) -> ColorChoice {
    guard self == .auto else { return self }
    if environment["NO_COLOR"] != nil { return .never }
    let force = environment["FORCE_COLOR"] ?? environment["CLICOLOR_FORCE"]
    if let force, force != "0", force != "false" { return .always }
    return environment["TERM"] == "dumb" ? .never : .auto
  }

  static func forMessages(typed: String?, in environment: Environment) -> ColorChoice {
    let asked = typed ?? environment[.color]
    return (asked.flatMap(Self.init) ?? .auto).resolved(in: environment)
  }

  func isOn(forTerminal isTerminal: Bool) -> Bool {
    switch self {
    case .always: true
    case .never: false
    case .auto: isTerminal
    }
  }
}

extension SettingsReader {
  /// Returns the channels without duplicates, in order; `toUsers` permits the channel of a user.
  mutating func channels(_ names: [String], toUsers: Bool = false) throws(UsageError) -> [String] {
    var channels: [String] = []
    var known: Set<String> = []
    for name in names where known.insert(name).inserted {
      let shown = name.count > 64 ? name.prefix(64) + "…" : name
      if name.hasPrefix("#"), !toUsers || UserChannel.userID(channelName: name) == nil {
        throw UsageError(
          "channel '\(shown)': "
            + (toUsers
              ? "the channel of a user is '\(UserChannel.prefix)ID'"
              : "the events of a user come with --sign-in"))
      }
      if let problem = ChannelName.problem(in: name) {
        throw UsageError("channel '\(shown)': \(problem)")
      }
      if name.count > ChannelName.documentedLength {
        warn(
          "channel '\(shown)' has \(name.count) characters; "
            + "the limit of Pusher Channels is \(ChannelName.documentedLength)")
      }
      if name.utf8.contains(UInt8(ascii: ",")) {
        warn("channel '\(shown)' is one name: separate channels with blanks, not with commas")
      }
      channels.append(name)
    }
    return channels
  }
}

/// The sources of a run's settings, for reading them again.
struct SettingsOrigin: Sendable {
  /// As typed, without the options of files.
  let typed: TypedArguments
  let environment: [String: String]
  /// Content of standard input, pipes and devices, which can be read only once, by path.
  let kept: [String: [UInt8]]

  /// Reads the app's secret again, with the checks of the start.
  func secret(in file: SecretFile) throws(UsageError) -> Secret {
    var reader = SettingsReader(unread: typed, environment: environment, files: .running())
    return try reader.secret(in: file)
  }
}
