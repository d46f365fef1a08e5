internal import PusherCore
internal import PusherServer

final class RedisChannel {
  private(set) var count = 0
  /// Number of joins without an answer.
  var waiting = 0
  /// The members with connections on this node; empty except on presence channels.
  private(set) var members = NameTable<(member: Member, connections: Int)>()
  /// The members as the sockets on this node know them; `nil` before the first answer.
  var known: NameSet?
  /// A new member that only its own socket knows, until the message to all sockets.
  var unannounced: (userID: String, socketID: String)?
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

  /// Returns the socket that already knows the member, for a message to all others.
  func announce(_ userID: String) -> String? {
    guard let own = unannounced, own.userID.isSame(as: userID) else { return nil }
    unannounced = nil
    return own.socketID
  }

  /// Returns whether the node still has to subscribe to the channel in Redis.
  func beginFollowing() -> Bool {
    defer { isAsked = true }
    return !isAsked
  }

  /// Notes a subscription that came with the registration.
  func noteFollowed() { (isFollowed, isAsked) = (true, true) }
  func forgetLink() { (isFollowed, isAsked, waiting) = (false, false, 0) }
}
