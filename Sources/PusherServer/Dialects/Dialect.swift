package import PusherCore

/// A server of the protocol: the values, limits, flags and answers in which servers differ.
///
/// The defaults are Pusher's. Other code never asks which server it is.
package struct Dialect: RawRepresentable, CaseIterable, Hashable, Sendable, CustomStringConvertible
{
  package static let pusher = Dialect(
    "pusher", name: "Pusher",
    [
      .sendsWebhooks, .sendsSubscriptionCounts, .checksVersions, .knowsSignIn, .sendsCloseFrames,
      .knowsCompression, .answersInfo, .findsAppByKey, .checksTimestamps, .refusesMissingCounts,
      .countsEmptyChannels, .countsMembersTwice, .checksExcludedSocket, .requiresInfoObject,
    ])
  package static let allCases = [pusher, reverb, soketi]
  /// The raw values of ``allCases``, for the table of flags, which needs no dialect.
  package static let names = ["pusher", "reverb", "soketi"]
  package let rawValue: String
  package var description: String { rawValue }
  package let name: String
  private let traits: Set<Trait>
  package var limits = ServerLimits()
  /// Texts of messages; ``MessageText/init(service:dialect:)`` adds the names of the service.
  var text = MessageText()
  /// Messages for mistakes that need more than the reason.
  var mistakes: [Mistake: MistakeAnswer] = [:]

  var connectionQuota = PusherCode.overQuota
  var clientEventKinds: Set<ChannelKind> = [.private, .presence]

  var done = JSONValue.object([])
  var batchDone = JSONValue.object([])

  // Names.
  package var kind: @Sendable (_ channel: String) -> ChannelKind = {
    ChannelKind(channelName: $0)
  }
  var isCache: @Sendable (_ channel: String) -> Bool = { ChannelName.isCache($0) }
  var channelProblem: @Sendable (_ name: String) -> String? = { ChannelName.problem(in: $0) }
  var eventProblem: @Sendable (_ name: String) -> String? = { TriggerRequest.problem(inName: $0) }

  // Messages.
  /// The answer to a refused subscription.
  var refused: @Sendable (MessageText, ProtocolRefusal, _ channel: String) -> String = {
    $0.error(code: $1.code, message: $1.reason, channel: $2)
  }
  /// Relayed data of a client event; `nil` if the event is refused.
  var relayed: @Sendable (_ data: JSONValue?) -> JSONValue?? = { .some($0) }

  // The HTTP API.
  /// Words a refusal as this server does.
  var worded: @Sendable (HTTPAnswer) -> HTTPAnswer = { $0 }
  /// Pages that need no signature.
  var page: @Sendable (_ path: String) -> HTTPAnswer? = { _ in nil }
  /// Fixed information about a channel; `nil` if the request decides.
  var attributes: @Sendable (ChannelFacts) -> [JSONValue.Member]? = { _ in nil }
  /// The same in a list of channels.
  var listed: @Sendable (ChannelFacts) -> [JSONValue.Member]? = { _ in nil }
  /// Describes the last event of a cache channel.
  var cached: @Sendable (CachedEvent, _ timeLeft: Duration?, _ channel: String) -> JSONValue = {
    event, timeLeft, _ in
    let left = timeLeft.map { JSONValue.integer(Int($0.components.seconds)) }
    return .object(present: ["data": .string(event.data.dataText), "ttl": left])
  }
  var usersRefusal: @Sendable (ChannelFacts) -> HTTPAnswer? = { channel in
    ChannelKind(channelName: channel.name) == .presence
      ? nil : .refusal(400, "only presence channels have users")
  }
  /// Refusal of an event's data, beyond Pusher's rules.
  var dataRefusal: @Sendable (JSONValue?) -> HTTPAnswer? = { _ in nil }
  /// Refusals of an event and of a batch before all other checks.
  var eventRefusal: @Sendable (JSONValue) -> HTTPAnswer? = { _ in nil }
  var batchRefusal: @Sendable (JSONValue) -> HTTPAnswer? = { _ in nil }

  init(_ rawValue: String, name: String, _ traits: Set<Trait>) {
    (self.rawValue, self.name, self.traits) = (rawValue, name, traits)
  }

  /// Returns a dialect with the common values of servers other than Pusher.
  static func compatible(
    _ rawValue: String, name: String, _ traits: Set<Trait>
  ) -> Dialect {
    var dialect = Dialect(
      rawValue, name: name, traits.union([.keepsNumbers, .acceptsSecondSubscription]))
    dialect.text.v2Service = nil
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
      text: MessageText(service: service, dialect: dialect), kind: dialect.kind,
      isCache: dialect.isCache, watch: watch)
  }
}

extension MessageText {
  package init(service: PusherService = .pusher, dialect: Dialect) {
    self = dialect.text
    self.service = service
  }
}
