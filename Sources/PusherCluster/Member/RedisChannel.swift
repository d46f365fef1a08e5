internal import PusherCore
internal import PusherServer

final class RedisChannel {
  /// A counted join whose answer needs the list of members.
  struct Unlisted {
    let number: Int
    let request: JoinRequest
    /// Last event of a cache channel, as stored.
    let event: String
  }

  private(set) var count = 0
  /// Number of joins without an answer.
  var waiting = 0
  /// The members with connections on this node; empty except on presence channels.
  private(set) var members = NameTable<(member: Member, connections: Int)>()
  /// The members on all nodes, as the sockets on this node know them; `nil` before the first list.
  var view: MemberView?
  /// The list that is being read; `nil` while none is.
  var pages: MemberPages?
  var unlisted: [Unlisted] = []
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

  /// Notes a change while the list is being read: an arrival, or a departure without a member.
  func note(_ userID: String, _ number: Int, _ member: Member?) {
    pages?.note(userID, number, member)
  }

  /// True if no list is complete and up to date.
  var lacksList: Bool { view == nil || pages != nil }
  var isUnused: Bool { count == 0 && waiting == 0 && unlisted.isEmpty }

  /// Returns whether the node still has to subscribe to the channel in Redis.
  func beginFollowing() -> Bool {
    defer { isAsked = true }
    return !isAsked
  }

  /// Notes a subscription that came with the registration.
  func noteFollowed() { (isFollowed, isAsked) = (true, true) }
  func forgetLink() { (isFollowed, isAsked, waiting, pages) = (false, false, 0, nil) }
}
