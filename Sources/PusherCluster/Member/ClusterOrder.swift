internal import PusherCore
internal import PusherServer

/// A word of a command.
protocol RedisWord {
  var redisBytes: [UInt8] { get }
}

extension String: RedisWord {
  var redisBytes: [UInt8] { Array(utf8) }
}

extension Int: RedisWord {
  var redisBytes: [UInt8] { Array("\(self)".utf8) }
}

extension Int64: RedisWord {
  var redisBytes: [UInt8] { Array("\(self)".utf8) }
}

extension [UInt8]: RedisWord {
  var redisBytes: [UInt8] { self }
}

/// Something that a member wants from Redis.
package struct ClusterOrder {
  package enum Action: Equatable {
    case call(ClusterCall)
    case command([[UInt8]])
    /// Asks for the messages of a channel; the answer is ``RedisReply/null``.
    case subscribe([UInt8])
    /// Has no answer.
    case unsubscribe([UInt8])
  }

  package let action: Action
  let purpose: Purpose
  /// The registration that gave the order.
  let registration: Int

  /// What the answer is for.
  enum Purpose {
    /// Only a refusal matters; the text names the command.
    case check(String)
    case registration(RegistrationStep)
    case lease(LeaseStep)
    /// A channel is listened to.
    case followed(RedisChannel)
    /// Connections are counted in.
    case join(String)
    case signIn
    /// A connection is counted out.
    case leave(Departures.Subscription)
    case signOut(userID: String)
    /// The count of a large channel.
    case count(String)
    /// An event is published.
    case publish
    case question(Int, QuestionStep)
    /// The departures that are due, or `all`.
    case departures(all: Bool)
    /// A step of a cleaning.
    case cleaning(Int, CleaningStep)
    case reap(node: String)
    case nothing
  }

  enum RegistrationStep {
    case listening
    /// Whether the nodes that Redis knows include the one that this node was.
    case wasKnown
    /// Whether the one that this node was is gone, as others were told.
    case wasReaped
    case began
    case entered
    /// Who is registered anew, from a state of Redis.
    case rejoined(String, RosterEntry, Remains)
    case probe
    case gathering
  }

  enum LeaseStep {
    case sign
    case nodes
    case leases([String])
  }

  enum QuestionStep {
    case admission
    case facts(String)
    case nodes(prefix: String)
    case names(prefix: String)
  }

  enum CleaningStep {
    case mark
    case step
    case channels
    case users
    case channel(String)
  }
}

/// What waits to be taken from a member.
struct MemberOutbox {
  private var orders = Fifo<ClusterOrder>()
  private var news: [ClusterNews] = []
  private var notices: [WebhookNotice] = []
  /// Refusals since the last call, each the reason where it was not told before.
  private var refusals: [String?] = []

  mutating func add(_ order: ClusterOrder) { orders.append(order) }
  mutating func add(_ item: ClusterNews) { news.append(item) }
  mutating func add(_ notice: WebhookNotice) { notices.append(notice) }
  mutating func addRefusal(_ reason: String?) { refusals.append(reason) }

  mutating func nextOrder() -> ClusterOrder? { orders.popFirst() }

  mutating func takeNews() -> [ClusterNews] {
    guard !news.isEmpty else { return [] }
    defer { news.removeAll(keepingCapacity: true) }
    return news
  }

  mutating func takeNotices() -> [WebhookNotice] {
    guard !notices.isEmpty else { return [] }
    defer { notices.removeAll(keepingCapacity: true) }
    return notices
  }

  mutating func takeRefusals() -> [String?] {
    guard !refusals.isEmpty else { return [] }
    defer { refusals = [] }
    return refusals
  }
}
