internal import PusherCore
internal import PusherLines

/// The settings of a run: every flag with its value and origin, and the app with its server.
///
/// A flag's value is the first of: the typed option, the profile that an option names, the
/// program's own variable, the configuration file, the default of the flag's row. The app's key,
/// secret and server come from one source, and options replace single members of it; see
/// ``source(_:)``.
///
/// Reads files on request, and collects warnings.
struct Resolved: Sendable {
  /// With the options of files.
  private(set) var arguments: TypedArguments
  /// Without the options of files.
  let typed: TypedArguments
  let environment: Environment
  let files: FileAccess
  /// The `.env` file that an option names.
  private var namedFile: Environment?
  /// The `.env` file that the environment names.
  private var fallbackFile: Environment?
  private var namedProfile: CredentialSource?
  /// Profiles that apply if nothing else names an app, the preferred one first.
  private var fallbackProfiles: [CredentialSource] = []
  private(set) var warnings: [UsageWarning] = []
  /// The option that reads standard input, which can be read once.
  private var inputReader: String?
  private var knownSecret: Secret?
  /// The regular file that holds the secret, if one does.
  private(set) var secretFile: Setting?
  /// Content of pipes and devices, by path: a second read would find nothing.
  private var kept: [String: [UInt8]] = [:]

  init(
    _ typed: TypedArguments, environment: [String: String], files: FileAccess = .system
  ) throws(UsageError) {
    self.init(unread: typed, environment: environment, files: files)
    try typed.refuseExclusions()
    try arguments.takeURL()
    namedFile = try typed[.envFile].setting.map { path throws(UsageError) in try dotEnv(path) }
    let isUseful = Set<Command>.working.contains(command) && namedFile == nil
    if isUseful, !typed[.local].isOn, let path = self.environment.first(.envFile) {
      fallbackFile = try dotEnv(path)
    }
    if Set<Command>.talking.contains(command) { try takeConfiguration() }
    if command == .serve, let port = self[.servePort].setting {
      try arguments.record(":\(port.value)", for: .listen, origin: port.origin)
    }
    if let address = ListenSettings.served(&self) {
      try arguments.fill(
        [.init(flag: .listen, value: address.value, origin: address.origin)], isNamed: false)
    }
    try arguments.refuseMissingFlags()
  }

  private init(unread typed: TypedArguments, environment: [String: String], files: FileAccess) {
    (self.typed, arguments, self.files) = (typed, typed, files)
    self.environment = Environment(environment)
  }

  /// Reads all sources again, except standard input and pipes.
  func again() throws(UsageError) -> Resolved {
    try Resolved(typed, environment: environment.variables, files: .running(kept: kept))
  }

  // MARK: Flags

  var command: Command { arguments.command }
  var operands: [String] { arguments.operands }

  subscript(flag: Flag) -> FlagValue {
    let given = arguments[flag]
    guard !given.isGiven || given.isWeak, let name = flag.variable, let text = environment[name]
    else { return given }
    return FlagValue(given.flag, variable: Setting(origin: name, value: text))
  }

  /// Returns a word of a closed list; only a variable may hold another word.
  func choice<Choice: RawRepresentable & CaseIterable>(_ flag: Flag) throws(UsageError) -> Choice
  where Choice.RawValue == String {
    let value = self[flag]
    guard let choice = Choice(rawValue: value.word) else {
      let words = Choice.allCases.map(\.rawValue).joined(separator: ", ")
      throw UsageError("\(value.origin): '\(value.word)' is not one of \(words)")
    }
    return choice
  }

  /// Takes the named profile (or `default`, if nothing names an app) and the command's options.
  private mutating func takeConfiguration() throws(UsageError) {
    let files = try configurationFiles()
    let isLocal = typed[.local].isOn
    if let name = typed[.profile].setting {
      let section = try ConfigurationFile.profile(name, in: files)
      namedProfile = section.source
      try arguments.fill(section.options, isNamed: true)
    } else if !isLocal, namedFile == nil {
      let name = environment.first(.profile)
      let named = try name.map { name throws(UsageError) in
        try ConfigurationFile.profile(name, in: files)
      }
      let sections = named.map { [$0] } ?? files.compactMap { $0.profiles["default"] }
      fallbackProfiles = sections.map(\.source)
      // Options of a profile for another app's server do not apply here.
      let chosen = try? source(.webSocket)
      for section in sections where section.source.isEmpty || section.source == chosen {
        try arguments.fill(section.options, isNamed: false)
      }
    }
    for file in files {
      let options = file.commands[command]?.lines ?? []
      try arguments.fill(options.filter { !isLocal || !$0.flag.isOfConnection }, isNamed: false)
    }
  }

