package import PusherCore

package struct JoinRequest: Sendable {
  package let channel: String
  package let socketID: String
  /// User on a presence channel.
  package let member: Member?
  package var isSecond = false
  package var formerUserID: String?
  var rewind: ReplayStart?

  package init(channel: String, socketID: String, member: Member?) {
    (self.channel, self.socketID, self.member) = (channel, socketID, member)
  }

  /// True if the socket is already subscribed as the same user; then it only gets another answer.
  package var isAgain: Bool { isSecond && formerUserID.isSame(as: member?.userID) }
}

package struct Joined: Sendable {
  /// The user's ID in messages to others, on presence channels.
  let memberID: JSONValue?
  package let members: MemberList?
  let cached: CachedEvent?

  package init(_ request: JoinRequest, members: MemberList?, cached: CachedEvent?) {
    self.members = request.member == nil ? nil : members
    memberID = request.member.flatMap { members?[$0.userID]?.id }
    self.cached = cached
  }
}

/// State of a channel on all nodes, as the HTTP API reports it.
package struct ChannelFacts: Sendable {
  package let name: String
  package var subscriptions = 0
  package var memberCount = 0
  /// Empty unless the question asks for the members.
  package var members = MemberList()
  /// The last event of a cache channel, with its remaining lifetime; `nil` without a limit.
  package var cached: (event: CachedEvent, timeLeft: Duration?)?

  package init(name: String) { self.name = name }
}

/// The last event of a cache channel, as the API published it.
package struct CachedEvent: Sendable {
  package let name: String
  package let data: JSONValue

  package init(name: String, data: JSONValue) { (self.name, self.data) = (name, data) }
}

extension JSONValue {
  /// Text of an event's data: a string as it is, any other value as JSON.
  package var dataText: String { text ?? JSONWriter.text(self) }
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
  /// Asks for kept events of a channel, if the member ``ClusterMember/keepsStreams``.
  case replay(channel: String, ReplayStart)
}

package enum ClusterAnswer {
  case joined(Joined)
  /// The channel is full; `keepsFormer` tells if an existing subscription stays.
  case full(keepsFormer: Bool)
  case signedIn(NameSet)
  case admitted
  /// The events exceed a quota; with the reason.
  case overQuota(String)
  case published
  /// In the order of the names.
  case facts([ChannelFacts])
  /// Sorted.
  case channels([String])
  case replay(StreamReplay)
  /// Other nodes are unreachable, or published events may be lost.
  case unavailable

  /// Ends the program, because the answer does not match the question.
  package func isUnexpected() -> Never { preconditionFailure("\(self) answers another question") }
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
  /// Events may have passed this node; its clients of protocol V2 must resume.
  case missedEvents
  /// No answer with this number is needed any more: its socket has left.
  case dropped(Int)
}

/// A hub's connection to all nodes of its app, with the state of the app on all of them.
///
/// A member never calls its hub. Each change is one step for all nodes. Its effects wait as
/// ``ClusterNews``, in the order of the changes.
package protocol ClusterMember: AnyObject {
  var node: NodeRecord { get set }
  func adopt(_ setup: AppSetup)

  var connectionCount: Int { get }
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
  func publish(_ event: ChannelEvent, at now: Instant) -> Publication
  /// Handles due work: counts of large channels are sent every few seconds.
  func tick(at now: Instant)

  /// True if events get a place in their channel's stream.
  var keepsStreams: Bool { get }
  /// Begins to keep events, unless the limits say no; the first ``life`` names all streams.
  func beginStreams(life: String)
  func endStreams()
  /// Stages a fault: the window of a channel is over, or it has a new stream.
  func loseStream(of channel: String, isReset: Bool, at now: Instant)
}

extension ClusterMember {
  package var setup: AppSetup { node.setup }
  package func adopt(_ setup: AppSetup) { node.setup = setup }
  package func connect(_ socketID: String) { node.sockets.insert(socketID) }
  package func disconnect(_ socketID: String) { node.sockets.remove(socketID) }
  /// Covers any node, as far as this node knows.
  package func hasSocket(_ socketID: String) -> Bool { node.sockets.contains(socketID) }
  package var ownConnectionCount: Int { node.sockets.count }

  package func takeNews() -> [ClusterNews] { node.news.takeAll() }
  package func takeNotices() -> [WebhookNotice] { node.notices.takeAll() }
  /// Adds a notice for the app's webhooks, in the order of the changes.
  package func note(_ notice: WebhookNotice) {
    if setup.notes(notice) { node.notices.append(notice) }
  }

  package var keepsStreams: Bool { false }
  package func beginStreams(life: String) {}
  package func endStreams() {}
  package func loseStream(of channel: String, isReset: Bool, at now: Instant) {}

  func hasRoom(for channel: String, limit: Int) -> Bool {
    channelCount < limit || isOccupied(channel)
  }
}

/// State of one node that every kind of member keeps, with the news and notices for its hub.
package struct NodeRecord {
  package internal(set) var setup: AppSetup
  package fileprivate(set) var sockets = NameSet()
  package private(set) var users = NameTable<Int>()
  fileprivate var news: [ClusterNews] = []
  fileprivate var notices: [WebhookNotice] = []
  /// Channels whose counts wait for the next interval.
  private var lateCounts = NameSet()
  private var lastCounts: Instant?

  /// Maximum number of a channel's subscribers that is sent after each change.
  private static let promptCount = 100
  /// Minimum time between two counts of channels with more subscribers.
  package static let countInterval = Duration.seconds(5)

  package init(_ setup: AppSetup) { self.setup = setup }

  package mutating func add(_ item: ClusterNews) { news.append(item) }

  package mutating func tell(_ channel: String, _ message: String, except socketID: String?) {
    news.append(.message(.channel(channel, SharedFrame(message), except: socketID)))
  }

  // MARK: Users

  package mutating func signIn(_ userID: String) -> Bool {
    users[userID, default: 0] += 1
    return users[userID] == 1
  }

  /// Returns true for the user's last connection; `nil` for an unknown user.
  package mutating func signOut(_ userID: String) -> Bool? {
    guard let count = users[userID] else { return nil }
    users[userID] = count == 1 ? nil : count - 1
    return count == 1
  }

  // MARK: Counts

  /// Notes a changed number of subscribers; returns true if the caller must send it at once.
  ///
  /// The number of a large channel comes from ``takeDueCounts(at:)`` later. Numbers of empty
  /// channels, and of channels whose counts are not sent, are ignored.
  package mutating func isCountDue(_ channel: String, _ count: Int) -> Bool {
    guard count > 0, setup.tellsCount(of: channel) else { return false }
    if count > Self.promptCount { lateCounts.insert(channel) } else { lateCounts.remove(channel) }
    return count <= Self.promptCount
  }

  /// Returns the channels whose numbers of subscribers must be sent now, sorted.
  package mutating func takeDueCounts(at now: Instant) -> [String] {
    guard !lateCounts.isEmpty else { return [] }
    if let lastCounts, lastCounts.duration(to: now) < Self.countInterval { return [] }
    lastCounts = now
    defer { lateCounts.removeAll() }
    return lateCounts.sorted
  }
}

/// The nodes of other processes that share a server's apps.
package protocol Cluster: AnyObject {
  /// Returns the member for an app: the earlier one unless it was given up, else a new one.
  func place(for setup: AppSetup) -> any ClusterMember
  func giveUp(_ place: any ClusterMember)
  var failure: String? { get }
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

  /// Serial of an event, if its channel's stream is kept.
  var serial: Int? { if case .channel(_, let frame, _) = self { frame.place?.serial } else { nil } }
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
