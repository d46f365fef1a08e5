import PusherCluster

// The operations on a channel, by the rules of cluster.lua.
extension RedisModel {
  mutating func join(_ call: RedisModelCall) -> RedisReply {
    let (counts, users) = (call.key("counts"), call.key("users"))
    let had = data.field(call.name("node"), of: counts)?.number ?? 0
    let has = call.number("has")
    if isLate(call) || isUnknown(call) || had < has { return .numbers(0, 0, 1) }
    let (amount, limit) = (call.number("connections"), call.number("limit"))
    let (isMember, user) = (call.isMember, call.name("user"))
    var row = RedisRow(.kind("j"), call["request"], call["channel"])
    if isMember, amount > 0, limit > 0, data.field(user, of: users) == nil,
      data.fieldCount(of: users) >= limit
    {
      row.append(Array("full".utf8))
      publish(row.bytes, on: call["answers"])
      return .numbers(0, 0, 0)
    }
    let before = total(call)
    var (first, new): (Int64, Int64) = (0, 0)
    if amount > 0 {
      if before == 0 { first = arrive(nil, call) }
      _ = data.increment(call.name("node"), of: counts, by: amount)
      if isMember { new = admit(user, amount, call["member"], call["socket"], call) }
    }
    let count = before + max(amount, 0)
    row.append(Array("ok".utf8))
    for number in [first, new, count] { row.append(number) }
    row.append(data.strings[call.key("event")] ?? [])
    publish(row.bytes, on: call["answers"])
    if amount > 0 { tell(count, call) }
    return .numbers(first, new, 0)
  }

  mutating func enter(_ call: RedisModelCall) -> RedisReply {
    if isLate(call) || isUnknown(call) { return .numbers(0, 1) }
    let before = total(call)
    var out = [before == 0 ? arrive(nil, call) : 0, 0]
    var amount: Int64 = 0
    var words = call.further
    while let word = words.popFirst() {
      guard let connections = Int64(decimal: word) else { preconditionFailure("no number") }
      amount += connections
      guard call.isMember, let user = words.popFirst(), let member = words.popFirst() else {
        continue
      }
      out.append(admit(RedisName(user), connections, member, [], call))
    }
    _ = data.increment(call.name("node"), of: call.key("counts"), by: amount)
    publish(RedisRow(.kind("e"), call["request"]).bytes, on: call["answers"])
    tell(before + amount, call)
    return .array(out.map { .integer($0) })
  }

  private mutating func admit(
    _ user: RedisName, _ amount: Int64, _ member: [UInt8], _ socket: [UInt8], _ call: RedisModelCall
  ) -> Int64 {
    _ = data.increment(field(of: user, call), of: call.key("byNode"), by: amount)
    guard data.increment(user, of: call.key("users"), by: amount) == amount else { return 0 }
    let change = arrive(user, call)
    var value = RedisRow()
    value.append(data.increment(call.key("order")))
    value.append(member)
    data.setField(user, of: call.key("members"), to: .text(value.bytes))
    let head = RedisRow(.kind("a"), call["channel"], socket, user.bytes)
    publish(head.bytes + value.bytes, on: call["bus"])
    return change
  }

  mutating func leave(_ call: RedisModelCall) -> RedisReply {
    let (node, counts) = (call.name("node"), call.key("counts"))
    let delay = call.optionalNumber("delay")
    if isLate(call) || data.field(node, of: counts) == nil { return .numbers(0, 0, -1) }
    remove(1, from: node, of: counts)
    var gone: Int64 = 0
    if call.isMember {
      let user = call.name("user")
      remove(1, from: field(of: user, call), of: call.key("byNode"))
      if drop(user, 1, call) { gone = hold(user, delay, call) }
    }
    let count = total(call)
    tell(count, call)
    if count > 0 { return .numbers(0, gone, count) }
    forgetChannel(call)
    return .numbers(hold(nil, delay, call), gone, 0)
  }

  mutating func reap(_ call: RedisModelCall) -> RedisReply {
    let delay = call.optionalNumber("delay")
    let (prefix, byNode) = (call["node"] + [UInt8(ascii: "|")], call.key("byNode"))
    let page = data.page(
      of: byNode, from: UInt64(bitPattern: call.number("cursor")), count: pageSize)
    let cursor = RedisReply.bytes(page.next == 0 ? [] : Array(String(page.next).utf8))
    var out: [RedisReply] = []
    var removed = 0
    for (field, value) in page.entries where field.bytes.starts(with: prefix) {
      data.removeField(field, of: byNode)
      removed += 1
      let user = RedisName(Array(field.bytes[prefix.count...]))
      if drop(user, value.number, call) {
        out += [.bytes(user.bytes), .integer(hold(user, delay, call))]
      }
      // The same page again, without what is gone.
      if removed == max(pageSize / 2, 1) {
        return .array([.integer(0), .bytes(call["cursor"])] + out)
      }
    }
    guard page.next == 0, data.removeField(call.name("node"), of: call.key("counts")) else {
      return .array([.integer(0), cursor] + out)
    }
    let count = total(call)
    tell(count, call)
    guard count == 0 else { return .array([.integer(0), cursor] + out) }
    forgetChannel(call)
    return .array([.integer(hold(nil, delay, call)), cursor] + out)
  }

