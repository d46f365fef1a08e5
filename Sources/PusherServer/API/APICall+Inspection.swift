internal import PusherCore

// The calls that read channels and users.
extension APICall {
  /// `GET /apps/ID/channels`: the occupied channels, those with a prefix if one is named.
  func channels() throws(HTTPAnswer) -> JSONValue {
    let prefix = target["filter_by_prefix"] ?? ""
    let info = ChannelInfo(target["info"])
    let isMixed = info.asks(for: "user_count") && !prefix.begins(with: "presence-")
    guard !isMixed || !dialect.has(.refusesMissingCounts) else {
      throw .refusal(400, "user_count needs a filter_by_prefix that begins with presence-")
    }
    let members = hub.occupiedChannels.filter { $0.begins(with: prefix) }.map { name in
      let attributes = dialect.answers.attributes(of: name, in: hub) ?? attributes(of: name, info)
      return JSONValue.Member(name, .object(attributes))
    }
    return .object([.init("channels", .object(members))])
  }

  /// `GET /apps/ID/channels/NAME`.
  func channel() throws(HTTPAnswer) -> JSONValue {
    let name = try checkedName()
    let info = ChannelInfo(target["info"])
    let isMissing = info.asks(for: "user_count") && dialect.answers.kind(of: name) != .presence
    guard !isMissing || !dialect.has(.refusesMissingCounts) else {
      throw .refusal(400, "user_count is only known of presence channels")
    }
    if let all = dialect.answers.attributes(of: name, in: hub) { return .object(all) }
    let occupied = JSONValue.Member("occupied", .bool(hub.subscriptionCount(name) > 0))
    return .object([occupied] + attributes(of: name, info))
  }

  /// `GET /apps/ID/channels/NAME/users`.
  func users() throws(HTTPAnswer) -> JSONValue {
    let name = try checkedName()
    if let refusal = dialect.answers.refusal(ofUsersOf: name, in: hub) { throw refusal }
    let showsInfo = dialect.has(.tellsUserInfo) && target["with_user_info"] == "1"
    let users = hub.members(of: name).members.map { member in
      let info = showsInfo ? member.info : nil
      return JSONValue.object(
        [.init("id", member.id)] + (info.map { [.init("user_info", $0)] } ?? []))
    }
    return .object([.init("users", .array(users))])
  }

  /// `GET /apps/ID/connections`: how many there are.
  func connections() -> JSONValue {
    .object([.init("connections", .integer(hub.connectionCount))])
  }

  /// The requested information about a channel.
  func attributes(of channel: String, _ info: ChannelInfo) -> [JSONValue.Member] {
    var members: [JSONValue.Member] = []
    let isCounted = dialect.has(.countsEmptyChannels) || hub.subscriptionCount(channel) > 0
    let isPresence = dialect.answers.kind(of: channel) == .presence
    if info.asks(for: "user_count"), isPresence, isCounted {
      members.append(.init("user_count", .integer(hub.members(of: channel).count)))
    }
    if info.asks(for: "subscription_count"), isCounted,
      !isPresence || dialect.has(.countsMembersTwice)
    {
      members.append(.init("subscription_count", .integer(hub.subscriptionCount(channel))))
    }
    if info.asks(for: "cache"), let (data, timeLeft) = hub.cached(channel, at: now) {
      let left = timeLeft.map { [JSONValue.Member("ttl", .integer(Int($0.components.seconds)))] }
      members.append(.init("cache", .object([.init("data", .string(data))] + (left ?? []))))
    }
    return members
  }

  /// The channel in the path.
  private func checkedName() throws(HTTPAnswer) -> String {
    guard let problem = dialect.answers.problem(inChannel: path[1]) else { return path[1] }
    throw .refusal(400, "Invalid channel: \(problem)")
  }
}

/// The `info` parameter of a call.
struct ChannelInfo {
  private let names: [String]

  /// Names with commas between; unknown ones are ignored.
  init(_ list: String?) {
    names = (list ?? "").split(separator: ",").map { String($0.filter { $0 != " " }) }
  }

  var isEmpty: Bool { names.isEmpty }

  func asks(for name: String) -> Bool { names.contains(name) }
}
