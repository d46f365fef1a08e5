package import PusherCore

/// One of the servers of the protocol: what is a value, a limit or a yes or no where they differ.
///
/// Each value stands here as Pusher has it. What has to be worked out is asked of ``answers``; nothing asks for the
/// server itself.
package struct Dialect: RawRepresentable, CaseIterable, Hashable, Sendable,
  CustomStringConvertible
{
  package static let pusher = Dialect(
    "pusher", name: "Pusher", PusherAnswers(),
    [
      .sendsWebhooks, .sendsSubscriptionCounts, .checksVersions, .knowsSignIn, .sendsCloseFrames,
      .knowsCompression, .answersInfo, .findsAppByKey, .checksTimestamps, .refusesMissingCounts,
      .countsEmptyChannels, .countsMembersTwice, .checksExcludedSocket,
    ])
  package static let allCases = [pusher, reverb, soketi]

  /// As options name it.
  package let rawValue: String
  package var description: String { rawValue }
  /// As people write it.
  package let name: String
  let answers: any DialectAnswers
  private let traits: Set<Trait>

  /// The limits of such a server as it comes.
  package var limits = ServerLimits()
  var shapes = MessageShapes()
  /// What clients are told of mistakes for which the reason alone is not enough.
  var mistakes: [Mistake: MistakeAnswer] = [:]

  /// What says that there are as many connections as there may be.
  var connectionQuota = PusherCode.overQuota
  /// The kinds of channels on which events of clients are passed on.
  var clientEventKinds: Set<ChannelKind> = [.private, .presence]

  /// The answer to a call without a result, be it for its kind or for no wish for information.
  var done = JSONValue.object([])
  var batchDone = JSONValue.object([])

  init(
    _ rawValue: String, name: String, _ answers: any DialectAnswers, _ traits: Set<Trait>
  ) {
    self.rawValue = rawValue
    self.name = name
    self.answers = answers
    self.traits = traits
  }

  /// A server that speaks Pusher's protocol and is not Pusher: what all such have in common.
  static func compatible(
    _ rawValue: String, name: String, _ answers: any DialectAnswers, _ traits: Set<Trait>
  ) -> Dialect {
    var dialect = Dialect(
      rawValue, name: name, answers,
      traits.union([.keepsNumbers, .acceptsSecondSubscription]))
    dialect.limits.activityTimeout = .seconds(30)
    dialect.limits.userID = .max
    dialect.limits.clientEventsPerSecond = nil
    dialect.mistakes = [
      .noSubscription: .silence,
      .clientEventsOff: .words(
        .clientEventRate, "The app does not have client messaging enabled."),
    ]
    dialect.clientEventKinds = [.public, .private, .presence, .encrypted]
    return dialect
  }

  package func has(_ trait: Trait) -> Bool { traits.contains(trait) }

  package init?(rawValue: String) {
    guard let known = Self.allCases.first(where: { $0.rawValue == rawValue }) else { return nil }
    self = known
  }
}

extension Dialect {
  /// What a server does and another does not.
  package enum Trait: Sendable {
    /// Whether an app can be told by webhook what happens.
    case sendsWebhooks
    /// Whether subscribers can be told how many they are.
    case sendsSubscriptionCounts
    /// Whether a connection says which protocol and which version of a library it speaks, and is refused for others.
    case checksVersions
    /// Whether a presence member's id that the app wrote as a number stays one; Pusher documents strings.
    case keepsNumbers
    /// Whether who is subscribed may subscribe again, and gets the same answer.
    case acceptsSecondSubscription
    /// Whether users can sign in.
    case knowsSignIn
    /// Whether a connection that is given up gets a close frame, and not only an error event.
    case sendsCloseFrames
    /// Whether it may agree to permessage-deflate.
    case knowsCompression
    /// Whether a client that has sent a control frame is pinged with one, and not with a message.
    case pingsWithFrames
    /// Whether a call that sends events can ask for information on their channels.
    case answersInfo
    /// Whether `/connections` tells how many there are.
    case countsConnections
    /// Whether a call that ends a user's connections may leave out the app, which its key names.
    case findsAppByKey
    /// Whether a call may not be older than ten minutes.
    case checksTimestamps
    /// Whether a count that a channel does not have, such as that of a public channel's users, is an error.
    case refusesMissingCounts
    /// Whether a channel without subscribers has counts.
    case countsEmptyChannels
    /// Whether a presence channel has a count of its connections beside that of its users.
    case countsMembersTwice
    /// Whether `with_user_info` adds what is known of users.
    case tellsUserInfo
    /// Whether the socket that an event leaves out must be named as one.
    case checksExcludedSocket
    /// Whether an event's data may be more than a string.
    case acceptsEveryData
  }

  /// What is wrong with a client's message.
  enum Mistake {
    /// It is none, or asks for what the server does not do.
    case uselessMessage
    /// It ends a subscription that there is not.
    case noSubscription
    /// Its event is for a channel that the connection is not subscribed to.
    case notMember
    /// Its event is one of a client, and the app wants none.
    case clientEventsOff
    /// Its event is not passed on to others.
    case clientEvent
  }

  /// What a client is told of a mistake.
  enum MistakeAnswer {
    /// The reason, with this code where it has none of its own.
    case code(PusherCode)
    /// The server's own words, whatever the reason, if it has no code of its own.
    case words(PusherCode, String)
    case silence
  }
}

extension Hub {
  /// A hub whose clients are served as this server serves them.
  package convenience init(
    application: Application, limits: ServerLimits = ServerLimits(), service: Service = .pusher,
    dialect: Dialect = .pusher
  ) {
    var application = application
    application.sendsSubscriptionCounts =
      application.sendsSubscriptionCounts && dialect.has(.sendsSubscriptionCounts)
    self.init(
      application: application, limits: limits,
      text: MessageText(service: service, shapes: dialect.shapes), naming: dialect.answers)
  }
}

extension MessageText {
  /// The messages of a server.
  package init(service: Service = .pusher, dialect: Dialect) {
    self.init(service: service, shapes: dialect.shapes)
  }
}
