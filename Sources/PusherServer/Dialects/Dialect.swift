package import PusherCore

/// A server of the protocol: the values, limits and flags in which servers differ.
///
/// The defaults are Pusher's. Answers that need code come from ``answers``; other code never asks
/// which server it is.
package struct Dialect: RawRepresentable, CaseIterable, Hashable, Sendable, CustomStringConvertible
{
  package static let pusher = Dialect(
    "pusher", name: "Pusher", PusherAnswers(),
    [
      .sendsWebhooks, .sendsSubscriptionCounts, .checksVersions, .knowsSignIn, .sendsCloseFrames,
      .knowsCompression, .answersInfo, .findsAppByKey, .checksTimestamps, .refusesMissingCounts,
      .countsEmptyChannels, .countsMembersTwice, .checksExcludedSocket, .requiresInfoObject,
    ])
  package static let allCases = [pusher, reverb, soketi]
  package let rawValue: String
  package var description: String { rawValue }
  package let name: String
  let answers: any DialectAnswers
  /// What the names of channels mean.
  package var naming: any ChannelNaming { answers }
  private let traits: Set<Trait>
  package var limits = ServerLimits()
  var shapes = MessageShapes()
  /// Messages for mistakes that need more than the reason.
  var mistakes: [Mistake: MistakeAnswer] = [:]

  var connectionQuota = PusherCode.overQuota
  var clientEventKinds: Set<ChannelKind> = [.private, .presence]

  var done = JSONValue.object([])
  var batchDone = JSONValue.object([])

  init(_ rawValue: String, name: String, _ answers: any DialectAnswers, _ traits: Set<Trait>) {
    self.rawValue = rawValue
    self.name = name
    self.answers = answers
    self.traits = traits
  }

  /// Returns a dialect with the common values of servers other than Pusher.
  static func compatible(
    _ rawValue: String, name: String, _ answers: any DialectAnswers, _ traits: Set<Trait>
  ) -> Dialect {
    var dialect = Dialect(
      rawValue, name: name, answers, traits.union([.keepsNumbers, .acceptsSecondSubscription]))
    dialect.limits.times.activity = .seconds(30)
    dialect.limits.sizes.userID = .max
    dialect.limits.clientEventsPerSecond = nil
    dialect.mistakes = [
      .noSubscription: .silence,
      .clientEventsOff: .words(.clientEventRate, "The app does not have client messaging enabled."),
    ]
    dialect.clientEventKinds = [.public, .private, .presence, .encrypted]
    return dialect
  }

  package func has(_ trait: Trait) -> Bool { traits.contains(trait) }

  var memberForm: MemberForm {
    MemberForm(keepsNumbers: has(.keepsNumbers), requiresInfoObject: has(.requiresInfoObject))
  }

  package init?(rawValue: String) {
    guard let known = Self.allCases.first(where: { $0.rawValue == rawValue }) else { return nil }
    self = known
  }
}

extension Dialect {
  package enum Trait: Sendable {
    case sendsWebhooks
    case sendsSubscriptionCounts
    case checksVersions
    /// Keeps numeric IDs of presence members as numbers; Pusher documents strings.
    case keepsNumbers
    /// Refuses a `user_info` that is not a JSON object.
    case requiresInfoObject
    case acceptsSecondSubscription
    case knowsSignIn
    /// Sends a close frame before closing a connection, not only an error event.
    case sendsCloseFrames
    case knowsCompression
    /// Pings with frames, instead of messages, after the client has sent a control frame.
    case pingsWithFrames
    case answersInfo
    case countsConnections
    case findsAppByKey
    /// Refuses calls older than ten minutes.
    case checksTimestamps
    /// Refuses to return a missing count, such as the users of a public channel.
    case refusesMissingCounts
    case countsEmptyChannels
    /// Returns a count of connections beside the count of users for a presence channel.
    case countsMembersTwice
    case tellsUserInfo
    case checksExcludedSocket
    case acceptsEveryData
    /// Reads binary messages as text, instead of closing the connection.
    case readsBinary
    case limitsMessages
  }

  enum Mistake {
    case uselessMessage
    case noSubscription
    case notMember
    case clientEventsOff
    case clientEvent
    case messageRate
  }

