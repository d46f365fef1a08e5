/// A member of a presence channel.
public struct PusherPresenceChannelMember: Sendable, Equatable {
  /// The ID as text, even if the server wrote a number.
  public var userId: String
  /// The app's information about the user; ``JSONValue/null`` if there is none.
  public var userInfo: JSONValue

  /// Creates a member.
  public init(userId: String, userInfo: JSONValue = .null) {
    (self.userId, self.userInfo) = (userId, userInfo)
  }

  /// The `channel_data` to sign.
  var channelData: JSONValue {
    let info = userInfo == .null ? nil : userInfo
    return .object(present: ["user_id": .string(userId), "user_info": info])
  }
}

package struct PresenceLimits: Sendable, Equatable {
  package var members = 100_000
  /// Maximum size of IDs and information, in bytes of JSON.
  package var bytes = 16 << 20

  package init() {}
}

/// Members of a presence channel, in the order of arrival.
///
/// Their information is kept as JSON text, so that a list costs as much memory as its message.
/// Members past the limits are left out.
package struct PresenceRoster: Sendable, Equatable {
  private var infos = OrderedTable<String>()
  private var byteCount = 0
  private let limits: PresenceLimits
  package private(set) var isCut = false

  package init(limits: PresenceLimits = PresenceLimits()) { self.limits = limits }

  package var count: Int { infos.count }

  package var members: [PusherPresenceChannelMember] {
    infos.elements.map {
      PusherPresenceChannelMember(userId: $0.name, userInfo: Self.value($0.value))
    }
  }

  var ids: [String] { infos.elements.map(\.name) }

  package subscript(id: String) -> PusherPresenceChannelMember? {
    infos[id].map { PusherPresenceChannelMember(userId: id, userInfo: Self.value($0)) }
  }

  func contains(_ id: String) -> Bool { infos[id] != nil }
  private static func value(_ json: String) -> JSONValue { (try? JSONParser.parse(json)) ?? .null }

  /// Adds a member, or replaces its information; returns true if the member is new and was kept.
  @discardableResult mutating func insert(_ id: String, _ info: JSONValue) -> Bool {
    insert(id, json: JSONWriter.text(info))
  }

  @discardableResult mutating func insert(_ id: String, json: String) -> Bool {
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
      .init("count", .integer(count)), .init("ids", .array(members.map { .string($0.userId) })),
      .init("hash", .object(members.map { .init($0.userId, $0.userInfo) })),
    ])
  }
}

// Reads the member list in place.
extension PresenceRoster {
  /// Reads the data of a `subscription_succeeded`, a string of JSON or JSON.
  ///
  /// It accepts the shapes of real servers: a hash that is a list (PHP's empty or consecutive
  /// arrays), ids that are numbers, missing information, missing ids. Unreadable members go.
  init(_ envelope: Envelope, limits: PresenceLimits) {
    self.init(limits: limits)
    guard let token = envelope.dataToken else { return }
    guard let text = envelope.dataString else {
      read(data: token)
      return
    }
    let data = ByteBuffer(capacity: text.count)
    JSONString.decode(text, into: data)
    withExtendedLifetime(data) { read(data: $0.view) }
  }

  /// Reads one JSON object with a member `presence`.
  mutating func read(data: ByteView) {
    // The last member of a name counts, as in JavaScript.
    var presence: ByteView?
    guard Self.isWhole(data) else { return }
    Self.each(of: data) { if $0.map(JSONString.decode) == "presence" { presence = $1 } }
    guard let presence else { return }
    var hash: ByteView?
    var ids: ByteView?
    Self.each(of: presence) { name, value in
      let name = name.map(JSONString.decode)
      if name == "hash" { hash = value }
      if name == "ids" { ids = value }
    }
    if let hash { read(hash: hash) }
    if let ids { read(ids: ids) }
  }

  private mutating func read(hash: ByteView) {
    let scratch = ByteBuffer()
    var index = 0
    // PHP writes a list when the ids are 0, 1, 2 …
    Self.each(of: hash) { name, value in
      let id = name.map(JSONString.decode) ?? String(index)
      insert(id, json: Self.compact(value, scratch))
      index += 1
    }
  }

  private mutating func read(ids: ByteView) {
    Self.each(of: ids) { _, value in
      guard let id = Self.identifier(value), !contains(id) else { return }
      insert(id, json: "null")
    }
  }

  /// Returns the JSON without white space; `null` if it is nested too deep.
  private static func compact(_ value: ByteView, _ scratch: ByteBuffer) -> String {
    scratch.removeAll()
    guard (try? JSONCompactor.copy(value, into: scratch)) != nil else { return "null" }
    return scratch.view.text
  }

  private static func identifier(_ value: ByteView) -> String? {
    if let text = value.unquoted { return JSONString.decode(text) }
    return value.isNumber ? value.text : nil
  }

  /// Reports whether this is one JSON value; only then are its parts read.
  private static func isWhole(_ view: ByteView) -> Bool {
    var cursor = JSONCursor(view)
    cursor.skipWhitespace()
    return (try? cursor.skipValue()) != nil && (try? cursor.requireEnd()) != nil
  }

  /// Calls `body` with each element, or each member and its name.
  private static func each(of view: ByteView, _ body: (ByteView?, ByteView) -> Void) {
    var cursor = JSONCursor(view)
    cursor.skipWhitespace()
    try? cursor.eachPart(body)
  }
}
