internal import PusherCore
internal import PusherServer

/// The names of an app's keys and channels in Redis; a channel's names contain it in braces.
struct RedisKeys {
  private let prefix: [UInt8]

  /// - Parameter database: Is part of the names because Redis shares channels among databases.
  init(app: String, database: Int) {
    // Without escaping, the names of one app could begin like the names of another.
    let escaped = app.utf8.flatMap { byte -> [UInt8] in
      switch byte {
      case UInt8(ascii: ":"): Array("%3A".utf8)
      case UInt8(ascii: "%"): Array("%25".utf8)
      default: [byte]
      }
    }
    prefix = "pusher-cli:\(database):".utf8 + escaped + ":".utf8
  }

  func has(_ name: [UInt8]) -> Bool { name.starts(with: prefix) }

  /// Appends bytes, because joined texts would cost several times as much for each event.
  private func name(_ parts: String...) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(parts.reduce(prefix.count) { $0 + $1.utf8.count })
    bytes += prefix
    for part in parts { bytes.append(contentsOf: part.utf8) }
    return bytes
  }

  /// The keys of a channel, in the order of ``ClusterCall``.
  func channel(_ name: String) -> [[UInt8]] {
    ["nodes", "users", "members", "connections", "event"].map { self.name("{", name, "}:", $0) }
      + [departed, order]
  }

  func members(_ channel: String) -> [UInt8] { name("{", channel, "}:members") }

  /// Departures with delayed webhooks, by due time.
  var departed: [UInt8] { name("departed") }
  /// Number of the latest arrival or departure of a member.
  var order: [UInt8] { name("order") }

  func event(_ channel: String) -> [UInt8] { name("{", channel, "}:event") }
  func counted(_ channel: String) -> [UInt8] { name("{", channel, "}:counted") }
  func bus(_ channel: String) -> [UInt8] { name("{", channel, "}:bus") }

  /// The keys of numbered events; see `beginStreams` of the script.
  var streams: [UInt8] { name("streams") }
  var life: [UInt8] { name("streams:life") }
  var ready: [UInt8] { name("streams:ready") }
  /// The stream of a channel, in the order of ``ClusterCall``.
  func stream(_ channel: String) -> [[UInt8]] {
    [life, name("streams:last")] + ["stream", "place"].map { name("{", channel, "}:", $0) }
  }

  var nodes: [UInt8] { name("nodes") }
  /// Nodes whose entries are all in Redis.
  var enrolled: [UInt8] { name("nodes:enrolled") }
  /// The lease of a node; its value is the node's number of sockets.
  func lease(_ node: String) -> [UInt8] { name("node:", node) }
  /// Channels that may have subscribers on a node.
  func channels(of node: String) -> [UInt8] { name("node:", node, ":channels") }
  func users(of node: String) -> [UInt8] { name("node:", node, ":users") }
  /// Lock of the node that cleans up after a dead node.
  func reaping(_ node: String) -> [UInt8] { name("node:", node, ":reaped") }
  /// Remembers that a node's members were reported as gone.
  func gone(_ node: String) -> [UInt8] { name("node:", node, ":gone") }
  func probe(_ node: String) -> [UInt8] { name("node:", node, ":probe") }
  func answers(_ node: String) -> [UInt8] { name("node:", node, ":answers") }

  var users: [UInt8] { name("users") }
  /// Redis channel for messages about users, for all nodes.
  var usersBus: [UInt8] { name("users:bus") }
  var quotas: [[UInt8]] { [name("quota:events"), name("quota:bytes")] }
}

/// Messages between nodes and values in Redis: each field is its length, a colon and its bytes.
package enum RedisFields {
  package static func encode(_ fields: [String]) -> [UInt8] {
    // The length of a field has fewer than 20 digits.
    let bytes = ByteBuffer(capacity: fields.reduce(0) { $0 + $1.utf8.count + 20 })
    for field in fields {
      bytes.append(decimal: field.utf8.count)
      bytes.append(UInt8(ascii: ":"))
      bytes.append(field)
    }
    return bytes.array
  }

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
        let text = UTF8Validator.text(bytes[place..<place + length])
      else { return nil }
      fields.append(text)
      place += length
    }
    return fields
  }
}

extension Member {
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

extension CachedEvent {
  var stored: String { JSONWriter.text(["name": .string(name), "data": data]) }

  init?(stored text: String) {
    guard let value = try? JSONParser.parse(text), let name = value["name"]?.text,
      let data = value["data"]
    else { return nil }
    self.init(name: name, data: data)
  }
}
