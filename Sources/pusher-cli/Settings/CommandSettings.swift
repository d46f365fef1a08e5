internal import PusherCore

protocol CommandSettings: Equatable, Sendable {
  var common: CommonSettings { get }
  init(_ reader: inout SettingsReader) throws(UsageError)
}

extension CommandSettings {
  init(
    _ typed: TypedArguments, environment: [String: String], files: FileAccess = .system
  ) throws(UsageError) {
    var reader = try SettingsReader(typed, environment: environment, files: files)
    try self.init(&reader)
  }
}

struct CommonSettings: Equatable, Sendable {
  var verbosity: Verbosity
  var color = ColorChoice.auto
  var traceFile: String?
  var warnings: [UsageWarning]
}

struct FeedSettings: Equatable, Sendable {
  var run: RunSettings
  var printing: PrintSettings
  var reconnect: ReconnectMode
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

  /// Default minimum wait: a maximum below 1 s asks for quick retries, but 10 ms must pass.
  var leastWait: Duration { min(.seconds(1), max(.milliseconds(10), retryMaxDelay)) }

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

enum ReconnectMode: String, CaseIterable, Sendable {
  /// The first connection must succeed; later losses are retried.
  case auto
  /// The first connection is retried too.
  case always
  case never
}

extension SettingsReader {
  var common: CommonSettings {
    let variable = typed.isWeak(.color) ? environment[.color] : nil
    return CommonSettings(
      verbosity: verbosity,
      color: .forMessages(typed: variable ?? typed.text(.color), in: environment),
      traceFile: typed.text(.trace), warnings: warnings)
  }

  /// Reads the options of `subscribe` and `sse`.
  ///
  /// - Parameter isRepeatable: A repeated request is harmless, so that it needs no `--reconnect`.
  mutating func feed(isRepeatable: Bool = true) throws(UsageError) -> FeedSettings {
    let isRepeated = isRepeatable || typed.text(.reconnect) != nil
    let run = try run()
    return FeedSettings(
      run: run, printing: try printing(run),
      reconnect: isRepeated ? try choice(.reconnect) : .never,
      maxRetries: typed.integer(.maxRetries), reconnectDelay: typed.time(.reconnectDelay),
      retryMaxDelay: typed.time(.retryMaxDelay), activityTimeout: typed.duration(.activityTimeout),
      goesOnAfterRefusals: typed.isOn(.keepGoing), common: common)
  }
}
