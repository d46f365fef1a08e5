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

// Reads the member list of a subscription in place.
extension PresenceRoster {
  /// The members that the data of a `subscription_succeeded` lists, a string of JSON or JSON.
  ///
  /// It accepts what servers send: a hash that is a list (PHP's empty or consecutive arrays), ids that are numbers,
  /// missing information, missing ids. Members that cannot be read are left out.
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
    // The last of a name counts, as in JavaScript.
    var presence: ByteView?
    guard Self.isWhole(data) else { return }
    Self.eachMember(of: data) { if $0 == "presence" { presence = $1 } }
    guard let presence else { return }
    var hash: ByteView?
    var ids: ByteView?
    Self.eachMember(of: presence) { name, value in
      if name == "hash" { hash = value }
      if name == "ids" { ids = value }
    }
    if let hash { read(hash: hash) }
    if let ids { read(ids: ids) }
  }

  private mutating func read(hash: ByteView) {
    let scratch = ByteBuffer()
    var index = 0
    Self.eachMember(of: hash) { insert($0, json: Self.compact($1, scratch)) }
    // PHP writes a list when the ids are 0, 1, 2 …
    Self.eachElement(of: hash) {
      insert(String(index), json: Self.compact($0, scratch))
      index += 1
    }
  }

  private mutating func read(ids: ByteView) {
    let add = { (roster: inout PresenceRoster, value: ByteView) in
      guard let id = Self.identifier(value), !roster.contains(id) else { return }
      roster.insert(id, json: "null")
    }
    Self.eachElement(of: ids) { add(&self, $0) }
    Self.eachMember(of: ids) { add(&self, $1) }
  }

  /// The JSON without its white space; `null` for what is nested too deep to be a value.
  private static func compact(_ value: ByteView, _ scratch: ByteBuffer) -> String {
    scratch.removeAll()
    guard (try? JSONCompactor.copy(value, into: scratch)) != nil else { return "null" }
    return scratch.view.text
  }

  private static func identifier(_ value: ByteView) -> String? {
    guard value.count > 0 else { return nil }
    switch value[0] {
    case UInt8(ascii: "\""): return JSONString.decode(value[1..<(value.count - 1)])
    case UInt8(ascii: "-"), 0x30...0x39: return value.text
    default: return nil
    }
  }

  /// Whether this is one JSON value; only then its parts are read.
  private static func isWhole(_ view: ByteView) -> Bool {
    var cursor = JSONCursor(view)
    cursor.skipWhitespace()
    return (try? JSONSkipper.skipValue(&cursor)) != nil && (try? cursor.requireEnd()) != nil
  }

  /// Calls `body` with the name and value of every member of an object.
  private static func eachMember(of view: ByteView, _ body: (String, ByteView) -> Void) {
    each(of: view) { name, value in if let name { body(JSONString.decode(name), value) } }
  }

  /// Calls `body` with every element of an array.
  private static func eachElement(of view: ByteView, _ body: (ByteView) -> Void) {
    each(of: view) { name, value in if name == nil { body(value) } }
  }

  /// Of a value that has no parts there is none.
  private static func each(of view: ByteView, _ body: (ByteView?, ByteView) -> Void) {
    var cursor = JSONCursor(view)
    cursor.skipWhitespace()
    try? JSONSkipper.eachPart(&cursor, body)
  }
}