  /// Reads the file that an option or the environment names, else the user's and the system's.
  private mutating func configurationFiles() throws(UsageError) -> [ConfigurationFile] {
    if let path = typed[.config].setting ?? environment.first(.config) {
      return [try configurationFile(path)]
    }
    let paths = [ConfigurationFile.path(environment), ConfigurationFile.systemPath]
    var found: [ConfigurationFile] = []
    for path in paths where files.permissions(path) != nil {
      found.append(try configurationFile(Setting(origin: "config", value: path)))
    }
    return found
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

  static func profileNames(
    _ typed: TypedArguments, environment: [String: String], files: FileAccess = .system
  ) throws(UsageError) -> [String] {
    var resolved = Resolved(unread: typed, environment: environment, files: files)
    return Set(try resolved.configurationFiles().flatMap(\.profiles.keys)).sorted()
  }

  // MARK: Warnings

  mutating func warn(_ text: String, isSilenced: Bool = true) {
    let warning = UsageWarning(text, isSilenced: isSilenced)
    // Several settings may read one option; its warning comes once.
    if !warnings.contains(warning) { warnings.append(warning) }
  }

  // MARK: The app

  var service: PusherService {
    PusherService.named.first { $0.name == self[.service].value }?.service ?? .pusher
  }

  /// Returns the service of an option, else that of the source that names the app.
  func service(of app: CredentialSource) -> PusherService {
    self[.service].isGiven ? service : app.service ?? service
  }

  /// The environments that may name an app: the file that an option names, else the process's own
  /// and the file that it names.
  var appEnvironments: [Environment] {
    (namedFile == nil ? [environment, fallbackFile] : [namedFile]).compactMap { $0 }
  }

  /// Returns the source that options name, else the environment, else the file that the environment
  /// names.
  ///
  /// Sources are not mixed. With `--key`, a source with the same key is preferred, and a source
  /// without a key is accepted.
  func source(_ face: ConnectionSettings.Face) throws(UsageError) -> CredentialSource {
    if self[.local].isOn { return .local }
    var sources = [namedProfile].compactMap { $0 }
    for place in namedProfile == nil ? appEnvironments : [namedFile].compactMap({ $0 }) {
      sources += try place.sources(isAPI: face == .api)
    }
    sources = (sources + fallbackProfiles).filter { !$0.isEmpty }
    let key = self[.key].text
    if let key, let same = sources.first(where: { $0[.key]?.value == key }) { return same }
    let chosen = sources.first { $0[.key] != nil } ?? (key == nil ? nil : sources.first)
    return environment.withServiceCredential(chosen ?? CredentialSource())
  }

  /// Returns a source with the members that options replace.
  func withOptions(_ source: CredentialSource) -> CredentialSource {
    var app = source
    for flag in CredentialSource.flags { app[flag] = self[flag].setting ?? app[flag] }
    if let path = self[.secretFile].text {
      app.secret = .file(path: path, origin: Flag.secretFile.spelling)
    }
    return app
  }

  /// Returns the app and its server, from the source and the options.
  func app(_ face: ConnectionSettings.Face) throws(UsageError) -> CredentialSource {
    var source = try source(face)
    if self[.cluster].isGiven {
      // The server of another service does not apply to the typed cluster.
      for flag in [Flag.host, .port, .scheme, .path] { source[flag] = nil }
    }
    return withOptions(source)
  }

  /// Returns the app key; refuses the file of a TLS key, which other programs expect.
  func key(_ app: CredentialSource) throws(UsageError) -> Setting {
    guard let key = app[.key] else { throw missingKey }
    if key.value.hasSuffix(".pem") || key.value.hasSuffix(".key"),
      files.permissions(key.value) != nil
    {
      let remedy = command == .serve ? "; give a TLS key with --tls-key" : ""
      throw UsageError("\(key.origin) takes the app key, but '\(key.value)' is a file\(remedy)")
    }
    try Self.requireWord(key, what: "app key")
    return key
  }

  private var missingKey: UsageError {
    if let name = typed[.profile].text, namedFile == nil {
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

  /// Refuses an app key or ID that does not fit into a URL's path.
  static func requireWord(_ setting: Setting, what: String) throws(UsageError) {
    guard setting.value.isVisible(without: "/?#%"), !setting.value.isEmpty else {
      throw UsageError("\(setting.origin): '\(setting.value)' is not an \(what)")
    }
  }

  mutating func secret(_ app: CredentialSource) throws(UsageError) -> Secret? {
    if let knownSecret { return knownSecret }
    switch app.secret {
    case nil: break
    case .text(let secret, _): knownSecret = secret
    case .file(let path, Environment.serviceCredentials) where files.permissions(path) == nil:
      break
    case .file(let path, let origin):
      let file = Setting(origin: origin, value: path)
      if files.permissions(path) != nil { secretFile = file }
      knownSecret = try secret(in: file)
    }
    return knownSecret
  }

  /// Returns key and secret, which both must be there.
  mutating func signer(
    _ app: CredentialSource
  ) throws(UsageError) -> (key: String, secret: Secret) {
    let key = try key(app).value
    guard let secret = try secret(app) else {
      throw UsageError("no secret: give --secret-file or PUSHER_APP_SECRET")
    }
    return (key, secret)
  }

  private mutating func secret(in named: Setting) throws(UsageError) -> Secret {
    let (path, origin) = (named.value, named.origin)
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

  /// Reads the app's secret again, with the checks of the start.
  func secretAgain(in file: Setting) throws(UsageError) -> Secret {
    var resolved = Resolved(
      unread: typed, environment: environment.variables, files: .running())
    return try resolved.secret(in: file)
  }

  private static let encryptionKeyVariable = "PUSHER_ENCRYPTION_MASTER_KEY"

  static func missingEncryptionKey(for channel: String) -> UsageError {
    UsageError(
      "\(channel) is encrypted: give --encryption-key-file or \(encryptionKeyVariable)")
  }

  /// Reads the master key from the option's file or the variable; `nil` if no channel is encrypted.
  ///
  /// - Parameter isWelcome: Uses the variable also if no channel needs the key.
  mutating func encryptionKey(
    for channels: [String], orIfThere isWelcome: Bool = false
  ) throws(UsageError) -> EncryptionMasterKey? {
    let channel = channels.first { ChannelKind(channelName: $0) == .encrypted }
    let path = self[.encryptionKeyFile].text
    let variable = [namedFile, environment, fallbackFile].lazy.compactMap {
      $0?.first(Self.encryptionKeyVariable)
    }.first
    let origin: String
    let text: String
    if let path {
      origin = "--encryption-key-file"
      text = try confidentialText(in: path, origin)
    } else if let variable, channel != nil || isWelcome {
      (origin, text) = (variable.origin, variable.value)
    } else if let channel {
      throw Self.missingEncryptionKey(for: channel)
    } else {
      return nil
    }
    return try UsageError.explaining(
      "\(origin): the key is ", try EncryptionMasterKey(base64: text))
  }

  // MARK: Files

  private static let envFileLimit = 1 << 20

  private mutating func dotEnv(_ path: Setting) throws(UsageError) -> Environment {
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
    return (try? file.sources(isAPI: false))?.contains { $0[.key] != nil } ?? false
  }

  private func variable(_ name: String) -> String? {
    environment.variables[name] ?? Environment.variableOfProcess(name)
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

  private mutating func judge(
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

  private mutating func textAndHolders(
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
  private mutating func content(
    of path: String, _ origin: String, limit: Int, as word: String? = nil
  ) throws(UsageError) -> FileContent {
    if path == "-" { try claimInput(for: origin) }
    if let known = kept[path] { return FileContent(bytes: known) }
    switch files.read(path, limit) {
    case .failure(let fault):
      throw UsageError("\(origin): cannot read \(Self.name(word ?? path)): \(fault.reason)")
    case .success(let content):
      guard files.permissions(path) == nil else { return content }
      kept[path] = content.bytes
      if path != "-", files.isKept(path) {
        warn("'\(path)' is not a regular file: the text from the start stays in use")
      }
      return content
    }
  }

  /// Returns true for standard input, a pipe or a device, which was read and cannot be read again.
  func isKept(_ path: String) -> Bool { kept[path] != nil }

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
    _ value: String, _ origin: String, limit: Int = 65_536, dropsNewline: Bool = true
  ) throws(UsageError) -> String {
    guard value.hasPrefix("@") else { return value }
    guard value.count > 1 else { throw UsageError("\(origin): '@' needs a file name") }
    let path = String(value.dropFirst())
    return try text(
      of: path, origin, limit: limit, dropsNewline: dropsNewline, as: path == "-" ? path : value)
  }

  /// Returns the path of a PEM file; puts the text of a pipe, which is read once, into `kept`.
  mutating func pemFile(
    _ flag: Flag, _ kept: inout [String: [UInt8]]
  ) throws(UsageError) -> String? {
    guard let path = self[flag].text else { return nil }
    if files.permissions(path) == nil {
      kept[path] = try content(of: path, flag.spelling, limit: TLSContext.largestFile).bytes
    }
    return path
  }

  // MARK: Values that several commands have

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

  func patterns(_ flag: Flag) throws(UsageError) -> [String] {
    let patterns = self[flag].texts
    try Self.check(patterns: patterns, of: flag.spelling)
    return patterns
  }

  static func check(patterns: [String], of origin: String) throws(UsageError) {
    guard let problem = patterns.lazy.compactMap(Glob.problem).first else { return }
    throw UsageError("\(origin): \(problem)")
  }

  /// Returns the conditions of `--where` or `--fail-where`.
  ///
  /// Warns of a regular expression, which `~` does not take.
  mutating func conditions(of flag: Flag) throws(UsageError) -> [WhereClause] {
    var clauses: [WhereClause] = []
    for text in self[flag].texts {
      do throws(WhereFault) {
        clauses.append(try WhereClause(text))
      } catch {
        // A long text would fill the screen.
        if case .tooLong = error { throw UsageError("\(flag.spelling): \(error)") }
        throw UsageError("\(flag.spelling) '\(text)': \(error)")
      }
      guard let pattern = clauses.last?.pattern else { continue }
      if pattern.hasPrefix("^") || pattern.hasPrefix(".*") || pattern.hasSuffix("$") {
        warn(
          "\(flag.spelling) '\(text)': ~ takes a pattern such as \"A*\", not a regular expression")
      }
    }
    return clauses
  }

  /// Reads the headers of `flag`, in order.
  ///
  /// - Throws: ``UsageError`` for a malformed line, without the line, which may be a token.
  mutating func headers(_ flag: Flag) throws(UsageError) -> [NamedValue] {
    var headers: [NamedValue] = []
    for value in self[flag].texts {
      headers += try NamedValue.headers(
        textOrFile(value, flag.spelling, limit: NamedValue.headerLimit), flag.spelling)
    }
    return headers
  }

  mutating func userInfo() throws(UsageError) -> String? {
    guard let given = self[.userInfo].text else { return nil }
    let info = try textOrFile(given, "--user-info")
    _ = try UsageError.explaining("--user-info is not JSON: ", try JSONParser.parse(info))
    return info
  }

  func socketID() throws(UsageError) -> String? {
    guard let id = self[.socketID].text else { return nil }
    let parts = id.split(separator: ".", omittingEmptySubsequences: false)
    let areNumbers = parts.allSatisfy { !$0.isEmpty && Quantities.integer(String($0)) != nil }
    guard parts.count == 2, areNumbers else {
      throw UsageError("--socket-id: '\(id)' is not a socket id such as 123.456")
    }
    return id
  }

  /// Returns the words of `--info` without duplicates; an option may have several, with commas.
  func info() throws(UsageError) -> [String] {
    let known = ["user_count", "subscription_count", "cache"]
    var words: [String] = []
    for text in self[.info].texts {
      for word in text.split(separator: ",").map(String.init) where !words.contains(word) {
        guard known.contains(word) else {
          let clause = Suggestion.clause(for: word, in: known)
          throw UsageError(
            "--info: '\(word)' is not one of \(known.joined(separator: ", "))\(clause)")
        }
        words.append(word)
      }
    }
    return words
  }

  /// Warns of a text that was probably meant as JSON.
  mutating func warnOfBrokenJSON(_ text: String, _ name: String, sentAs kind: String) {
    let first = text.utf8.first { $0 > 0x20 }
    guard first == UInt8(ascii: "{") || first == UInt8(ascii: "[") else { return }
    do throws(JSONError) {
      _ = try JSONParser.parse(text)
    } catch {
      if case .tooDeep = error { return }
      warn("\(name) begins like JSON and is none (\(error)): it is sent as \(kind)")
    }
  }
}
