internal import PusherCore
internal import PusherLines
internal import PusherServer

/// What `webhook` does.
enum WebhookWord: String, CaseIterable, Sendable {
  case listen, send

  var other: Self { self == .listen ? .send : .listen }

  /// Options that only the other word takes.
  var foreignFlags: [Flag] { self == .listen ? Flag.ofWebhookSend : Flag.ofWebhookListen }
}

/// The settings of `webhook listen`.
struct WebhookSettings: CommandSettings {
  var listen: ListenSettings
  var key: String
  var secret: Secret
  var count: Int?
  var timeout: Duration?
  var hasTimestamps: Bool
  /// All of these must hold for an event.
  var conditions: [WhereClause]
  /// One of these ends the run with failure.
  var failConditions: [WhereClause]
  var common: CommonSettings

  init(_ resolved: inout Resolved) throws(UsageError) {
    try resolved.arguments.require(.listen)
    listen = try ListenSettings(&resolved)
    (key, secret) = try resolved.signer(resolved.app(.api))
    count = resolved[.count].integer
    timeout = resolved[.timeout].duration
    hasTimestamps = resolved[.timestamps].isOn
    conditions = try resolved.conditions(of: .whereExpression)
    failConditions = try resolved.conditions(of: .failWhere)
    common = CommonSettings(resolved)
  }
}

/// The settings of `webhook send`.
struct WebhookSendSettings: CommandSettings {
  /// The connection, and the channels of the command line.
  var subscription: SubscribeSettings
  var access: APIAccess
  /// Receivers of the webhooks; at least one.
  var receivers: [HTTPURL]
  /// Time between two looks at the occupied channels.
  var interval: Duration
  var watch: WatchSettings
  var policy: WebhookPolicy
  var common: CommonSettings { subscription.common }

  /// Maximum number of events in one webhook: the first look may find thousands of channels.
  private static let batch = 100

  init(_ resolved: inout Resolved) throws(UsageError) {
    try resolved.arguments.require(.send)
    receivers = []
    for text in resolved[.webhookTo].texts {
      receivers.append(try Application.webhook(text, Flag.webhookTo.spelling))
    }
    guard !receivers.isEmpty else {
      throw UsageError("no receiver: give --to URL", helpFor: .webhook)
    }
    policy = WebhookPolicy()
    policy.delay = resolved[.webhookDelay].time
    policy.kinds = try Self.kinds(resolved.patterns(.webhookEvent))
    policy.batch = Self.batch
    interval = resolved[.every].time
    let joins = policy.kinds.contains { !WebhookNotice.Kind.ofChannels.contains($0) }
    try Self.check(resolved[.channel].texts, joins: joins)
    access = try APIAccess(&resolved)
    subscription = try SubscribeSettings(&resolved, channels: resolved[.channel].texts)
    let userID = resolved[.webhookUserID].word
    subscription.authorization = .secret(access.secret, ["user_id": .string(userID)])
    watch = WatchSettings(
      userID: userID, channels: subscription.channels, joinsPresence: joins,
      channelLimit: resolved[.webhookMaxChannels].number, memberLimit: subscription.maxMembers,
      reportsStart: resolved[.initial].isOn)
  }

  /// Returns the kinds that match a pattern; all for no pattern.
  private static func kinds(_ patterns: [String]) throws(UsageError) -> [WebhookNotice.Kind] {
    let all = WebhookNotice.Kind.watched
    let globs = patterns.map { (text: $0, glob: Glob($0)) }
    for (text, glob) in globs where !all.contains(where: { glob.matches($0.rawValue) }) {
      let names = all.map(\.rawValue)
      throw UsageError(
        "--event: '\(text)' matches none of \(names.joined(separator: ", "))"
          + Suggestion.clause(for: text, in: names))
    }
    guard !globs.isEmpty else { return all }
    return all.filter { kind in globs.contains { $0.glob.matches(kind.rawValue) } }
  }

  /// Refuses channels that have no client events, or whose events nobody wants.
  private static func check(_ channels: [String], joins: Bool) throws(UsageError) {
    guard let first = channels.first else { return }
    guard joins else {
      throw UsageError("--channel: '\(first)' has no use, because --event leaves out client_event")
    }
    if let channel = channels.first(where: { ChannelKind(channelName: $0) == .encrypted }) {
      throw UsageError("channel '\(channel)': encrypted channels have no client events")
    }
  }
}

/// The channels and members that `webhook send` watches.
struct WatchSettings: Equatable, Sendable {
  /// This program's user on presence channels, who does not count.
  var userID: String
  /// Channels of the command line, joined from the start to the end.
  let channels: [String]
  /// Joins the occupied presence channels, for their members.
  var joinsPresence = true
  /// Maximum number of presence channels to join.
  var channelLimit: Int
  /// Maximum number of members of a presence channel that are watched.
  var memberLimit: Int
  /// Reports the channels and members that are there at the start.
  var reportsStart = true
}

extension WebhookNotice.Kind {
  static let ofChannels: [Self] = [.channelOccupied, .channelVacated]
  /// Kinds that a program beside the server can know.
  static let watched = ofChannels + [.memberAdded, .memberRemoved, .clientEvent]
}

extension TypedArguments {
  /// Requires the one argument of `webhook`, and refuses the options of the other word.
  fileprivate func require(_ word: WebhookWord) throws(UsageError) {
    guard operands == [word.rawValue] else {
      let wrong = operands.first { WebhookWord(rawValue: $0) == nil }
      let found = wrong ?? operands.dropFirst().first
      throw UsageError(
        "webhook takes one word: listen or send\(found.map { " (found '\($0)')" } ?? "")",
        helpFor: .webhook)
    }
    try refuse(
      word.foreignFlags, by: "webhook \(word.rawValue)", of: "webhook \(word.other.rawValue)")
  }
}
