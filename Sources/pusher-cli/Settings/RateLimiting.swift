internal import PusherCore
internal import PusherServer

/// The rate limit of an app in the file of `--apps`: Reverb's object `rate_limiting`.
///
/// `{"enabled"?,"max_attempts"?,"decay_seconds"?,"terminate_on_limit"?}`. An object without
/// `enabled` is meant; the other defaults are those of Reverb's `config/reverb.php`.
extension AppsFile {
  /// Reverb's name, and the short one.
  static let rateLimitNames = ["rate_limiting", "rate_limit"]
  private static let rateLimitMembers = [
    "enabled", "max_attempts", "decay_seconds", "terminate_on_limit",
  ]

  /// Returns the limit of an app; `nil` if it has none, or one that is not enabled.
  ///
  /// - Throws: ``UsageError`` also for an enabled limit that the dialect does not have.
  func rateLimit(in app: JSONValue, _ name: String) throws(UsageError) -> MessageRateLimit? {
    let given = Self.rateLimitNames.filter { app[$0] != nil }
    guard let first = given.first, let value = app[first] else { return nil }
    guard given.count == 1 else {
      throw UsageError("\(Self.origin): \(name) has rate_limiting and rate_limit; give one")
    }
    let place = "\(name): \(first)"
    guard case .object(let members) = value else {
      throw UsageError("\(Self.origin): \(place) is not a JSON object")
    }
    for member in members.map(\.name) where !Self.rateLimitMembers.contains(member) {
      let clause = Suggestion.clause(for: member, in: Self.rateLimitMembers)
      throw UsageError("\(Self.origin): \(place) has an unknown member '\(member)'\(clause)")
    }
    var limit = MessageRateLimit()
    var isEnabled = true
    try Self.read("enabled", in: value, place, &isEnabled)
    try Self.read("terminate_on_limit", in: value, place, &limit.endsConnection)
    let (messages, seconds) = (value["max_attempts"], value["decay_seconds"])
    if let messages { limit.messages = try Self.amount(messages, "\(place): max_attempts") }
    if let seconds { limit.window = .seconds(try Self.amount(seconds, "\(place): decay_seconds")) }
    guard isEnabled else { return nil }
    guard dialect.has(.limitsMessages) else {
      throw UsageError("\(Self.origin): \(place) needs --dialect reverb; no other server has it")
    }
    return limit
  }

  private static func amount(_ value: JSONValue, _ place: String) throws(UsageError) -> Int {
    guard let number = value.integer, MessageRateLimit.amounts ~= number else {
      throw UsageError("\(origin): \(place) is not \(MessageRateLimit.amountInWords)")
    }
    return number
  }
}

extension MessageRateLimit {
  fileprivate static let amounts = 1...1_000_000_000
  fileprivate static let amountInWords = "a whole number from 1 to 1000000000"
}

/// The variables of Reverb's `config/reverb.php` for the rate limit of its app.
struct RateLimitVariables: Equatable, Sendable {
  static let names = [
    "REVERB_APP_RATE_LIMITING_ENABLED", "REVERB_APP_RATE_LIMIT_MAX_ATTEMPTS",
    "REVERB_APP_RATE_LIMIT_DECAY_SECONDS", "REVERB_APP_RATE_LIMIT_TERMINATE",
  ]

  private let enabled: Setting?
  private let attempts: Setting?
  private let seconds: Setting?
  private let terminate: Setting?

  init(_ environment: Environment) {
    let settings = Self.names.map { environment.first($0) }
    (enabled, attempts) = (settings[0], settings[1])
    (seconds, terminate) = (settings[2], settings[3])
  }

  /// The variable that turns the limit on; `nil` while it is off.
  ///
  /// Only `true` does, as in Reverb: 1 stays a text, and the limit stays off.
  var switchedOn: Setting? {
    guard let enabled, ["true", "(true)"].contains(enabled.value.lowercased()) else { return nil }
    return enabled
  }

  /// Returns the limit; `nil` while it is off.
  func limit() throws(UsageError) -> MessageRateLimit? {
    guard switchedOn != nil else { return nil }
    var limit = MessageRateLimit()
    if let attempts { limit.messages = try Self.amount(attempts) }
    if let seconds { limit.window = .seconds(try Self.amount(seconds)) }
    // The texts that PHP counts as false, once Laravel has read the variable.
    let no = ["false", "(false)", "0"]
    limit.endsConnection = terminate.map { !no.contains($0.value.lowercased()) } ?? false
    return limit
  }

  private static func amount(_ setting: Setting) throws(UsageError) -> Int {
    guard let number = Quantities.integer(setting.value), MessageRateLimit.amounts ~= number else {
      throw UsageError(
        "\(setting.origin): '\(setting.value)' is not \(MessageRateLimit.amountInWords)")
    }
    return number
  }
}
