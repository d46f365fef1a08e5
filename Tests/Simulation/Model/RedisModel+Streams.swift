import PusherCluster

// The operations on streams, by the rules of cluster.lua.
extension RedisModel {
  mutating func beginStreams(_ call: RedisModelCall) -> RedisReply {
    data.remove(call.key("probe"))
    let (streams, life, ready) = (call.key("streams"), call.key("life"), call.key("ready"))
    let time = call.number("milliseconds")
    if !data.has(streams) {
      data.set(streams, to: call["life"])
      data.remove(ready)
      data.remove(life)
      publish(RedisRow(.kind("v")).bytes, on: call["bus"])
    }
    _ = data.add(call.name("node"), to: ready)
    data.setExpiry(of: ready, to: now + 2 * time)
    data.setExpiry(of: streams, to: now + time)
    let nodes = data.sets[call.key("nodes")] ?? []
    if !nodes.isSubset(of: data.sets[ready] ?? []), !data.has(life) { return .integer(0) }
    data.set(life, to: data.strings[streams] ?? [], until: now + time)
    return .integer(1)
  }

  mutating func publish(_ call: RedisModelCall) -> RedisReply {
    if !call["event"].isEmpty {
      let expiry = call.optionalNumber("milliseconds").map { now + $0 }
      data.remove(call.key("event"))
      data.set(call.key("event"), to: call["event"], until: expiry)
    }
    var row = RedisRow(
      .kind("m"), call["channel"], call["kind"], call["socket"], call["text"])
    if let life = data.strings[call.key("life")] {
      row.append(streamID(life, call))
      let serial = data.increment(Self.serial, of: call.key("place"), by: 1)
      data.append(call["text"], serial, to: call.key("stream"), at: now)
      data.setExpiry(of: call.key("stream"), to: now + call.number("window"))
      row.append(serial)
    }
    return .integer(publish(row.bytes, on: call["bus"]))
  }

  mutating func replay(_ call: RedisModelCall) -> RedisReply {
    guard let life = data.strings[call.key("life")] else { return .array([]) }
    let id = streamID(life, call)
    let serial = data.field(Self.serial, of: call.key("place"))?.number ?? 0
    let events = (data.streams[call.key("stream")] ?? []).suffix(Int(call.number("limit")))
    return .array(
      [.bytes(id), .integer(serial), .integer(now)]
        + events.reversed().flatMap { [.integer($0.serial), .integer($0.time), .bytes($0.text)] })
  }

  private static let serial = RedisName(Array("serial".utf8))
  private static let id = RedisName(Array("id".utf8))

  private mutating func streamID(_ life: [UInt8], _ call: RedisModelCall) -> [UInt8] {
    let place = call.key("place")
    let own = life + [UInt8(ascii: "-")]
    var id = data.field(Self.id, of: place)?.bytes ?? []
    if !id.starts(with: own) {
      data.remove(place)
      data.remove(call.key("stream"))
      id = own + Array(String(data.increment(call.key("streamed"))).utf8)
      data.setField(Self.id, of: place, to: .text(id))
    }
    data.setExpiry(of: place, to: now + 86_400_000)
    return id
  }
}
