internal import PusherCore

/// The checked settings of a command.
protocol CommandSettings: Equatable, Sendable {
  var common: CommonSettings { get }

  /// - Throws: ``UsageError`` for the first setting that is missing or wrong.
  init(_ reader: inout SettingsReader) throws(UsageError)
}

extension CommandSettings {
  /// Resolves what was typed against the environment.
  init(
    _ typed: TypedArguments, environment: [String: String], files: FileAccess = .system
  ) throws(UsageError) {
    var reader = try SettingsReader(typed, environment: environment, files: files)
    try self.init(&reader)
  }
}

/// The common settings of all working commands.
struct CommonSettings: Equatable, Sendable {
  var verbosity: Verbosity
  /// Colour of messages.
  var color = ColorChoice.auto
  /// Where protocol messages are written besides.
  var traceFile: String?
  /// Said before the command begins.
  var warnings: [Caution]
}

/// What `subscribe` and `sse` share besides the network.
struct FeedSettings: Equatable, Sendable {
  var run: RunSettings
  var printing: PrintSettings
  var reconnect: ReconnectMode
  /// Retries in a row; nil means no limit.
  var maxRetries: Int?
  var retryMaxDelay: Duration
  /// The silence after which a channels server is pinged, if it allows more, and after which a stream is asked for again.
  var activityTimeout: Duration?
  /// Whether the run goes on after a refusal.
  var goesOnAfterRefusals: Bool
  var common: CommonSettings
}

extension FeedSettings {
  /// The least wait where the settings leave it open: a longest wait below a second asks for quick retries, but the
  /// program must still wait.
  var leastWait: Duration { min(.seconds(1), max(.milliseconds(10), retryMaxDelay)) }

  /// When a lost connection is dialled again, with the least wait.
  func policy(floor: Duration) -> ReconnectPolicy {
    let mode: ReconnectPolicy.Mode =
      switch reconnect {
      case .auto: .automatic
      case .always: .always
      case .never: .never
      }
    var policy = ReconnectPolicy(
      mode: mode, maximumAttempts: maxRetries,
      backoff: Backoff(floor: floor, ceiling: retryMaxDelay))
    policy.retriesRefusals = goesOnAfterRefusals
    return policy
  }
}

/// The settings of `subscribe` and `sse`: what both share reads as if it were their own.
@dynamicMemberLookup
protocol FeedCommandSettings: CommandSettings {
  var feed: FeedSettings { get }
}

extension FeedCommandSettings {
  var common: CommonSettings { feed.common }

  subscript<Value>(dynamicMember path: KeyPath<FeedSettings, Value>) -> Value {
    feed[keyPath: path]
  }
}

/// What follows after a lost connection.
enum ReconnectMode: String, CaseIterable, Sendable {
  /// The first connection must work; later losses are retried.
  case auto
  /// The first connection is retried too.
  case always
  /// A loss ends the run.
  case never
}

extension SettingsReader {
  /// What was typed for all commands, and the warnings so far.
  var common: CommonSettings {
    let variable = typed.isWeak(.color) ? environment[.color] : nil
    return CommonSettings(
      verbosity: verbosity,
      color: .forMessages(typed: variable ?? typed.text(.color), in: environment),
      traceFile: typed.text(.trace), warnings: warnings)
  }

  /// What was typed for `subscribe` and `sse`, the warnings so far included.
  ///
  /// - Parameter isRepeatable: Whether what is asked may be asked again without being told so.
  mutating func feed(isRepeatable: Bool = true) throws(UsageError) -> FeedSettings {
    let isRepeated = isRepeatable || typed.text(.reconnect) != nil
    let run = try run()
    return FeedSettings(
      run: run, printing: try printing(run),
      reconnect: isRepeated ? try choice(.reconnect) : .never,
      maxRetries: typed.integer(.maxRetries), retryMaxDelay: typed.time(.retryMaxDelay),
      activityTimeout: typed.duration(.activityTimeout),
      goesOnAfterRefusals: typed.isOn(.keepGoing), common: common)
  }
}
