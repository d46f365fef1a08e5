#if Redis
  internal import PusherCore

  /// What one node knows of a channel that its sockets are subscribed to.
  final class RedisChannel {
    /// How many sockets are subscribed.
    private(set) var count = 0
    /// How many wait for the answer.
    var waiting = 0
    /// The members with connections here, on presence channels.
    private(set) var members = NameTable<(member: Member, connections: Int)>()
    /// The members as the sockets here were told.
    var known: NameSet?
    /// Whether Redis has confirmed that the node listens to it.
    var isFollowed = false
    private var isAsked = false

    func add(_ member: Member?) {
      count += 1
      guard let member else { return }
      members[member.userID, default: (member, 0)].connections += 1
    }

    func remove(_ userID: String?) {
      count -= 1
      guard let userID, let entry = members[userID] else { return }
      members[userID] = entry.connections == 1 ? nil : (entry.member, entry.connections - 1)
    }

    /// Whether Redis must be asked now to send what is published.
    func beginFollowing() -> Bool {
      defer { isAsked = true }
      return !isAsked
    }

    /// It was listened to before anything else.
    func noteFollowed() { (isFollowed, isAsked) = (true, true) }

    /// The connection is lost: it has to be followed anew.
    func forgetLink() {
      (isFollowed, isAsked, waiting) = (false, false, 0)
    }
  }

  /// Who left while Redis could not be told, or did not know of them.
  ///
  /// There are no more of them than were counted in.
  struct RedisDepartures {
    struct Subscription {
      let channel: String
      /// The user, on presence channels.
      let member: Member?
    }

    var subscriptions: [Subscription] = []
    /// The users of sign-ins, once for each connection.
    var users: [String] = []

    var isEmpty: Bool { subscriptions.isEmpty && users.isEmpty }
  }

  /// Which of the published messages Redis has taken.
  struct PublishedCount {
    private var sent = 0
    private var answered = 0
    /// Those who wait for all messages up to a number.
    private var waiting: [Waiting] = []

    struct Waiting {
      fileprivate let number: Int
      fileprivate(set) var isTaken = true
      let done: (Bool) -> Void
    }

    mutating func add() { sent += 1 }

    /// Redis has answered once more, and maybe taken the message; answers those who need not wait any more.
    mutating func note(isTaken: Bool) -> [Waiting] {
      answered += 1
      if !isTaken { for index in waiting.indices { waiting[index].isTaken = false } }
      let over = waiting.prefix { $0.number <= answered }
      waiting.removeFirst(over.count)
      return Array(over)
    }

    /// Has `done` wait for what is on its way; false where nothing is.
    mutating func wait(_ done: @escaping (Bool) -> Void) -> Bool {
      guard sent > answered else { return false }
      waiting.append(Waiting(number: sent, done: done))
      return true
    }
  }

  extension JoinRequest {
    /// Whether the socket is subscribed already as the same user, so that it is only answered again.
    var isAgain: Bool { isSecond && formerUserID.isSame(as: member?.userID) }
  }
#endif
