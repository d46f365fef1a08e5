internal import PusherCore

/// A socket's wish to be subscribed.
struct JoinRequest: Sendable {
  let channel: String
  let socketID: String
  /// The user on a presence channel.
  let member: Member?
  /// Whether it is subscribed already.
  var isSecond = false
  /// As which user it is subscribed already.
  var formerUserID: String?
}

/// The answer to a socket that subscribes.
enum JoinAnswer: Sendable {
  case joined(Joined)
  /// The presence channel has as many members as it may have; whether a subscription from before stays.
  case full(keepsFormer: Bool)
}

/// The channel as it is when a socket has subscribed.
struct Joined: Sendable {
  /// The id of the socket's user as others know it, on presence channels.
  var memberID: JSONValue?
  /// The members of a presence channel.
  var members: MemberList?
  /// The last event of a cache channel.
  var cached: CachedEvents.Event?
}

/// Whether an app may send more events now.
enum Admission: Sendable {
  case admitted
  /// It has sent too much, for this reason.
  case overQuota(String)
  /// Other nodes, or what connects them, cannot be asked.
  case unavailable
}

/// What the HTTP API may ask of a channel.
struct ChannelFacts: Sendable {
  let name: String
  /// How many sockets are subscribed.
  var subscriptions = 0
  var members = MemberList()
  /// The last event of a cache channel.
  var cached: CachedFacts?
}

/// What the HTTP API may ask of the last event of a cache channel.
package struct CachedFacts: Sendable {
  package let name: String
  package let data: String
  /// How long it is kept; `nil` without a limit.
  package let timeLeft: Duration?
}

/// Knows who is where on all nodes.
///
/// Each call that changes something is one step for all nodes: the messages that it causes come by the ``Bus`` in the
/// order of the changes, and after the answer.
protocol Registry: AnyObject {
  /// Takes what comes for the sockets here.
  var receiver: (any BusReceiver)? { get set }

  /// The app has other settings from now on.
  func adopt(_ setup: AppSetup)

  func connect(_ socketID: String)
  func disconnect(_ socketID: String)
  /// Whether a socket is connected to any node.
  func hasSocket(_ socketID: String) -> Bool
  /// How many sockets there are.
  var connectionCount: Int { get }
  /// How many of them this process has.
  var ownConnectionCount: Int { get }
  /// Whether no node of this process has a socket that it was told of.
  var isDeserted: Bool { get }
  /// How many channels somebody is subscribed to.
  var channelCount: Int { get }
  /// Whether a channel is occupied, or fewer than `limit` are.
  func hasRoom(for channel: String, limit: Int) -> Bool

  /// Subscribes a socket; the answer comes before the messages that are meant for a subscriber.
  func join(
    _ request: JoinRequest, at now: Instant, _ answer: @escaping (JoinAnswer, Instant) -> Void)
  /// Ends a subscription, if there is one.
  func leave(_ channel: String, userID: String?, at now: Instant)

  /// Counts a connection of a user in; answers which users of the watchlist are online.
  func signIn(
    _ user: SignedInUser, socketID: String, at now: Instant,
    _ answer: @escaping (NameSet, Instant) -> Void)
  /// Counts a connection of a user out.
  func signOut(_ userID: String, at now: Instant)

  /// Counts events of the API, with so many bytes of data together, unless they are too many.
  func admit(
    events: Int, bytes: Int, at now: Instant, _ answer: @escaping (Admission) -> Void)
  /// The facts about channels, in the order of their names; `nil` while other nodes cannot be asked.
  func facts(
    of channels: [String], at now: Instant, _ answer: @escaping ([ChannelFacts]?) -> Void)
  /// The names of the channels that somebody is subscribed to, sorted, those with a prefix; `nil` likewise.
  func occupiedChannels(prefix: String, _ answer: @escaping ([String]?) -> Void)

  /// Looks at the time: counts of large channels are sent every few seconds.
  func tick(at now: Instant)

  /// Notes something for the app's webhooks, in the order of the changes.
  func note(_ notice: WebhookNotice)
  /// The notices since the last call, on the one node that sends webhooks.
  func takeNotices() -> [WebhookNotice]
}
