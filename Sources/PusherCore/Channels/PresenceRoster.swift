/// A member of a presence channel.
public struct PusherPresenceChannelMember: Sendable, Equatable {
  /// The id as text, also when the server wrote a number.
  public var userId: String
  /// What the app told about the user; ``JSONValue/null`` when nothing.
  public var userInfo: JSONValue

  /// A member and its information.
  public init(userId: String, userInfo: JSONValue = .null) {
    self.userId = userId
    self.userInfo = userInfo
  }
}

/// The limits of a presence channel's member list.
package struct PresenceLimits: Sendable, Equatable {
  /// Members of one channel.
  package var members = 100_000
  /// Bytes of their ids and their information, as JSON.
  package var bytes = 16 << 20

  /// The limits; those of the program unless changed.
  package init() {}
}

/// Who is in a presence channel, in the order in which they came.
///
/// A member's information is kept as JSON text and parsed on demand, so that a list costs as much memory as its
/// message. Members past the limits are left out.
package struct PresenceRoster: Sendable, Equatable {
  private var infos = OrderedTable<String>()
  private var byteCount = 0
  private let limits: PresenceLimits
  /// Whether members were left out.
  package private(set) var isCut = false

  /// Nobody.
  package init(limits: PresenceLimits = PresenceLimits()) {
    self.limits = limits
  }

  /// How many members there are.
  package var count: Int { infos.count }

  /// The members in the order in which they came.
  package var members: [PusherPresenceChannelMember] {
    infos.elements.map {
      PusherPresenceChannelMember(userId: $0.name, userInfo: Self.value($0.value))
    }
  }

  /// The ids in the order in which they came.
  var ids: [String] { infos.elements.map(\.name) }

  /// The member with this id.
  package subscript(id: String) -> PusherPresenceChannelMember? {
    infos[id].map { PusherPresenceChannelMember(userId: id, userInfo: Self.value($0)) }
  }

  func contains(_ id: String) -> Bool { infos[id] != nil }

  private static func value(_ json: String) -> JSONValue {
    (try? JSONParser.parse(json)) ?? .null
  }

  /// Adds a member, or replaces its information; answers whether it is new and was kept.
  @discardableResult
  mutating func insert(_ id: String, _ info: JSONValue) -> Bool {
    insert(id, json: JSONWriter.text(info))
  }

  /// The same with the information as JSON text.
  @discardableResult
  mutating func insert(_ id: String, json: String) -> Bool {
    let former = infos[id]
    let cost = json.utf8.count + (former == nil ? id.utf8.count : -(former?.utf8.count ?? 0))
    guard former != nil || count < limits.members, byteCount + cost <= limits.bytes else {
      isCut = true
      return false
    }
    byteCount += cost
    infos[id] = json
    return former == nil
  }

  /// Removes a member; answers its information, `nil` for an unknown member.
  mutating func remove(_ id: String) -> PusherPresenceChannelMember? {
    guard let info = infos[id] else { return nil }
    infos[id] = nil
    byteCount -= info.utf8.count + id.utf8.count
    return PusherPresenceChannelMember(userId: id, userInfo: Self.value(info))
  }
}

extension PresenceRoster {
  /// The `presence` object as the protocol writes it: `count`, `ids`, `hash`.
  package var json: JSONValue {
    let members = members
    return .object([
      .init("count", .integer(count)),
      .init("ids", .array(members.map { .string($0.userId) })),
      .init("hash", .object(members.map { .init($0.userId, $0.userInfo) })),
    ])
  }
}
