package import PusherCore

/// A socket's wish to be subscribed.
package struct JoinRequest: Sendable {
  package let channel: String
  package let socketID: String
  /// The user on a presence channel.
  package let member: Member?
  /// Whether it is subscribed already.
  package var isSecond = false
  /// As which user it is subscribed already.
  package var formerUserID: String?

  package init(channel: String, socketID: String, member: Member?) {
    (self.channel, self.socketID, self.member) = (channel, socketID, member)
  }
}

/// The answer to a socket that subscribes.
package enum JoinAnswer: Sendable {
  case joined(Joined)
  /// The presence channel has its maximum of members; whether a subscription from before stays.
  case full(keepsFormer: Bool)
}

/// The channel as it is when a socket has subscribed.
package struct Joined: Sendable {
  /// The id of the socket's user as others know it, on presence channels.
  var memberID: JSONValue?
  /// The members of a presence channel.
  var members: MemberList?
  /// The last event of a cache channel.
  var cached: CachedEvents.Event?

  package init(memberID: JSONValue?, members: MemberList?, cached: CachedEvents.Event?) {
    (self.memberID, self.members, self.cached) = (memberID, members, cached)
  }
}

/// Whether an app may send more events now.
package enum Admission: Sendable {
  case admitted
  /// It has sent too much, for this reason.
  case overQuota(String)
  /// Other nodes, or what connects them, cannot be asked.
  case unavailable
}

/// A channel's state on all nodes, as the HTTP API reports it.
package struct ChannelFacts: Sendable {
  package let name: String
  /// How many sockets are subscribed.
  package var subscriptions = 0
  package var members = MemberList()
  /// The last event of a cache channel.
  package var cached: CachedFacts?

  package init(name: String) { self.name = name }
}

/// The last event of a cache channel, as the HTTP API reports it.
package struct CachedFacts: Sendable {
  package let name: String
  package let data: String
  /// How long it is kept; `nil` without a limit.
  package let timeLeft: Duration?

  package init(name: String, data: String, timeLeft: Duration?) {
    (self.name, self.data, self.timeLeft) = (name, data, timeLeft)
  }
}

/// A question about all nodes of an app.
package enum ClusterQuestion {
  /// Subscribes a socket. The answer comes before the messages that are meant for a subscriber.
  case join(JoinRequest)
  /// Counts a connection of a user in, and asks which users of the watchlist are online.
  case signIn(SignedInUser, socketID: String)
  /// Counts events of the API, with so many bytes of data together, unless they are too many.
  case admit(events: Int, bytes: Int)
  /// Asks whether everything that was published so far is on its way to all nodes.
  case published
  /// Asks for the facts about channels.
  case facts([String])
  /// Asks for the names of the occupied channels that begin with a prefix.
  case channels(prefix: String)
}

/// The answer to a ``ClusterQuestion``.
package enum ClusterAnswer {
  case joined(JoinAnswer)
  /// The users of the watchlist that are online.
  case signedIn(NameSet)
  case admission(Admission)
  /// False where the events may be lost.
  case published(Bool)
  /// In the order of the names; `nil` while other nodes cannot be asked.
  case facts([ChannelFacts]?)
  /// Sorted; `nil` while other nodes cannot be asked.
  case channels([String]?)
}

/// An answer, or the number under which it comes later.
package enum ClusterReply {
  case answered(ClusterAnswer)
  case later(Int)
}

/// Where a published event goes.
package enum Publication {
  /// To sockets of this node alone, to which the hub delivers the message; `nil` for a channel without subscribers.
  case here(BusMessage?)
  /// To all nodes; it comes as news.
  case everywhere
}

/// What a member tells its hub, in the order in which it happened.
package enum ClusterNews {
  /// The answer to a question that was put off.
  case answer(Int, ClusterAnswer)
  /// A message for sockets here.
  case message(BusMessage)
  /// An event that another node may have published.
  case event(BusMessage, channel: String, isFromClient: Bool)
  case log(ServerLogEvent)
  /// Nobody waits for the answer with this number: its socket has left.
  case dropped(Int)
}

/// The place of a hub among the nodes of its app: it knows who is where on all of them.
///
/// It never calls its hub. Each change is one step for all nodes. What it causes waits as ``ClusterNews`` in the order of
/// the changes.
package protocol ClusterMember: AnyObject {
  /// The app has other settings from now on.
  func adopt(_ setup: AppSetup)

  func connect(_ socketID: String)
  func disconnect(_ socketID: String)
  /// Whether a socket is connected to any node, as far as this one knows.
  func hasSocket(_ socketID: String) -> Bool
  /// Number of sockets on all nodes.
  var connectionCount: Int { get }
  /// Number of sockets on this node.
  var ownConnectionCount: Int { get }
  /// Whether all departures from this node are counted and told.
  var isDeserted: Bool { get }
  /// Number of occupied channels that this node knows of.
  var channelCount: Int { get }
  /// Whether a channel is occupied.
  func isOccupied(_ channel: String) -> Bool
  /// Whether other nodes can be reached now.
  var isAvailable: Bool { get }

  /// Asks something.
  func ask(_ question: ClusterQuestion, at now: Instant) -> ClusterReply
  /// Ends a subscription, if there is one.
  func leave(_ channel: String, userID: String?, at now: Instant)
  /// Counts a connection of a user out.
  func signOut(_ userID: String, at now: Instant)
  /// Closes the sockets of a user on all nodes.
  func terminate(userID: String, at now: Instant)
  /// Sends an event to the subscribers of its channel.
  func publish(_ event: ChannelEvent, at now: Instant) -> Publication
  /// Looks at the time: counts of large channels are sent every few seconds.
  func tick(at now: Instant)

  /// The news since the last call.
  func takeNews() -> [ClusterNews]

  /// Notes something for the app's webhooks, in the order of the changes.
  func note(_ notice: WebhookNotice)
  /// The notices since the last call.
  func takeNotices() -> [WebhookNotice]
}

extension ClusterMember {
  /// Whether a channel is occupied, or fewer than `limit` are.
  func hasRoom(for channel: String, limit: Int) -> Bool {
    channelCount < limit || isOccupied(channel)
  }
}

/// The members of other processes that a server's hubs meet.
package protocol Cluster: AnyObject {
  /// The place of an app's hub; that of a former hub of the app, if it has not been given up.
  func place(for setup: AppSetup) -> any ClusterMember
  /// An app is not served any more, and all its sockets have left.
  func giveUp(_ place: any ClusterMember)
  /// Why the others cannot be reached; `nil` while they can.
  var failure: String? { get }
  /// Whether it is known if the others can be reached.
  var isSettled: Bool { get }
  /// Sends what the members have ordered.
  func flush(at now: Instant)
  /// The log since the last call.
  func takeLog() -> [ServerLogEvent]
  /// Begins to leave the others.
  func resign(at now: Instant)
  /// Whether the others know that this server has left.
  var hasResigned: Bool { get }
  func close()
}
