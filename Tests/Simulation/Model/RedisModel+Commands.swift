import PusherCluster

// Commands that nodes send besides the operations.
extension RedisModel {
  /// Runs a command.
  ///
  /// Returns an error for an unknown command and for a wrong number of words.
  ///
  /// - Parameter connection: The ID of the sending connection.
  package mutating func run(
    _ words: [[UInt8]], at milliseconds: Int64, from connection: Int64 = 0
  ) -> RedisReply {
    begin(at: milliseconds)
    guard let first = words.first else { return .error("ERR no command") }
    let command = String(decoding: first, as: UTF8.self).uppercased()
    let names = words.dropFirst().map(RedisName.init)
    if names.isEmpty { return command == "PING" ? .status("PONG") : Self.wrongCount(command) }
    switch (command, names.count) {
    case ("INFO", 1): return .bytes(Array("# Server\r\nrun_id:\(runID)\r\n".utf8))
    case ("CLIENT", _): return client(words.dropFirst(), connection)
    case ("SUBSCRIBE", 1):
      subscribe(connection, to: names[0])
      return .array([.bytes(Array("subscribe".utf8)), .bytes(names[0].bytes), .integer(1)])
    case ("UNSUBSCRIBE", 1):
      unsubscribe(connection, from: names[0])
      return .array([.bytes(Array("unsubscribe".utf8)), .bytes(names[0].bytes), .integer(0)])
    case ("PUBLISH", 2): return .integer(publish(names[1].bytes, on: names[0].bytes))
    case ("PUBSUB", 2...) where words[1] == Array("NUMSUB".utf8):
      return .array(
        names.dropFirst().flatMap { [.bytes($0.bytes), .integer(receiverCount(of: $0))] })
    default: return runOnData(command, names)
    }
  }

  private mutating func runOnData(_ command: String, _ names: [RedisName]) -> RedisReply {
    let (key, rest) = (names[0], names.dropFirst())
    switch (command, names.count) {
    case ("SET", 2...): return set(key, rest)
    case ("GET", 1): return value(of: key)
    case ("MGET", _): return .array(names.map(value))
    case ("DEL", _): return .integer(names.sum { data.remove($0) })
    case ("EXISTS", _): return .integer(names.sum { data.has($0) })
    case ("SADD", 2...): return .integer(rest.sum { data.add($0, to: key) })
    case ("SREM", 2...): return .integer(rest.sum { data.take($0, from: key) })
    case ("SMEMBERS", 1), ("SUNION", _):
      return .array(union(of: names).map { .bytes($0.bytes) })
    case ("SCARD", 1): return .integer(Int64(union(of: names).count))
    case ("SISMEMBER", 2):
      return .integer(data.sets[key]?.contains(names[1]) == true ? 1 : 0)
    case ("HSCAN", 4):
      guard let cursor = UInt64(String(decoding: names[1].bytes, as: UTF8.self)) else {
        return .error("ERR invalid cursor")
      }
      let page = data.page(of: key, from: cursor, count: pageSize)
      return .array([
        .bytes(Array(String(page.next).utf8)),
        .array(page.entries.flatMap { [.bytes($0.field.bytes), .bytes($0.value.bytes)] }),
      ])
    case ("HGETALL", 1):
      return .array(
        data.entries(of: key).flatMap { [.bytes($0.field.bytes), .bytes($0.value.bytes)] })
    default: return Self.wrongCount(command)
    }
  }

  private func value(of key: RedisName) -> RedisReply {
    data.strings[key].map { .bytes($0) } ?? .null
  }

  private func union(of keys: [RedisName]) -> [RedisName] {
    keys.reduce(into: Set()) { $0.formUnion(data.sets[$1] ?? []) }.sorted()
  }

  private mutating func set(_ key: RedisName, _ words: ArraySlice<RedisName>) -> RedisReply {
    var rest = words.dropFirst()
    var (isNew, expiry): (Bool, Int64?) = (false, nil)
    while let option = rest.popFirst() {
      switch String(decoding: option.bytes, as: UTF8.self) {
      case "NX": isNew = true
      case "PX":
        guard let time = rest.popFirst().flatMap({ Int64(decimal: $0.bytes) }), time > 0 else {
          return .error("ERR value is not an integer or out of range")
        }
        expiry = now + time
      default: return .error("ERR syntax error")
      }
    }
    if isNew, data.has(key) { return .null }
    data.remove(key)
    data.set(key, to: words.first?.bytes ?? [], until: expiry)
    return .status("OK")
  }

  private mutating func client(_ words: ArraySlice<[UInt8]>, _ connection: Int64) -> RedisReply {
    let texts = words.map { String(decoding: $0, as: UTF8.self) }
    if texts == ["ID"] { return .integer(connection) }
    guard texts.count == 3, texts[0] == "KILL", texts[1] == "ID", let other = Int64(texts[2])
    else { return .error("ERR syntax error") }
    return .integer(close(other) ? 1 : 0)
  }

  private static func wrongCount(_ command: String) -> RedisReply {
    .error("ERR the model does not know '\(command.lowercased())' with so many words")
  }
}

extension Collection {
  fileprivate func sum(_ body: (Element) -> Bool) -> Int64 { reduce(0) { $0 + (body($1) ? 1 : 0) } }
}