  func facts(_ call: RedisModelCall) -> RedisReply {
    let event = call.key("event")
    return .array([
      .integer(total(call)), .bytes(data.strings[event] ?? []),
      .integer(data.timeLeft(of: event, at: now)),
      .integer(Int64(data.fieldCount(of: call.key("users")))),
    ])
  }

  mutating func keep(_ call: RedisModelCall) -> RedisReply {
    let time = call.optionalNumber("milliseconds")
    data.set(call.key("event"), to: call["event"], until: time.map { now + $0 })
    return .integer(publish(call["message"], on: call["bus"]))
  }

  mutating func tellCount(_ call: RedisModelCall) -> RedisReply {
    let mark = call.key("mark")
    let time = call.number("milliseconds")
    guard !data.has(mark) else { return .integer(0) }
    data.set(mark, to: [UInt8(ascii: "1")], until: now + time)
    let count = total(call)
    publishCount(count, call)
    return .integer(count)
  }

  // MARK: Departures

  mutating func takeDepartures(_ call: RedisModelCall) -> RedisReply {
    let departed = call.key("departed")
    let isAll = call["which"] == Array("all".utf8)
    let due = data.ranked(departed).prefix { isAll || $0.score <= now }.prefix(100)
    for (_, departure) in due { data.removeRanked(departure, of: departed) }
    return .array(due.map { .bytes($0.member.bytes) })
  }

  mutating func holdAgain(_ call: RedisModelCall) -> RedisReply {
    let delay = call.optionalNumber("delay")
    let user = call.isMember ? call.name("user") : nil
    let isThere = user.map { data.field($0, of: call.key("users")) != nil } ?? (total(call) > 0)
    return .integer(isThere ? 0 : hold(user, delay, call))
  }

  // MARK: Steps

  private func total(_ call: RedisModelCall) -> Int64 {
    data.entries(of: call.key("counts")).reduce(0) {
      let number = $1.value.number
      return (1...1_000_000_000).contains(number) ? $0 + number : $0
    }
  }

  private func departure(_ user: RedisName?, _ call: RedisModelCall) -> RedisName {
    RedisName(RedisRow(call["channel"], .kind(user == nil ? "v" : "m"), user?.bytes ?? []).bytes)
  }

  private mutating func hold(_ user: RedisName?, _ delay: Int64?, _ call: RedisModelCall) -> Int64 {
    let departed = call.key("departed")
    guard let delay, data.ranked(departed).count < 10_000 else { return 1 }
    data.rank(departure(user, call), of: departed, at: now + delay)
    return 2
  }

  private mutating func arrive(_ user: RedisName?, _ call: RedisModelCall) -> Int64 {
    data.removeRanked(departure(user, call), of: call.key("departed")) ? 2 : 1
  }

  private mutating func tell(_ count: Int64, _ call: RedisModelCall) {
    if !call["before"].isEmpty, (1...100).contains(count) { publishCount(count, call) }
  }

  private mutating func publishCount(_ count: Int64, _ call: RedisModelCall) {
    let text = call["before"] + Array(String(count).utf8) + call["after"]
    publish(RedisRow(.kind("m"), call["channel"], .kind("0"), [], text).bytes, on: call["bus"])
  }

  /// Removes connections of a user; publishes the departure and returns true if none is left.
  private mutating func drop(_ user: RedisName, _ amount: Int64, _ call: RedisModelCall) -> Bool {
    if data.increment(user, of: call.key("users"), by: -amount) > 0 { return false }
    data.removeField(user, of: call.key("users"))
    guard data.removeField(user, of: call.key("members")) else { return false }
    var row = RedisRow(.kind("r"), call["channel"], user.bytes)
    row.append(data.increment(call.key("order")))
    publish(row.bytes, on: call["bus"])
    return true
  }

  /// Subtracts from a field, and removes it with its last connection.
  private mutating func remove(_ amount: Int64, from field: RedisName, of key: RedisName) {
    if data.increment(field, of: key, by: -amount) <= 0 { data.removeField(field, of: key) }
  }

  private func field(of user: RedisName, _ call: RedisModelCall) -> RedisName {
    RedisName(call["node"] + [UInt8(ascii: "|")] + user.bytes)
  }

  private mutating func forgetChannel(_ call: RedisModelCall) {
    for name in ["counts", "users", "members", "byNode"] { data.remove(call.key(name)) }
  }
}

extension RedisReply {
  package static func numbers(_ numbers: Int64...) -> RedisReply {
    .array(numbers.map { .integer($0) })
  }
}
