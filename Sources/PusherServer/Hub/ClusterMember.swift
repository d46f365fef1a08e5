package import PusherCore

package struct JoinRequest: Sendable {
  package let channel: String
  package let socketID: String
  /// User on a presence channel.
  package let member: Member?
  package var isSecond = false
  /// User ID of the existing subscription.
  package var formerUserID: String?

  package init(channel: String, socketID: String, member: Member?) {
    (self.channel, self.socketID, self.member) = (channel, socketID, member)
  }
}

package enum JoinAnswer: Sendable {
  case joined(Joined)
  /// `keepsFormer` tells if an existing subscription stays.
  case full(keepsFormer: Bool)
}

/// State of the channel after a socket subscribed.
package struct Joined: Sendable {
  /// The user's ID in messages to others, on presence channels.
  var memberID: JSONValue?
  package var members: MemberList?
  var cached: CachedEvents.Event?

  package init(memberID: JSONValue?, members: MemberList?, cached: CachedEvents.Event?) {
    (self.memberID, self.members, self.cached) = (memberID, members, cached)
  }
}

package enum Admission: Sendable {
  case admitted
  /// The app has sent too much, for this reason.
  case overQuota(String)
  /// The other nodes cannot be reached.
  case unavailable
}

/// State of a channel on all nodes, as the HTTP API reports it.
package struct ChannelFacts: Sendable {
  package let name: String
  package var subscriptions = 0
  package var memberCount = 0
  /// Empty unless the question asks for the members.
  package var members = MemberList()
  package var cached: CachedFacts?

  package init(name: String) { self.name = name }
}

/// Last event of a cache channel, as the HTTP API reports it.
package struct CachedFacts: Sendable {
  package let name: String
  package let data: String
  /// Remaining lifetime; `nil` without a limit.
  package let timeLeft: Duration?

  package init(name: String, data: String, timeLeft: Duration?) {
    (self.name, self.data, self.timeLeft) = (name, data, timeLeft)
  }
}

package enum ClusterQuestion {
  /// Subscribes a socket. The answer comes before messages for the subscriber.
  case join(JoinRequest)
  /// Counts a connection of a user, and asks for the online users of the watchlist.
  case signIn(SignedInUser, socketID: String)
  /// Counts API events with their total data size, unless they exceed the quota.
  case admit(events: Int, bytes: Int)
  /// Asks whether all events published so far are on their way to all nodes.
  case published
  case facts([String], withMembers: Bool = false)
  case channels(prefix: String)
}

package enum ClusterAnswer {
  case joined(JoinAnswer)
  case signedIn(NameSet)
  case admission(Admission)
  /// False if the events may be lost.
  case published(Bool)
  /// In the order of the names; `nil` while other nodes are unreachable.
  case facts([ChannelFacts]?)
  /// Sorted; `nil` while other nodes are unreachable.
  case channels([String]?)
}

package enum ClusterReply {
  case answered(ClusterAnswer)
  case later(Int)
}

package enum Publication {
  /// Sockets of this node: the hub delivers the message. `nil` for a channel without subscribers.
  case here(BusMessage?)
  /// All nodes; the message returns as news.
  case everywhere
}

/// News from a member to its hub, in the order of events.
package enum ClusterNews {
  case answer(Int, ClusterAnswer)
  case message(BusMessage)
  /// Event that may come from another node.
  case event(BusMessage, channel: String, isFromClient: Bool)
  case log(ServerLogEvent)
  /// No answer with this number is needed any more: its socket has left.
  case dropped(Int)
}

/// A hub's connection to all nodes of its app, with the state of the app on all of them.
///
/// A member never calls its hub. Each change is one step for all nodes. Its effects wait as
/// ``ClusterNews``, in the order of the changes.
package protocol ClusterMember: AnyObject {
  func adopt(_ setup: AppSetup)

  func connect(_ socketID: String)
  func disconnect(_ socketID: String)
  /// Covers any node, as far as this node knows.
  func hasSocket(_ socketID: String) -> Bool
  /// Number of sockets on all nodes.
  var connectionCount: Int { get }
  /// Number of sockets on this node.
  var ownConnectionCount: Int { get }
  /// True if all departures from this node are counted and announced.
  var isDeserted: Bool { get }
  /// Number of occupied channels that this node knows.
  var channelCount: Int { get }
  func isOccupied(_ channel: String) -> Bool
  var isAvailable: Bool { get }

  func ask(_ question: ClusterQuestion, at now: Instant) -> ClusterReply
  func leave(_ channel: String, userID: String?, at now: Instant)
  func signOut(_ userID: String, at now: Instant)
  /// Ends the user's connections on all nodes; returns false while other nodes are unreachable.
  func terminate(userID: String, at now: Instant) -> Bool
  /// Sends an event to the subscribers of its channel.
  func publish(_ event: ChannelEvent, at now: Instant) -> Publication
  /// Handles due work: counts of large channels are sent every few seconds.
  func tick(at now: Instant)

  func takeNews() -> [ClusterNews]

  /// Adds a notice for the app's webhooks, in the order of the changes.
  func note(_ notice: WebhookNotice)
  func takeNotices() -> [WebhookNotice]
}

extension ClusterMember {
  /// Returns true if the channel is occupied, or fewer than `limit` channels are.
  func hasRoom(for channel: String, limit: Int) -> Bool {
    channelCount < limit || isOccupied(channel)
  }
}

/// The nodes of other processes that share a server's apps.
package protocol Cluster: AnyObject {
  /// Returns the member for an app: the earlier one unless it was given up, else a new one.
  func place(for setup: AppSetup) -> any ClusterMember
  func giveUp(_ place: any ClusterMember)
  /// Explains why the other nodes are unreachable; `nil` while they are reachable.
  var failure: String? { get }
  /// True if the reachability of the other nodes is known.
  var isSettled: Bool { get }
  func flush(at now: Instant)
  func takeLog() -> [ServerLogEvent]
  func resign(at now: Instant)
  /// True if the other nodes know that this server has left.
  var hasResigned: Bool { get }
  func close()
}

/// A message for sockets of one app on any node.
package enum BusMessage: Sendable {
  /// For the subscribers of a channel, except one socket.
  case channel(String, SharedFrame, except: String?)
  /// For sockets whose users watch a user, except one socket.
  case watchers(String, SharedFrame, except: String?)
  case terminate(userID: String)
}

package struct ChannelEvent {
  package let name: String
  package let channel: String
  package let data: JSONValue?
  /// User of the sending client, on presence channels.
  var userID: JSONValue?
  package var excluded: String?
  package var isFromClient = false
  /// True if a cache channel should store the event; only API events are stored.
  package var isKept = false

  package init(
    name: String, channel: String, data: JSONValue?, userID: JSONValue? = nil,
    excluded: String? = nil, isFromClient: Bool = false, isKept: Bool = false
  ) {
    (self.name, self.channel, self.data, self.userID) = (name, channel, data, userID)
    (self.excluded, self.isFromClient, self.isKept) = (excluded, isFromClient, isKept)
  }

  /// Message text, the same in every dialect.
  package var text: String {
    MessageText.event(name: name, channel: channel, data: data, userID: userID)
  }

  /// Message for the subscribers, encoded once.
  var message: BusMessage {
    .channel(channel, SharedFrame(text, channel: channel), except: excluded)
  }
}
