internal import PusherCore
internal import PusherLines

protocol CommandSettings: Equatable, Sendable {
  var common: CommonSettings { get }
  init(_ resolved: inout Resolved) throws(UsageError)
}

struct CommonSettings: Equatable, Sendable {
  var verbosity: Verbosity
  var color = ColorChoice.auto
  var traceFile: String?
  var warnings: [UsageWarning]

  init(_ resolved: Resolved) {
    verbosity = Verbosity(resolved)
    color = .forMessages(typed: resolved[.color].text, in: resolved.environment)
    traceFile = resolved[.trace].text
    warnings = resolved.warnings
  }
}

enum Verbosity: Equatable, Sendable {
  case quiet, normal, verbose
  /// Protocol frames too.
  case frames

  fileprivate init(_ resolved: Resolved) {
    let count = resolved[.verbose].count
    self =
      resolved[.quiet].isOn
      ? .quiet : count == 0 ? .normal : count == 1 ? .verbose : .frames
  }
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

  /// Returns the colour of standard output: the option, then PUSHER_CLI_COLOR, NO_COLOR,
  /// FORCE_COLOR, TERM.
  ///
  /// `auto` means on a terminal. Variables that force colour apply to `pretty` only, in a pipe too.
  /// JSON is for programs, and only the option colours it in a pipe.
  fileprivate init(_ resolved: Resolved, for output: OutputFormat) throws(UsageError) {
    let asked: ColorChoice = try resolved.choice(.color)
    let isOption = resolved.arguments[.color].isGiven
    let choice = asked.resolved(in: resolved.environment)
    self = choice == .always && !isOption && output != .pretty ? .auto : choice
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

struct FeedSettings: Equatable, Sendable {
  var run: RunSettings
  var printing: PrintSettings
  var reconnect: ReconnectPolicy.Mode
  var maxRetries: Int?
  /// Minimum wait before a retry; for a stream until the server sets another.
  var reconnectDelay: Duration
  var retryMaxDelay: Duration
  /// Silence before a ping, if the server allows more, or before a stream is requested again.
  var activityTimeout: Duration?
  var goesOnAfterRefusals: Bool
  /// Sends a request again before its first event if the answer asks for that (`--retry-post`).
  var retriesWhenAsked = false
  var common: CommonSettings

  /// By the words of `--reconnect`.
  private static let modes: [String: ReconnectPolicy.Mode] = [
    "auto": .automatic, "always": .always, "never": .never,
  ]

  /// Reads the options of `subscribe` and `sse`.
  ///
  /// - Parameter isRepeatable: A repeated request is harmless, so that it needs no `--reconnect`.
  init(_ resolved: inout Resolved, isRepeatable: Bool = true) throws(UsageError) {
    run = try RunSettings(&resolved)
    printing = try PrintSettings(&resolved, run)
    let isRepeated = isRepeatable || resolved[.reconnect].isGiven
    reconnect = isRepeated ? Self.modes[resolved[.reconnect].word] ?? .never : .never
    maxRetries = resolved[.maxRetries].integer
    reconnectDelay = resolved[.retryDelay].time
    retryMaxDelay = resolved[.retryMaxDelay].time
    activityTimeout = resolved[.activityTimeout].duration
    goesOnAfterRefusals = resolved[.keepGoing].isOn
    common = CommonSettings(resolved)
  }

  /// Default minimum wait: a maximum below 1 s asks for quick retries, but 10 ms must pass.
  var leastWait: Duration { min(.seconds(1), max(.milliseconds(10), retryMaxDelay)) }

  func policy(floor: Duration) -> ReconnectPolicy {
    var policy = ReconnectPolicy(
      mode: reconnect, maximumAttempts: maxRetries,
      backoff: Backoff(floor: floor, ceiling: retryMaxDelay))
    policy.retriesRefusals = goesOnAfterRefusals
    policy.retriesWhenAsked = retriesWhenAsked
    return policy
  }
}

/// The settings of `subscribe` and `sse`, which also have the members of ``FeedSettings``.
@dynamicMemberLookup protocol FeedCommandSettings: CommandSettings {
  var feed: FeedSettings { get }
}

extension FeedCommandSettings {
  var common: CommonSettings { feed.common }

  subscript<Value>(dynamicMember path: KeyPath<FeedSettings, Value>) -> Value {
    feed[keyPath: path]
  }
}

struct RunSettings: Equatable, Sendable {
  var timeout: Duration?
  var idleTimeout: Duration?
  /// Runs in a silence of `idleTimeout`, which then does not end the run.
  var onIdle: GapSettings?
  var onReady: String?
  /// Descriptor that gets a line when the run is ready.
  var readyDescriptor: Int32?
  var statsInterval: Duration?
  var outputFile: String?
  /// `outputFile` if it has `%c` or `%e`.
  var filePattern: FilePattern?
  /// Gets every event, printed or not.
  var recordFile: String?
  /// Maximum time that written events stay in the system's memory.
  var syncInterval: Duration?
  /// Address of `--metrics`.
  var monitor: ListenSettings?
  var handler: HandlerSettings?

  private static func filePattern(_ resolved: Resolved) throws(UsageError) -> FilePattern? {
    let limit = resolved[.maxFiles].number
    let pattern = try resolved[.outputFile].text.flatMap { text throws(UsageError) in
      try FilePattern(text, openLimit: limit)
    }
    guard pattern != nil || !resolved[.maxFiles].isGiven else {
      throw UsageError("--output-file has no %c or %e; leave out --max-files")
    }
    guard pattern?.isOfChannel != true || resolved.command != .sse else {
      throw UsageError("--output-file: an event stream has no channels for %c; use %e")
    }
    guard pattern == nil || !resolved[.join].isOn else {
      throw UsageError("--join makes one text of all events; give --output-file without %c or %e")
    }
    return pattern
  }

  private static func readyDescriptor(_ resolved: Resolved) throws(UsageError) -> Int32? {
    guard let number = resolved[.readyFD].integer else { return nil }
    let descriptor = Int32(clamping: number)
    guard resolved.files.isOpen(descriptor) else {
      throw UsageError(
        "--ready-fd: descriptor \(number) is not open; write \(number)>FILE after the command")
    }
    return descriptor
  }
}

extension RunSettings {
  fileprivate init(_ resolved: inout Resolved) throws(UsageError) {
    handler = try HandlerSettings(&resolved)
    outputFile = resolved[.outputFile].text
    if outputFile != nil, let handler, !handler.prints {
      throw UsageError("--output-file gets no events with --exec or --forward: add --tee")
    }
    filePattern = try Self.filePattern(resolved)
    readyDescriptor = try Self.readyDescriptor(resolved)
    recordFile = resolved[.recordEvents].text
    if let outputFile, let recordFile, outputFile.utf8.elementsEqual(recordFile.utf8) {
      throw UsageError("--record and --output-file name the same file; give each its own file")
    }
    timeout = resolved[.timeout].duration
    idleTimeout = resolved[.idleTimeout].duration
    onIdle = resolved[.onIdle].text.map { GapSettings(option: .onIdle, command: $0) }
    onReady = resolved[.onReady].text
    statsInterval = resolved[.stats].duration
    syncInterval = resolved[.sync].duration
    monitor = try ListenSettings(metrics: &resolved)
  }
}

struct HookSettings: Equatable, Sendable {
  var command: String
  var jobs: Int
  var timeout: Duration?
  /// A failed command ends the run.
  var stopsOnFailure: Bool
  var prints: Bool
}

/// Gets the events instead of the output, or besides it.
enum HandlerSettings: Equatable, Sendable {
  case command(HookSettings)
  case receiver(ForwardSettings)

  var prints: Bool {
    switch self {
    case .command(let command): command.prints
    case .receiver(let receiver): receiver.prints
    }
  }

  fileprivate init?(_ resolved: inout Resolved) throws(UsageError) {
    if let url = resolved[.forward].text {
      self = .receiver(try ForwardSettings(&resolved, url))
    } else if let command = resolved[.exec].text {
      self = .command(
        HookSettings(
          command: command, jobs: resolved[.execJobs].number,
          timeout: resolved[.execTimeout].duration,
          stopsOnFailure: resolved[.execFail].word == "stop", prints: resolved[.tee].isOn))
    } else {
      return nil
    }
  }
}

struct ForwardSettings: Equatable, Sendable {
  /// http or https URL; user information comes from a file.
  var url: HTTPURL
  var headers: [NamedValue]
  var jobs: Int
  var patience: Duration?
  var deadFile: String?
  var prints: Bool

  static let ownFields = [
    "Idempotency-Key", "Pusher-Event", "Pusher-Channel", "Content-Length", "Transfer-Encoding",
    "Connection",
  ]

  private static func url(
    _ given: String, _ resolved: inout Resolved
  ) throws(UsageError) -> HTTPURL {
    let text = try resolved.textOrFile(given, "--forward")
    let url = try UsageError.explaining("--forward: ", try HTTPURL(parsing: text))
    guard url.scheme == .http || url.scheme == .https else {
      throw UsageError(
        "--forward: the URL must begin with http:// or https://, not \(url.scheme.rawValue)://")
    }
    guard url.userInfo == nil || given.hasPrefix("@") else {
      throw UsageError(
        "--forward: a password in the URL would show in ps; put the URL into a file and give "
          + "@FILE, or use --forward-header @FILE")
    }
    return url
  }
}

extension ForwardSettings {
  fileprivate init(_ resolved: inout Resolved, _ given: String) throws(UsageError) {
    headers = try resolved.headers(.forwardHeader)
    for name in headers.map({ $0.name.lowercased() }) {
      guard let own = Self.ownFields.first(where: { $0.lowercased() == name }) else { continue }
      throw UsageError("--forward-header: pusher-cli sets \(own) for each event; leave it out")
    }
    url = try Self.url(given, &resolved)
    jobs = resolved[.forwardJobs].number
    patience = resolved[.forwardTimeout].duration
    deadFile = resolved[.forwardDead].text
    prints = resolved[.tee].isOn
  }
}

struct PrintSettings: Equatable, Sendable {
  /// Patterns for the event name; empty for all events.
  var includedEvents: [String]
  var excludedEvents: [String]
  /// All of these must hold for an event.
  var conditions: [WhereClause] = []
  /// Patterns for the event that ends the run with success.
  var untilEvents: [String] = []
  /// Data of the event that ends the run with success.
  var untilData: DataPattern?
  /// Patterns for the event that ends the run with failure.
  var failEvents: [String] = []
  /// One of these ends the run with failure.
  var failConditions: [WhereClause] = []
  var count: Int?
  var form: EventForm
  var printsLifecycle = false
  /// Maximum size of waiting output, in bytes, before the socket stays unread.
  var bufferSize: Int
  var printsSummary = false
  /// False if only the handler gets events.
  var printsEvents = true
  /// True to count the events of each channel, for `--metrics`.
  var countsChannels = false

  var wishes: RunWishes {
    RunWishes(count: count, untilData: untilData?.text, untilEvents: untilEvents)
  }
}

extension PrintSettings {
  fileprivate init(_ resolved: inout Resolved, _ run: RunSettings) throws(UsageError) {
    includedEvents = try resolved.patterns(.event)
    excludedEvents = try resolved.patterns(.excludeEvent)
    conditions = try resolved.conditions(of: .whereExpression)
    untilEvents = try resolved.patterns(.untilEvent)
    untilData = try resolved.patterns(.until).last.map(DataPattern.init)
    failEvents = try resolved.patterns(.failEvent)
    failConditions = try resolved.conditions(of: .failWhere)
    count = resolved[.count].integer
    form = try EventForm(resolved)
    printsLifecycle = resolved[.lifecycle].isOn
    bufferSize = resolved[.buffer].bytes
    printsSummary = resolved[.summary].isOn
    printsEvents = run.handler?.prints ?? true
    countsChannels = run.monitor != nil
  }
}

/// The form in which events are printed.
struct EventForm: Equatable, Sendable {
  var output: OutputFormat
  var template: FormatTemplate?
  /// Field of the data that is printed in place of the line.
  var field: FieldPath?
  /// Field of the data whose last value is reported at the end.
  var lastField: FieldPath?
  /// Prints the fields without line ends between them.
  var joinsFields = false
  /// Byte after each event: newline or NUL.
  var terminator = UInt8(ascii: "\n")
  var hasTimestamps = false
  /// Colour on standard output; `auto` means on a terminal.
  var color: ColorChoice
  var page = PageSettings()
}

extension EventForm {
  fileprivate init(_ resolved: Resolved) throws(UsageError) {
    output = try resolved.choice(.output)
    template = try Self.template(resolved)
    field = try Self.path(resolved[.field])
    lastField = try Self.path(resolved[.last])
    joinsFields = resolved[.join].isOn
    terminator = resolved[.null].isOn ? 0 : UInt8(ascii: "\n")
    hasTimestamps = resolved[.timestamps].isOn
    // A template or a field is for programs, whatever the format.
    color = try ColorChoice(resolved, for: template == nil && field == nil ? output : .raw)
    if let columns = resolved.environment["COLUMNS"].flatMap(Quantities.integer), columns > 0 {
      page.columns = columns
    }
    page.isUnicode = resolved.environment.isUnicode
  }

  private static func path(_ given: FlagValue) throws(UsageError) -> FieldPath? {
    guard let text = given.text else { return nil }
    do throws(FieldPathError) {
      return try FieldPath(text)
    } catch {
      throw UsageError("\(given.flag.spelling): '\(text)' \(error)")
    }
  }

  private static func template(_ resolved: Resolved) throws(UsageError) -> FormatTemplate? {
    guard let text = resolved[.format].text else { return nil }
    if OutputFormat(rawValue: text) != nil {
      throw UsageError("--format prints its text, here '\(text)': for this format, give -o \(text)")
    }
    do throws(FormatTemplateError) {
      return try FormatTemplate(text)
    } catch { throw UsageError(error.message) }
  }
}

extension FeedSettings {
  /// Takes the file of `--state-file`; refuses options with which there is no single place up to
  /// which all is done.
  static func stateFile(_ resolved: Resolved) throws(UsageError) -> String? {
    guard let path = resolved[.stateFile].text else { return nil }
    guard path != "-" else { throw UsageError("--state-file cannot use '-'; name a file") }
    for flag in [Flag.execJobs, .forwardJobs] where resolved[flag].number > 1 {
      throw UsageError("--state-file keeps one position in the stream; leave out \(flag.spelling)")
    }
    guard !resolved[.forwardTimeout].isGiven || resolved[.forwardDead].isGiven else {
      throw UsageError(
        "--state-file must lose no event: with --forward-timeout, give --forward-dead too")
    }
    return path
  }
}

struct PageSettings: Equatable, Sendable {
  /// Columns if no terminal reports its width.
  var columns = 80
  var isUnicode = false
}

enum OutputFormat: String, CaseIterable, Sendable { case json, pretty, raw }

/// The events that a run waits for; one of them is enough.
struct RunWishes: Equatable, Sendable {
  /// Number of events of `--count`.
  var count: Int?
  /// Text or pattern of `--until`.
  var untilData: String?
  /// Patterns of `--until-event`.
  var untilEvents: [String] = []

  /// True if the run waits for nothing: it ends with its stream or its time.
  var areNone: Bool { count == nil && !awaitEvent }
  /// True if the run waits for a particular event.
  var awaitEvent: Bool { untilData != nil || !untilEvents.isEmpty }
}
