internal import PusherCore
internal import PusherServer

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
  /// A new member that only its own socket knows, by the answer to its join, until the message to all has come.
  var unannounced: (userID: String, socketID: String)?
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

  /// Returns the socket that knows a member already; all learn of it now.
  func announce(_ userID: String) -> String? {
    guard let own = unannounced, own.userID.isSame(as: userID) else { return nil }
    unannounced = nil
    return own.socketID
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
