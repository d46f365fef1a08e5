internal import PusherCore
internal import PusherServer

/// Where a member stands with Redis.
enum MemberState {
  /// The link has not been up yet.
  case connecting
  case registering(Registration)
  /// It is registered and waits until the others are back.
  case gathering(Gathering)
  /// It takes part: sockets get answers, and events are published.
  case active
  /// The link is lost, or Redis refuses something; with `retries` it registers again at the next sign of life.
  case lost(retries: Bool)
  /// It has left the others for good.
  case left
}

/// How far a registration has come.
enum Registration {
  /// So many channels are not listened to yet.
  case listening(missing: Int)
  /// It asks what Redis still has of it.
  case asking(Remains)
  /// Its entries are on their way to Redis; others may have stood on these channels.
  case entering(Remains, [String])
}

/// State of a node's former entries in Redis.
enum Remains: Sendable {
  /// They are there, so that the present ones are no news.
  case intact
  /// Another node has removed them and told it, so that all of them are news.
  case cleanedUp
  /// Redis was emptied: nobody was told that anything is gone.
  case lost
}

/// A wait for the other nodes, after a loss.
struct Gathering {
  /// Who is not back by then is gone.
  let end: Instant
  /// Number of nodes to wait for; `nil` for those that Redis knows.
  let wanted: Int?
  /// The counts of the look that is under way.
  var counts: [Int] = []
  /// When to look again.
  var nextLook: Instant
}

/// The names of a member in Redis.
struct Identity {
  /// Its name since it registered last.
  var id = ""
  /// When its lease ends unless it is renewed, in milliseconds by Redis' clock.
  var leaseEnd: Int64 = 0
  /// The last name under which all its entries were in Redis.
  var registeredID: String?
  /// Whether Redis may hold entries under the present name.
  var hasBegun = false
  /// Former names under which Redis may hold entries.
  var formerIDs: [String] = []
  /// Whether commands of earlier connections can no longer reach Redis.
  var isFenced = false
  /// Counts the registrations, so that answers to an earlier one are told apart.
  var registration = 0
  private var random: any RandomNumberGenerator

  /// - Parameter random: Draws the names.
  init(random: any RandomNumberGenerator) { self.random = random }

  /// Draws another name.
  mutating func renew() {
    id = String(random.next(), radix: 16) + String(random.next(), radix: 16)
  }
}

/// What a member knows of its own sockets.
struct Roster {
  var sockets = NameSet()
  var channels = NameTable<RedisChannel>()
  /// Number of connections of each signed-in user.
  var users = NameTable<Int>()
  var counts = SubscriptionCounts()
}

/// Connections of one user, or of none, on one channel.
struct RosterEntry: Sendable {
  let member: Member?
  let connections: Int
}

/// The sockets that wait for their answers.
struct WaitingSockets {
  /// What a socket waits for.
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
  /// Joins that wait until their channels are listened to, in their order.
  var line = Fifo<(channel: RedisChannel, number: Int)>()
  /// Above this number of requests those of sockets that have left are dropped.
  var dropsAt = 1024
}

/// The questions of calls that wait, and the events that Redis has not taken yet.
struct WaitingCalls {
  /// The facts of several channels, as far as they have come.
  struct Facts {
    var missing: Int
    var known: [ChannelFacts] = []
    var isKnown = true
    /// Whether only the names of occupied channels are wanted.
    let wantsNames: Bool
  }

  var lastNumber = 0
  var facts: [Int: Facts] = [:]
  /// Events that were sent to Redis, and answered by it.
  private var sent = 0
  private var answered = 0
  /// Those who wait for all events up to a number.
  private var waiting: [(event: Int, number: Int, isTaken: Bool)] = []

  mutating func nextNumber() -> Int {
    lastNumber += 1
    return lastNumber
  }

  mutating func notePublished() { sent += 1 }

  /// Notes an answer of Redis.
  ///
  /// Returns those who need not wait any more, and whether their events were taken.
  mutating func noteAnswer(isTaken: Bool) -> [(number: Int, isTaken: Bool)] {
    answered += 1
    if !isTaken { for index in waiting.indices { waiting[index].isTaken = false } }
    let over = waiting.prefix { $0.event <= answered }
    waiting.removeFirst(over.count)
    return over.map { ($0.number, $0.isTaken) }
  }

  /// Has a call wait for the events that are on their way.
  ///
  /// Returns its number; `nil` where there are none.
  mutating func waitForEvents() -> Int? {
    guard sent > answered else { return nil }
    let number = nextNumber()
    waiting.append((sent, number, true))
    return number
  }
}

/// Who has left.
struct Departures {
  struct Subscription {
    let channel: String
    /// The user, on presence channels.
    let member: Member?
  }

  /// A departure whose webhook is delayed.
  struct Held {
    let channel: String
    /// `nil` for the last subscriber of a channel.
    let userID: String?
    let due: Instant
  }

  /// Those that Redis could not be told of, or that it did not know; not more than were counted in.
  var subscriptions: [Subscription] = []
  /// The users of sign-ins, once for each connection.
  var users: [String] = []
  /// Number of departures that Redis has not answered yet.
  var unanswered = 0
  /// The same for each channel.
  var unansweredOn = NameTable<Int>()
  /// Channels from which somebody may not be counted out, since the last registration.
  var doubtful = NameSet()
  var held: [Held] = []
  /// When Redis was asked for those that are due, until it answers.
  var askedAt: Instant?
  /// Whether the member leaves the others as soon as all departures are answered.
  var endsMembership = false

  var isEmpty: Bool { subscriptions.isEmpty && users.isEmpty }
}

/// The other nodes, as they were at the last look.
struct OtherNodes {
  /// Number of their sockets.
  var connections = 0
  /// Number of nodes, this one among them.
  var count = 1
}

/// What Redis refuses.
struct Trouble {
  /// The last refusal; `nil` after a successful registration.
  var refusal: String?
  /// The last error that was logged.
  var lastTold: String?
}
