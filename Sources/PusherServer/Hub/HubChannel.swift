package import PusherCore

package struct Member: Sendable, Equatable {
  package let userID: String
  package let info: JSONValue?
  /// ID in messages: a string or a number.
  package let id: JSONValue

  package init(userID: String, info: JSONValue? = nil, id: JSONValue? = nil) {
    self.userID = userID
    self.info = info
    self.id = id ?? .string(userID)
  }
}

/// Members of a presence channel, each with its number of connections.
package struct MemberList: Sendable, Equatable {
  private struct Entry: Equatable {
    /// The member, as the user's first connection described it.
    let member: Member
    var connections = 1
  }

  private var entries = OrderedTable<Entry>()

  package init() {}

  package var count: Int { entries.count }
  package var members: [Member] { entries.elements.map(\.value.member) }
  package subscript(userID: String) -> Member? { entries[userID]?.member }

  /// Adds a connection; returns true for the user's first connection.
  package mutating func join(_ member: Member) -> Bool {
    if entries[member.userID] != nil {
      entries[member.userID]?.connections += 1
      return false
    }
    entries[member.userID] = Entry(member: member)
    return true
  }

  /// Removes a connection; returns the member if it was the last one.
  package mutating func leave(_ userID: String) -> Member? {
    guard let entry = entries[userID] else { return nil }
    guard entry.connections == 1 else {
      entries[userID]?.connections -= 1
      return nil
    }
    entries[userID] = nil
    return entry.member
  }

  /// The `presence` object: `ids`, `hash` and `count`.
  func json(omitsMissingInfo: Bool) -> JSONValue {
    let known = omitsMissingInfo ? members.filter { $0.info != nil } : members
    return [
      "ids": .array(members.map(\.id)),
      "hash": .object(known.map { .init($0.userID, $0.info ?? .null) }), "count": .integer(count),
    ]
  }
}

final class HubChannel {
  struct Place {
    fileprivate var index: Int
    /// User on a presence channel.
    let userID: String?
    /// The user's ID in messages to others.
    let memberID: JSONValue?
  }

  private(set) var subscribers: [any HubSession] = []
  private var places: [ObjectIdentifier: Place] = [:]

  /// Adds a subscriber, or changes its user.
  func put(_ session: any HubSession, userID: String?, memberID: JSONValue?) {
    let key = ObjectIdentifier(session)
    let index = places[key]?.index ?? subscribers.count
    places[key] = Place(index: index, userID: userID, memberID: memberID)
    if index == subscribers.count { subscribers.append(session) }
  }

  func remove(_ session: any HubSession) -> Place? {
    let key = ObjectIdentifier(session)
    guard let place = places.removeValue(forKey: key) else { return nil }
    let last = subscribers.removeLast()
    if last !== session {
      subscribers[place.index] = last
      places[ObjectIdentifier(last)]?.index = place.index
    }
    return place
  }

  func place(of session: any HubSession) -> Place? { places[ObjectIdentifier(session)] }
}
