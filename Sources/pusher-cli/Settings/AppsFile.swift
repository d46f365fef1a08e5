internal import PusherCore
internal import PusherServer

extension Application {
  static func webhook(_ text: String, _ origin: String) throws(UsageError) -> HTTPURL {
    let url = try UsageError.explaining("\(origin): ", try HTTPURL(parsing: text))
    guard url.scheme == .http || url.scheme == .https else {
      throw UsageError("\(origin): a webhook URL must begin with http:// or https://")
    }
    return url
  }
}

/// The file of `--apps`: a JSON array of apps.
///
/// `[{"id","key","secret","client_events"?,"subscription_counts"?,"enabled"?,"webhooks"?,"encryption_master_key"?,"limits"?,"rate_limiting"?}]`;
/// the options apply to anything that an app leaves out. The file holds secrets, so messages repeat
/// no value except IDs.
struct AppsFile {
  static let origin = "--apps"
  private static let names =
    [
      "id", "key", "secret", "client_events", "subscription_counts", "enabled", "webhooks",
      "encryption_master_key", "limits",
    ] + rateLimitNames

  private static let limits:
    [(name: String, place: any WritableKeyPath<AppLimits, Int?> & Sendable)] = [
      ("connections", \.connections), ("channels_per_connection", \.subscriptions),
      ("channels_per_address", \.channelsPerAddress),
      ("presence_members", \.presenceMembers), ("event_bytes", \.eventData),
      ("client_events_per_second", \.clientEventsPerSecond), ("cached_channels", \.cachedEvents),
      ("events_per_second", \.eventsPerSecond), ("bytes_per_second", \.bytesPerSecond),
    ]

  let defaults: Application
  let dialect: Dialect

  /// Parses the file: at least one app, with distinct IDs and keys.
  func apps(in text: String) throws(UsageError) -> [Application] {
    let value = try UsageError.explaining(
      "\(Self.origin): the file is ", try JSONParser.parse(text))
    guard let elements = value.elements, !elements.isEmpty else {
      throw UsageError("\(Self.origin): the file must be a JSON array with at least one app")
    }
    var apps: [Application] = []
    for (index, element) in elements.enumerated() {
      let app = try app(element, place: index + 1)
      if apps.contains(where: { $0.id == app.id }) {
        throw UsageError("\(Self.origin): two apps have the id '\(app.id)'")
      }
      if let other = apps.first(where: { $0.key == app.key }) {
        throw UsageError("\(Self.origin): the apps '\(other.id)' and '\(app.id)' have the same key")
      }
      apps.append(app)
    }
    return apps
  }

  private func app(_ value: JSONValue, place: Int) throws(UsageError) -> Application {
    let members = try Self.members(value, "app \(place)")
    let id = try Self.word("id", in: value, "app \(place)")
    let name = "app '\(id)'"
    try Self.refuse(members, besides: Self.names.sorted(), "\(name) has an unknown member")
    var app = defaults
    app.id = id
    app.key = try Self.word("key", in: value, name)
    guard let secret = value["secret"]?.text, !secret.isEmpty else {
      throw UsageError("\(Self.origin): \(name): secret must be a non-empty string")
    }
    app.secret = secret
    try Self.read("client_events", in: value, name, &app.allowsClientEvents)
    try Self.read("subscription_counts", in: value, name, &app.sendsSubscriptionCounts)
    try Self.read("enabled", in: value, name, &app.isEnabled)
    app.webhooks += try Self.webhooks(value, name)
    if let key = value["encryption_master_key"] { app.masterKey = try Self.masterKey(key, name) }
    if let limits = value["limits"] { app.limits = try Self.limits(limits, name) }
    app.limits.messageRate = try rateLimit(in: value, name)
    return app
  }

  private static func limits(_ value: JSONValue, _ name: String) throws(UsageError) -> AppLimits {
    let members = try members(value, "\(name): limits")
    try refuse(members, besides: limits.map(\.name), "\(name): unknown limit")
    var read = AppLimits()
    for member in members {
      guard let limit = limits.first(where: { $0.name == member.name }) else { continue }
      guard let number = member.value.integer, 0...1_000_000_000 ~= number else {
        throw UsageError(
          "\(origin): \(name): \(member.name) is not a whole number from 0 to 1000000000")
      }
      read[keyPath: limit.place] = number
    }
    return read
  }

