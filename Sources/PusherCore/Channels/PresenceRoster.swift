/// A member of a presence channel.
public struct PusherPresenceChannelMember: Sendable, Equatable {
  /// The id as text, also when the server wrote a number.
  public var userId: String
  /// What the app told about the user; ``JSONValue/null`` when nothing.
  public var userInfo: JSONValue

  /// A member and what is known of it.
  public init(userId: String, userInfo: JSONValue = .null) {
    self.userId = userId
    self.userInfo = userInfo
  }
}

/// Who is in a presence channel, in the order in which they came.
public struct PresenceRoster: Sendable, Equatable {
  private var infos = OrderedTable<JSONValue>()

  /// Nobody.
  public init() {}

  /// How many members there are.
  public var count: Int { infos.count }

  /// The members in the order in which they came.
  public var members: [PusherPresenceChannelMember] {
    infos.elements.map { PusherPresenceChannelMember(userId: $0.name, userInfo: $0.value) }
  }

  /// The member with this id.
  public subscript(id: String) -> PusherPresenceChannelMember? {
    infos[id].map { PusherPresenceChannelMember(userId: id, userInfo: $0) }
  }

  /// The members that `data` of a `subscription_succeeded` lists.
  ///
  /// Tolerated are the shapes that servers send: a hash that is a list (PHP's empty or consecutive arrays), ids that
  /// are numbers, missing information, missing ids. What cannot be read is left out.
  init(subscriptionData data: JSONValue) {
    guard let presence = data["presence"] else { return }
    switch presence["hash"] {
    case .object(let members):
      for member in members { insert(member.name, member.value) }
    case .array(let infos):
      // PHP writes a list when the ids are 0, 1, 2 …
      for (index, info) in infos.enumerated() { insert(String(index), info) }
    default: break
    }
    let ids = presence["ids"]
    let listed = ids?.elements ?? ids?.members?.map(\.value) ?? []
    for id in listed.compactMap(\.identifier) where infos[id] == nil { insert(id, .null) }
  }

  /// Adds a member, or renews what is known of one; answers whether it is new.
  @discardableResult
  mutating func insert(_ id: String, _ info: JSONValue) -> Bool {
    let isNew = infos[id] == nil
    infos[id] = info
    return isNew
  }

  /// Removes a member; answers what was known of it, `nil` for one that was never seen.
  mutating func remove(_ id: String) -> PusherPresenceChannelMember? {
    guard let info = infos[id] else { return nil }
    infos[id] = nil
    return PusherPresenceChannelMember(userId: id, userInfo: info)
  }
}

extension PresenceRoster {
  /// The `presence` object as the protocol writes it: `count`, `ids`, `hash`.
  package var json: JSONValue {
    .object([
      .init("count", .integer(count)),
      .init("ids", .array(members.map { .string($0.userId) })),
      .init("hash", .object(members.map { .init($0.userId, $0.userInfo) })),
    ])
  }
}
