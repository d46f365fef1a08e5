import PusherCluster

// The operations on leases, signed-in users and quotas, by the rules of cluster.lua.
extension RedisModel {
  func isLate(_ call: RedisModelCall) -> Bool {
    guard let end = call.optionalNumber("leaseEnd") else { return false }
    return now >= end
  }

  func isUnknown(_ call: RedisModelCall) -> Bool {
    data.sets[call.key("nodes")]?.contains(call.name("node")) != true
  }

  mutating func begin(_ call: RedisModelCall) -> RedisReply {
    let end = now + call.number("milliseconds")
    _ = data.add(call.name("node"), to: call.key("nodes"))
    data.set(call.key("lease"), to: call["content"], until: end)
    return .integer(end)
  }

  mutating func beat(_ call: RedisModelCall) -> RedisReply {
    let lease = call.key("lease")
    let time = call.number("milliseconds")
    guard !isLate(call), data.has(lease) else { return .integer(0) }
    let left = data.timeLeft(of: lease, at: now)
    if left > time { return .integer(now + left) }
    data.set(lease, to: call["content"], until: now + time)
    return .integer(now + time)
  }

  // MARK: Signed-in users

  mutating func signIn(_ call: RedisModelCall) -> RedisReply {
    let amount = call.number("connections")
    if isLate(call) || isUnknown(call) { return .integer(-1) }
    let (user, users) = (call.name("user"), call.key("users"))
    _ = data.increment(user, of: call.key("own"), by: amount)
    let isNew = data.increment(user, of: users, by: amount) == amount
    var answer = RedisRow(.kind("s"), call["request"])
    for watched in call.further where data.field(RedisName(watched), of: users) != nil {
      answer.append(watched)
    }
    publish(answer.bytes, on: call["answers"])
    if isNew, !call["came"].isEmpty {
      let news = RedisRow(.kind("w"), user.bytes, call["socket"], call["came"])
      publish(news.bytes, on: call["bus"])
    }
    return .integer(1)
  }

  mutating func signOut(_ call: RedisModelCall) -> RedisReply {
    let amount = call.number("connections")
    let (user, users, own) = (call.name("user"), call.key("users"), call.key("own"))
    if isLate(call) || data.field(user, of: own) == nil { return .integer(-1) }
    if data.increment(user, of: own, by: -amount) <= 0 { data.removeField(user, of: own) }
    if data.increment(user, of: users, by: -amount) > 0 { return .integer(0) }
    data.removeField(user, of: users)
    publish(RedisRow(.kind("w"), user.bytes, [], call["left"]).bytes, on: call["bus"])
    return .integer(1)
  }

  // MARK: Quotas

  mutating func admit(_ call: RedisModelCall) -> RedisReply {
    let quotas = [
      (call.key("events"), call.number("events"), call.optionalNumber("eventLimit")),
      (call.key("bytes"), call.number("bytes"), call.optionalNumber("byteLimit")),
    ]
    let (second, start) = (RedisName("s"), Array(String(now / 1000).utf8))
    for (index, (key, amount, limit)) in quotas.enumerated() {
      if data.field(second, of: key)?.bytes != start { data.remove(key) }
      let used = data.field(RedisName("n"), of: key)?.number ?? 0
      if let limit, amount > limit - used { return .integer(Int64(index + 1)) }
    }
    for (key, amount, _) in quotas {
      data.setField(second, of: key, to: .text(start))
      _ = data.increment(RedisName("n"), of: key, by: amount)
      data.setExpiry(of: key, to: now + 2000)
    }
    return .integer(0)
  }

  mutating func probe(_ call: RedisModelCall) -> RedisReply {
    data.remove(call.key("probe"))
    publish(Array("1:p".utf8), on: call["bus"])
    return .array([])
  }
}
