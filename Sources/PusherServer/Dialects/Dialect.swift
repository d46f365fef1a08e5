package import PusherCore

/// One of the servers of the protocol: what is a value, a limit or a yes or no where they differ.
///
/// Each value stands here as Pusher has it. What has to be worked out is asked of ``answers``; nothing asks for the
/// server itself.
package struct Dialect: RawRepresentable, CaseIterable, Hashable, Sendable,
  CustomStringConvertible
{
  package static let pusher = Dialect("pusher", name: "Pusher", PusherAnswers())
  package static let allCases = [pusher, reverb, soketi]

  /// As options name it.
  package let rawValue: String
  package var description: String { rawValue }
  /// As people write it.
  package let name: String
  let answers: any DialectAnswers

  /// The limits of such a server as it comes.
  package var limits = ServerLimits()
  var shapes = MessageShapes()
  /// Whether an app can be told by webhook what happens.
  package var sendsWebhooks = true
  /// What clients are told of mistakes for which the reason alone is not enough.
  var mistakes: [Mistake: MistakeAnswer] = [:]

  // MARK: Sockets

  /// Whether subscribers can be told how many they are.
  var sendsSubscriptionCounts = true
  /// Whether a connection says which protocol and which version of a library it speaks, and is refused for others.
  var checksVersions = true
  /// Whether a presence member's id that the app wrote as a number stays one; Pusher documents strings.
  var keepsNumbers = false
  /// Whether who is subscribed may subscribe again, and gets the same answer.
  var acceptsSecondSubscription = false
  /// Whether users can sign in.
  var knowsSignIn = true
  /// Whether a connection that is given up gets a close frame, and not only an error event.
  var sendsCloseFrames = true
  /// Whether it may agree to permessage-deflate.
  var knowsCompression = true
  /// Whether a client that has sent a control frame is pinged with one, and not with a message.
  var pingsWithFrames = false
  /// What says that there are as many connections as there may be.
  var connectionQuota = PusherCode.overQuota
  /// The kinds of channels on which events of clients are passed on.
  var clientEventKinds: Set<ChannelKind> = [.private, .presence]

  // MARK: The HTTP API

  /// The answer to a call without a result, be it for its kind or for no wish for information.
  var done = JSONValue.object([])
  var batchDone = JSONValue.object([])
  /// Whether a call that sends events can ask for information on their channels.
  var answersInfo = true
  /// Whether `/connections` tells how many there are.
  var countsConnections = false
  /// Whether a call that ends a user's connections may leave out the app, which its key names.
  var findsAppByKey = true
  /// Whether a call may not be older than ten minutes.
  var checksTimestamps = true
  /// Whether a count that a channel does not have, such as that of a public channel's users, is an error.
  var refusesMissingCounts = true
  /// Whether a channel without subscribers has counts.
  var countsEmptyChannels = true
  /// Whether a presence channel has a count of its connections beside that of its users.
  var countsMembersTwice = true
  /// Whether `with_user_info` adds what is known of users.
  var tellsUserInfo = false
  /// Whether the socket that an event leaves out must be named as one.
  var checksExcludedSocket = true
  /// Whether an event's data may be more than a string.
  var acceptsEveryData = false

  init(_ rawValue: String, name: String, _ answers: any DialectAnswers) {
    self.rawValue = rawValue
    self.name = name
    self.answers = answers
  }

  /// A server that speaks Pusher's protocol and is not Pusher: what all such have in common.
  static func compatible(
    _ rawValue: String, name: String, _ answers: any DialectAnswers
  ) -> Dialect {
    var dialect = Dialect(rawValue, name: name, answers)
    dialect.limits.activityTimeout = .seconds(30)
    dialect.limits.userID = .max
    dialect.limits.clientEventsPerSecond = nil
    dialect.mistakes = [
      .noSubscription: .silence,
      .clientEventsOff: .words(
        .clientEventRate, "The app does not have client messaging enabled."),
    ]
    dialect.sendsSubscriptionCounts = false
    dialect.checksVersions = false
    dialect.keepsNumbers = true
    dialect.acceptsSecondSubscription = true
    dialect.knowsCompression = false
    dialect.clientEventKinds = [.public, .private, .presence, .encrypted]
    dialect.findsAppByKey = false
    dialect.refusesMissingCounts = false
    dialect.checksExcludedSocket = false
    return dialect
  }

  package init?(rawValue: String) {
    guard let known = Self.allCases.first(where: { $0.rawValue == rawValue }) else { return nil }
    self = known
  }
}

extension Dialect {
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
      application.sendsSubscriptionCounts && dialect.sendsSubscriptionCounts
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
