internal import PusherCore
internal import PusherServer

final class RedisChannel {
  private(set) var count = 0
  var waiting = 0
  /// The members with connections on this node; empty except on presence channels.
  private(set) var members = NameTable<(member: Member, connections: Int)>()
  /// The members on all nodes, as the sockets on this node know them; `nil` before the first list.
  var view: MemberView?
  var pages: MemberPages?
  /// Counted joins whose answers need the list, each with the last event of a cache channel.
  var unlisted: [(number: Int, request: JoinRequest, event: String)] = []
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

  var lacksList: Bool { view == nil || pages != nil }
  var isUnused: Bool { count == 0 && waiting == 0 && unlisted.isEmpty }

  /// Returns whether the node still has to subscribe to the channel in Redis.
  func beginFollowing() -> Bool {
    defer { isAsked = true }
    return !isAsked
  }

  func noteFollowed() { (isFollowed, isAsked) = (true, true) }
  func forgetLink() { (isFollowed, isAsked, waiting, pages) = (false, false, 0, nil) }
}

/// The members of a presence channel, each with the number of the arrival.
///
/// Redis numbers all arrivals and departures. A list from Redis may be newer than a change that is
/// still on its way; the numbers tell.
struct MemberView {
  private(set) var list = MemberList()
  private var numbers = NameTable<Int>()

  fileprivate init(_ arrivals: [(number: Int, member: Member)]) {
    for (number, member) in arrivals { _ = add(member, number) }
  }

  /// Returns false if the user is there already.
  mutating func add(_ member: Member, _ number: Int) -> Bool {
    guard numbers[member.userID] == nil else { return false }
    numbers[member.userID] = number
    return list.join(member)
  }

  /// Returns the member; `nil` if the user is not there, or arrived after the departure.
  mutating func remove(_ userID: String, _ number: Int) -> Member? {
    guard let arrival = numbers[userID], arrival < number else { return nil }
    numbers[userID] = nil
    return list.leave(userID)
  }
}

/// The members of a presence channel while they are read in pages.
///
/// The pages have every member that stays. For the others the changes decide, which arrive in their
/// order meanwhile.
struct MemberPages {
  /// The last that is known of each user: the number, and the member or a departure.
  private var users = NameTable<(number: Int, member: Member?)>()

  /// Takes the entries of a page, except where a change is newer.
  mutating func take(_ page: HashPage) {
    for (userID, text) in page.entries {
      guard let fields = RedisFields.decode(Array(text.utf8)), fields.count == 2,
        let number = Int(fields[0]), number > users[userID]?.number ?? Int.min,
        let member = Member(stored: fields[1])
      else { continue }
      users[userID] = (number, member)
    }
  }

  /// Takes an arrival, or a departure without a member.
  mutating func note(_ userID: String, _ number: Int, _ member: Member?) {
    users[userID] = (number, member)
  }

  /// The members, in the order in which they arrived.
  var view: MemberView {
    let present = users.elements.compactMap { entry in
      entry.member.map { (number: entry.number, member: $0) }
    }
    return MemberView(present.sorted { $0.number < $1.number })
  }
}

struct HashPage {
  static let size = "100"

  let entries: [(name: String, value: String)]
  /// Cursor of the next page; `nil` after the last page.
  let next: String?

  init?(_ result: RedisResult) {
    guard case .success(.array(let parts)) = result, parts.count == 2,
      let cursor = parts[0].content, case .array(let values) = parts[1]
    else { return nil }
    let texts = values.map { String(decoding: $0.content ?? [], as: UTF8.self) }
    entries = stride(from: 0, to: texts.count - 1, by: 2).map { (texts[$0], texts[$0 + 1]) }
    let text = String(decoding: cursor, as: UTF8.self)
    next = text.isSame(as: "0") ? nil : text
  }
}
