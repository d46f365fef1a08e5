internal import PusherCore
internal import PusherServer

/// The names of an app's keys and channels in Redis.
///
/// The names of what belongs to one channel have its name between braces.
struct RedisKeys {
  private let prefix: String

  /// - Parameters:
  ///   - app: The app's id.
  ///   - database: The number of the database, since channels are the same in all of them.
  init(app: String, database: Int) {
    // So that no app's names begin as another's do.
    let escaped = app.utf8.flatMap { byte -> [UInt8] in
      switch byte {
      case UInt8(ascii: ":"): Array("%3A".utf8)
      case UInt8(ascii: "%"): Array("%25".utf8)
      default: [byte]
      }
    }
    prefix = "pusher-cli:\(database):" + String(decoding: escaped, as: UTF8.self) + ":"
  }

  /// Whether a name is one of this app.
  func has(_ name: [UInt8]) -> Bool { name.starts(with: prefix.utf8) }

  private func name(_ parts: String...) -> [UInt8] {
    Array((prefix + parts.joined()).utf8)
  }

  /// The keys of a channel, in the order of ``ClusterScript``.
  func channel(_ name: String) -> [[UInt8]] {
    ["nodes", "users", "members", "connections", "event", "order"].map {
      self.name("{", name, "}:", $0)
    } + [departed]
  }

  /// The departures that webhooks do not tell yet, by the time at which they will.
  var departed: [UInt8] { name("departed") }

  func event(_ channel: String) -> [UInt8] { name("{", channel, "}:event") }
  func counted(_ channel: String) -> [UInt8] { name("{", channel, "}:counted") }
  /// Where messages for a channel's subscribers are published.
  func bus(_ channel: String) -> [UInt8] { name("{", channel, "}:bus") }

  /// All nodes.
  var nodes: [UInt8] { name("nodes") }
  /// Those that have put into Redis what they have.
  var enrolled: [UInt8] { name("nodes:enrolled") }
  /// The lease of a node, which holds how many sockets it has.
  func lease(_ node: String) -> [UInt8] { name("node:", node) }
  /// The channels that a node may have subscribers on.
  func channels(of node: String) -> [UInt8] { name("node:", node, ":channels") }
  /// The connections of users that a node has.
  func users(of node: String) -> [UInt8] { name("node:", node, ":users") }
  /// Held by the node that cleans up after another.
  func reaping(_ node: String) -> [UInt8] { name("node:", node, ":reaped") }
  /// Tells for a while that a node's members were told as gone.
  func gone(_ node: String) -> [UInt8] { name("node:", node, ":gone") }
  /// Where a node tries what Redis allows it to do.
  func probe(_ node: String) -> [UInt8] { name("node:", node, ":probe") }
  /// Where a node gets its answers.
  func answers(_ node: String) -> [UInt8] { name("node:", node, ":answers") }

  /// The connections of each user.
  var users: [UInt8] { name("users") }
  /// Where word of users is published, for all nodes.
  var usersBus: [UInt8] { name("users:bus") }
  /// The events and the bytes of this second.
  var quotas: [[UInt8]] { [name("quota:events"), name("quota:bytes")] }
}

/// Messages between nodes, and values in Redis: a row of fields, each its length, a colon and its bytes.
package enum RedisFields {
  package static func encode(_ fields: [String]) -> [UInt8] {
    var bytes: [UInt8] = []
    for field in fields {
      bytes += Array("\(field.utf8.count):".utf8)
      bytes += Array(field.utf8)
    }
    return bytes
  }

  /// The fields; `nil` for bytes that are none.
  package static func decode(_ bytes: [UInt8]) -> [String]? {
    var fields: [String] = []
    var place = 0
    while place < bytes.count {
      var length = 0
      while place < bytes.count, bytes[place] != UInt8(ascii: ":") {
        guard bytes[place] &- 0x30 < 10, length <= bytes.count else { return nil }
        length = length * 10 + Int(bytes[place] &- 0x30)
        place += 1
      }
      place += 1
      guard place <= bytes.count, length <= bytes.count - place,
        let text = String(validating: bytes[place..<place + length], as: UTF8.self)
      else { return nil }
      fields.append(text)
      place += length
    }
    return fields
  }
}

extension Member {
  /// The member as Redis keeps it.
  var stored: String {
    JSONWriter.text(.object(present: ["user_id": .string(userID), "id": id, "info": info]))
  }

  init?(stored text: String) {
    guard let value = try? JSONParser.parse(text), let userID = value["user_id"]?.text else {
      return nil
    }
    self.init(userID: userID, info: value["info"], id: value["id"])
  }
}

extension MemberList {
  /// The members of a channel, from the users and what is known of each, in the order in which they joined.
  init(stored pairs: some Sequence<(user: String, value: String)>) {
    self.init()
    let members = pairs.compactMap { pair -> (Int, Member)? in
      guard let fields = RedisFields.decode(Array(pair.value.utf8)), fields.count == 3,
        let order = Int(fields[0]), let member = Member(stored: fields[1])
      else { return nil }
      return (order, member)
    }
    for (_, member) in members.sorted(by: { $0.0 < $1.0 }) { _ = join(member) }
  }
}

extension CachedEvents.Event {
  /// The event as Redis keeps it.
  var stored: String { JSONWriter.text(["name": .string(name), "data": data]) }

  init?(stored text: String) {
    guard let value = try? JSONParser.parse(text), let name = value["name"]?.text,
      let data = value["data"]
    else { return nil }
    self.init(name: name, data: data, expiry: nil)
  }
}
