internal import PusherCore

/// Who is subscribed to one channel.
struct HubChannel {
  let kind: ChannelKind
  private(set) var subscribers: [ClientSession] = []
  /// Who is there, on presence channels.
  private(set) var members = MemberList()
  private var places: [ObjectIdentifier: Int] = [:]
  private var userIDs: [ObjectIdentifier: String] = [:]

  init(kind: ChannelKind) {
    self.kind = kind
  }

  /// Takes a subscriber in; true when `member` is a user who was not there.
  mutating func add(_ session: ClientSession, as member: Member?) -> Bool {
    let key = ObjectIdentifier(session)
    places[key] = subscribers.count
    subscribers.append(session)
    guard let member else { return false }
    userIDs[key] = member.userID
    return members.join(member)
  }

  /// Lets a subscriber go; the user who is no longer there with any connection.
  mutating func remove(_ session: ClientSession) -> Member? {
    let key = ObjectIdentifier(session)
    guard let place = places.removeValue(forKey: key) else { return nil }
    let last = subscribers.removeLast()
    if last !== session {
      subscribers[place] = last
      places[ObjectIdentifier(last)] = place
    }
    guard let userID = userIDs.removeValue(forKey: key) else { return nil }
    let member = Member(userID: userID, id: members.id(of: userID))
    return members.leave(userID) ? member : nil
  }

  /// As whom the session is subscribed to a presence channel.
  func userID(of session: ClientSession) -> String? {
    userIDs[ObjectIdentifier(session)]
  }
}
