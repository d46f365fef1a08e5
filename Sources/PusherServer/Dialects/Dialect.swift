package import PusherCore

/// A server of the protocol: the values, limits and flags in which servers differ.
///
/// The defaults are Pusher's. Answers that need code come from ``answers``; other code never asks which server it is.
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

  /// The name in options.
  package let rawValue: String
  package var description: String { rawValue }
  /// The name in messages.
  package let name: String
  let answers: any DialectAnswers
  private let traits: Set<Trait>

  /// The default limits of this server.
  package var limits = ServerLimits()
  var shapes = MessageShapes()
  /// The messages for mistakes that need more than the reason.
  var mistakes: [Mistake: MistakeAnswer] = [:]

  /// The message for too many connections.
  var connectionQuota = PusherCode.overQuota
  /// The kinds of channels that pass on client events.
  var clientEventKinds: Set<ChannelKind> = [.private, .presence]

  /// The answer to a call without a result.
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

  /// The common values of servers other than Pusher.
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
  /// The features in which servers differ.
  package enum Trait: Sendable {
    /// Whether apps can have webhooks.
    case sendsWebhooks
    /// Whether there are subscription counts.
    case sendsSubscriptionCounts
    /// Whether protocol and library version of a connection are checked.
    case checksVersions
    /// Whether a presence member's id that the app wrote as a number stays one; Pusher documents strings.
    case keepsNumbers
    /// Whether a second subscription to a channel succeeds.
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
    /// Whether calls older than ten minutes are refused.
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
    /// Whether a binary message is read like a text, in place of ending the connection.
    case readsBinary
  }

  /// What is wrong with a client's message.
  enum Mistake {
    /// It is malformed, or asks for an unknown action.
    case uselessMessage
    /// It ends a subscription that does not exist.
    case noSubscription
    /// Its event is for a channel that the connection is not subscribed to.
    case notMember
    /// It is a client event, and the app does not allow them.
    case clientEventsOff
    /// Its event is not passed on to others.
    case clientEvent
  }

  /// The message to a client about a mistake.
  enum MistakeAnswer {
    /// The reason, with this code where it has none of its own.
    case code(PusherCode)
    /// The server's own words, whatever the reason, if it has no code of its own.
    case words(PusherCode, String)
    case silence
  }
}

extension Hub {
  /// A hub that behaves like this server, on the only node of its app.
  package convenience init(
    application: Application, limits: ServerLimits = ServerLimits(),
    service: PusherService = .pusher, dialect: Dialect = .pusher
  ) {
    let setup = AppSetup(application, limits: limits, service: service, dialect: dialect)
    self.init(setup, member: SoloMember(setup))
  }
}

extension AppSetup {
  /// An app on servers of a dialect.
  package init(
    _ application: Application, limits: ServerLimits, service: PusherService, dialect: Dialect,
    watch: Watch? = nil
  ) {
    var application = application
    application.sendsSubscriptionCounts =
      application.sendsSubscriptionCounts && dialect.has(.sendsSubscriptionCounts)
    self.init(
      application: application, limits: application.limits.applied(to: limits),
      text: MessageText(service: service, dialect: dialect), naming: dialect.answers, watch: watch)
  }
}

extension MessageText {
  /// The messages of a server.
  package init(service: PusherService = .pusher, dialect: Dialect) {
    self.init(service: service, shapes: dialect.shapes)
  }
}
