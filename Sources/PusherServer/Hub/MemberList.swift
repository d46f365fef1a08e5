package import PusherCore

/// Who a socket is on a presence channel.
package struct Member: Sendable, Equatable {
  package let userID: String
  /// What the app tells about the user; `nil` when nothing.
  package let info: JSONValue?
  /// The id as it is told to others: a string or a number.
  let id: JSONValue

  package init(userID: String, info: JSONValue? = nil, id: JSONValue? = nil) {
    self.userID = userID
    self.info = info
    self.id = id ?? .string(userID)
  }
}

/// The members of a presence channel, each with as many connections as it has.
package struct MemberList: Sendable, Equatable {
  private struct Entry: Equatable {
    let info: JSONValue?
    /// The id as the user's first connection brought it.
    let id: JSONValue
    var connections: Int
  }

  private var order: [String] = []
  private var entries = NameTable<Entry>()

  package init() {}

  /// How many users there are, however many connections they have.
  package var count: Int { order.count }

  /// The ids in the order in which the users joined.
  package var userIDs: [String] { order }

  /// What the app tells about a user.
  func info(of userID: String) -> JSONValue? { entries[userID]?.info }

  /// A user's id as it is told to others.
  func id(of userID: String) -> JSONValue { entries[userID]?.id ?? .string(userID) }

  package func contains(_ userID: String) -> Bool { entries[userID] != nil }

  /// Counts a connection in; true for the user's first.
  ///
  /// What the first one told about the user stays.
  package mutating func join(_ member: Member) -> Bool {
    if entries[member.userID] != nil {
      entries[member.userID]?.connections += 1
      return false
    }
    order.append(member.userID)
    entries[member.userID] = Entry(info: member.info, id: member.id, connections: 1)
    return true
  }

  /// Counts a connection out; true for the user's last.
  package mutating func leave(_ userID: String) -> Bool {
    guard let entry = entries[userID] else { return false }
    guard entry.connections == 1 else {
      entries[userID]?.connections -= 1
      return false
    }
    entries[userID] = nil
    order.removeAll { $0.isSame(as: userID) }
    return true
  }

  /// The `presence` object: `ids`, `hash` and `count`.
  var json: JSONValue {
    .object([
      .init("ids", .array(order.map(id))),
      .init("hash", .object(order.map { .init($0, entries[$0]?.info ?? .null) })),
      .init("count", .integer(count)),
    ])
  }
}