  private static func members(
    _ value: JSONValue, _ name: String
  ) throws(UsageError) -> [JSONValue.Member] {
    guard case .object(let members) = value else {
      throw UsageError("\(origin): \(name) is not a JSON object")
    }
    return members
  }

  /// Refuses a member that is none of `names`; `fault` stands before its name.
  private static func refuse(
    _ members: [JSONValue.Member], besides names: [String], _ fault: String
  ) throws(UsageError) {
    guard let unknown = members.map(\.name).first(where: { !names.contains($0) }) else { return }
    let clause = Suggestion.clause(for: unknown, in: names)
    throw UsageError("\(origin): \(fault) '\(unknown)'\(clause)")
  }

  private static func word(
    _ member: String, in value: JSONValue, _ name: String
  ) throws(UsageError) -> String {
    let text = member == "id" ? value[member]?.identifier : value[member]?.text
    guard let text, !text.isEmpty, text.isVisible(without: "/?#%")
    else { throw UsageError("\(origin): \(name): \(member) is missing or cannot be part of a URL") }
    return text
  }

  static func read(
    _ member: String, in value: JSONValue, _ name: String, _ flag: inout Bool
  ) throws(UsageError) {
    guard let value = value[member] else { return }
    guard let given = value.bool else {
      throw UsageError("\(origin): \(name): \(member) must be true or false")
    }
    flag = given
  }

  private static func webhooks(_ value: JSONValue, _ name: String) throws(UsageError) -> [HTTPURL] {
    guard let value = value["webhooks"] else { return [] }
    let fault = UsageError("\(origin): \(name): webhooks is not an array of URLs")
    guard let elements = value.elements else { throw fault }
    var urls: [HTTPURL] = []
    for element in elements {
      guard let text = element.text else { throw fault }
      urls.append(try Application.webhook(text, "\(origin): \(name): webhooks"))
    }
    return urls
  }

  private static func masterKey(
    _ value: JSONValue, _ name: String
  ) throws(UsageError) -> EncryptionMasterKey {
    try UsageError.explaining(
      "\(origin): \(name): encryption_master_key is ",
      try EncryptionMasterKey(base64: value.text ?? ""))
  }

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
    try Self.refuse(
      Self.members(value, place), besides: Self.rateLimitMembers, "\(place) has an unknown member")
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

  /// The variables of Reverb's `config/reverb.php` for the rate limit of its app.
  static let variables = [
    "REVERB_APP_RATE_LIMITING_ENABLED", "REVERB_APP_RATE_LIMIT_MAX_ATTEMPTS",
    "REVERB_APP_RATE_LIMIT_DECAY_SECONDS", "REVERB_APP_RATE_LIMIT_TERMINATE",
  ]

  /// Returns the variable that turns the limit on; `nil` while it is off.
  ///
  /// Only `true` does, as in Reverb: 1 stays a text, and the limit stays off.
  static func switchedOn(in environment: Environment) -> Setting? {
    environment.first(variables[0]).flatMap {
      ["true", "(true)"].contains($0.value.lowercased()) ? $0 : nil
    }
  }

  /// Takes the limit of the variables.
  init(_ environment: Environment) throws(UsageError) {
    func amount(_ name: String) throws(UsageError) -> Int? {
      guard let setting = environment.first(name) else { return nil }
      guard let number = Quantities.integer(setting.value), Self.amounts ~= number else {
        throw UsageError("\(setting.origin): '\(setting.value)' is not \(Self.amountInWords)")
      }
      return number
    }
    self.init()
    if let attempts = try amount(Self.variables[1]) { messages = attempts }
    if let seconds = try amount(Self.variables[2]) { window = .seconds(seconds) }
    // The texts that PHP counts as false, once Laravel has read the variable.
    let no = ["false", "(false)", "0"]
    endsConnection =
      environment.first(Self.variables[3]).map { !no.contains($0.value.lowercased()) } ?? false
  }
}