  enum MistakeAnswer {
    /// The reason, with this code if the reason has no code.
    case code(PusherCode)
    /// A fixed text instead of the reason, unless the reason has a code.
    case words(PusherCode, String)
    case silence
  }
}

extension AppSetup {
  package init(
    _ application: Application, limits: ServerLimits, service: PusherService, dialect: Dialect,
    watch: Watch? = nil
  ) {
    var application = application
    application.sendsSubscriptionCounts =
      application.sendsSubscriptionCounts && dialect.has(.sendsSubscriptionCounts)
    self.init(
      application: application, limits: application.limits.applied(to: limits),
      text: MessageText(service: service, dialect: dialect), naming: dialect.naming, watch: watch)
  }
}

extension MessageText {
  package init(service: PusherService = .pusher, dialect: Dialect) {
    self.init(service: service, shapes: dialect.shapes)
  }
}

/// Answers that differ between servers by more than a value.
protocol DialectAnswers: ChannelNaming {
  func problem(inChannel name: String) -> String?
  func problem(inEvent name: String) -> String?
  func message(_ text: MessageText, _ refusal: SubscriptionRefusal, channel: String) -> String
  /// Relayed data of a client event; `nil` if the event is refused.
  func relayed(_ data: JSONValue?) -> JSONValue??

  /// Words a refusal of the API as this server does.
  func worded(_ answer: HTTPAnswer) -> HTTPAnswer
  /// Pages that need no signature.
  func page(_ path: String) -> HTTPAnswer?
  /// Fixed information about a channel; `nil` if the request decides.
  func attributes(of channel: ChannelFacts) -> [JSONValue.Member]?
  func listed(_ channel: ChannelFacts) -> [JSONValue.Member]?
  func cached(_ event: CachedFacts, channel: String) -> JSONValue
  func refusal(ofUsersOf channel: ChannelFacts) -> HTTPAnswer?
  /// Refusal of an event's data, beyond Pusher's rules.
  func refusal(ofData data: JSONValue?) -> HTTPAnswer?
  /// Refusal of an event before all other checks; `nil` on most servers.
  func refusal(ofEvent event: JSONValue) -> HTTPAnswer?
  /// Refusal of a batch before all other checks; `nil` on most servers.
  func refusal(ofBatch body: JSONValue) -> HTTPAnswer?
}

struct PusherAnswers: DialectAnswers {}

extension DialectAnswers {
  func kind(of channel: String) -> ChannelKind { ChannelKind(channelName: channel) }
  func isCache(_ channel: String) -> Bool { ChannelName.isCache(channel) }
  func problem(inChannel name: String) -> String? { ChannelName.problem(in: name) }
  func problem(inEvent name: String) -> String? { TriggerRequest.problem(inName: name) }

  func message(_ text: MessageText, _ refusal: SubscriptionRefusal, channel: String) -> String {
    text.error(code: refusal.code, message: refusal.reason, channel: channel)
  }

  func relayed(_ data: JSONValue?) -> JSONValue?? { .some(data) }
  func worded(_ answer: HTTPAnswer) -> HTTPAnswer { answer }
  func page(_ path: String) -> HTTPAnswer? { nil }
  func attributes(of channel: ChannelFacts) -> [JSONValue.Member]? { nil }
  func listed(_ channel: ChannelFacts) -> [JSONValue.Member]? { attributes(of: channel) }

  func cached(_ event: CachedFacts, channel: String) -> JSONValue {
    let left = event.timeLeft.map { JSONValue.integer(Int($0.components.seconds)) }
    return .object(present: ["data": .string(event.data), "ttl": left])
  }

  func refusal(ofUsersOf channel: ChannelFacts) -> HTTPAnswer? {
    kind(of: channel.name) == .presence ? nil : .refusal(400, "only presence channels have users")
  }

  func refusal(ofData data: JSONValue?) -> HTTPAnswer? { nil }
  func refusal(ofEvent event: JSONValue) -> HTTPAnswer? { nil }
  func refusal(ofBatch body: JSONValue) -> HTTPAnswer? { nil }
}
