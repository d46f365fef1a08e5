internal import PusherCore
internal import PusherServer

enum MemberState {
  case connecting
  case registering(Registration)
  /// The member is registered and waits for the other nodes.
  case gathering(Gathering)
  /// Sockets get answers, and events are published.
  case active
  /// The link is lost, or Redis refused a command; with `retries` the next beat registers again.
  case lost(retries: Bool)
  case left
}

enum Registration {
  /// The answers to `missing` subscriptions are due; those of `rest` are not sent yet.
  case listening(missing: Int, rest: ArraySlice<[UInt8]>)
  case asking(FormerEntries)
  /// The entries are on their way to Redis; former entries may have been on these channels too.
  case entering(FormerEntries, [String])
}

enum FormerEntries: Sendable {
  /// The entries are intact, so no arrival is reported.
  case intact
  /// Another node removed and reported the entries, so every arrival is reported.
  case cleanedUp
  /// Redis was emptied, and no departure was reported.
  case lost
}

struct Gathering {
  /// Nodes that are missing at this time count as gone.
  let end: Instant
  /// Number of nodes to wait for; `nil` for the number that Redis knows.
  let wanted: Int?
  var counts: [Int] = []
  var nextLook: Instant
}

struct Identity {
  var id = ""
  /// End of the lease, in milliseconds of Redis' clock.
  var leaseEnd: Int64 = 0
  /// The last name under which all entries were in Redis.
  var registeredID: String?
  var hasBegun = false
  var formerIDs: [String] = []
  /// True if commands of earlier connections can no longer reach Redis.
  var isFenced = false
  /// Number of the registration; answers for an earlier one are ignored.
  var registration = 0
  private var random: any RandomNumberGenerator

  init(random: any RandomNumberGenerator) { self.random = random }

  mutating func renew() { id = String(random.next(), radix: 16) + String(random.next(), radix: 16) }
}

struct Roster {
  var sockets = NameSet()
  var channels = NameTable<RedisChannel>()
  /// Number of connections of each signed-in user.
  var users = NameTable<Int>()
  var counts = SubscriptionCounts()
}

struct WaitingSockets {
  enum Request {
    case join(JoinRequest)
    case signIn(SignedInUser, socketID: String)

    var socketID: String {
      switch self {
      case .join(let wish): wish.socketID
      case .signIn(_, let socketID): socketID
      }
    }
  }

  var requests: [Int: Request] = [:]
  var line = Fifo<(channel: RedisChannel, number: Int)>()
  /// From this number of requests on, requests of closed sockets are dropped.
  var dropsAt = 1024
}

struct WaitingCalls {
  struct Facts {
    var missing: Int
    var known: [ChannelFacts] = []
    /// The members of each channel, if the question asks for them.
    var lists = NameTable<MemberPages>()
    var isKnown = true
    let wantsNames: Bool
  }

  var lastNumber = 0
  var facts: [Int: Facts] = [:]
  private var sent = 0
  private var answered = 0
  /// Calls that wait for the answers to all events up to a number.
  private var waiting: [(event: Int, number: Int, isTaken: Bool)] = []

  mutating func nextNumber() -> Int {
    lastNumber += 1
    return lastNumber
  }

  mutating func notePublished() { sent += 1 }

  /// Counts an answer, and returns the calls that need not wait any longer.
  mutating func noteAnswer(isTaken: Bool) -> [(number: Int, isTaken: Bool)] {
    answered += 1
    if !isTaken { for index in waiting.indices { waiting[index].isTaken = false } }
    let over = waiting.prefix { $0.event <= answered }
    waiting.removeFirst(over.count)
    return over.map { ($0.number, $0.isTaken) }
  }

  /// Returns the number of a call that waits for all sent events; `nil` if all are answered.
  mutating func waitForEvents() -> Int? {
    guard sent > answered else { return nil }
    let number = nextNumber()
    waiting.append((sent, number, true))
    return number
  }
}

struct Departures {
  struct Subscription {
    let channel: String
    let member: Member?
  }

  struct Held {
    let channel: String
    /// `nil` for the last subscriber of a channel.
    let userID: String?
    let due: Instant
  }

  /// Departures that Redis did not receive or did not accept.
  var subscriptions: [Subscription] = []
  /// The users of such sign-outs, once for each connection.
  var users: [String] = []
  /// Number of departures without an answer of Redis.
  var unanswered = 0
  var unansweredOn = NameTable<Int>()
  /// Channels on which a departure may be uncounted, since the last registration.
  var doubtful = NameSet()
  var held: [Held] = []
  var askedAt: Instant?
  /// True if the membership ends after the answers to all departures.
  var endsMembership = false
  /// True if the last node has taken the delayed departures from Redis.
  var areTaken = false

  var isEmpty: Bool { subscriptions.isEmpty && users.isEmpty }
}

struct OtherNodes {
  var connections = 0
  /// Number of nodes, with this one.
  var count = 1
}

struct RefusalRecord {
  var refusal: String?
  var lastTold: String?
}
