internal import PusherCore

/// The calls that ask who is where.
struct InspectCall {
  private let hub: Hub

  init(_ hub: Hub) {
    self.hub = hub
  }

  /// `GET /apps/ID/channels`: the occupied channels, those with a prefix if one is named.
  func channels(_ target: RequestTarget) throws(APIRefusal) -> JSONValue {
    let prefix = target["filter_by_prefix"] ?? ""
    let info = ChannelInfo(target["info"])
    let isMixed = info.asks(for: "user_count") && !prefix.begins(with: "presence-")
    guard !isMixed || !hub.text.dialect.refusesMissingCounts else {
      throw APIRefusal(
        status: 400, reason: "user_count needs a filter_by_prefix that begins with presence-")
    }
    let members = hub.occupiedChannels.filter { $0.begins(with: prefix) }.map { name in
      JSONValue.Member(
        name,
        .object(
          hub.text.dialect.attributes(of: name, in: hub) ?? info.attributes(of: name, in: hub)))
    }
    return .object([.init("channels", .object(members))])
  }

  /// `GET /apps/ID/channels/NAME`.
  func channel(_ name: String, _ target: RequestTarget) throws(APIRefusal) -> JSONValue {
    try check(name)
    let info = ChannelInfo(target["info"])
    let dialect = hub.text.dialect
    let isMissing = info.asks(for: "user_count") && dialect.kind(of: name) != .presence
    guard !isMissing || !dialect.refusesMissingCounts else {
      throw APIRefusal(status: 400, reason: "user_count is only known of presence channels")
    }
    if let all = dialect.attributes(of: name, in: hub) { return .object(all) }
    let occupied = JSONValue.Member("occupied", .bool(hub.subscriptionCount(name) > 0))
    return .object([occupied] + info.attributes(of: name, in: hub))
  }

  /// `GET /apps/ID/channels/NAME/users`.
  func users(_ name: String, _ target: RequestTarget) throws(APIRefusal) -> JSONValue {
    try check(name)
    let dialect = hub.text.dialect
    if let refusal = dialect.usersRefusal(of: name, in: hub) { throw refusal }
    let showsInfo = dialect.tellsUserInfo && target["with_user_info"] == "1"
    let members = hub.members(of: name)
    let users = members.userIDs.map { userID in
      let info = showsInfo ? members.info(of: userID) : nil
      return JSONValue.object(
        [.init("id", members.id(of: userID))] + (info.map { [.init("user_info", $0)] } ?? []))
    }
    return .object([.init("users", .array(users))])
  }

  private func check(_ name: String) throws(APIRefusal) {
    guard let problem = hub.text.dialect.problem(inChannel: name) else { return }
    throw APIRefusal(status: 400, reason: "Invalid channel: \(problem)")
  }
}

/// What a call wants to know of channels: the `info` parameter.
struct ChannelInfo {
  private let names: [String]

  /// Names with commas between; unknown ones are passed over.
  init(_ list: String?) {
    names = (list ?? "").split(separator: ",").map { String($0.filter { $0 != " " }) }
  }

  var isEmpty: Bool { names.isEmpty }

  func asks(for name: String) -> Bool { names.contains(name) }

  /// What is asked for and known of a channel.
  func attributes(of channel: String, in hub: Hub) -> [JSONValue.Member] {
    var members: [JSONValue.Member] = []
    let dialect = hub.text.dialect
    let isCounted = dialect.countsEmptyChannels || hub.subscriptionCount(channel) > 0
    let isPresence = dialect.kind(of: channel) == .presence
    if asks(for: "user_count"), isPresence, isCounted {
      members.append(.init("user_count", .integer(hub.userIDs(channel).count)))
    }
    if asks(for: "subscription_count"), isCounted, !isPresence || dialect.countsMembersTwice {
      members.append(.init("subscription_count", .integer(hub.subscriptionCount(channel))))
    }
    if asks(for: "cache"), let data = hub.cachedData(channel) {
      let left = hub.cachedTimeLeft(channel).map { Int($0.components.seconds) }
      members.append(
        .init(
          "cache",
          .object(
            [.init("data", .string(data))] + (left.map { [.init("ttl", .integer($0))] } ?? []))))
    }
    return members
  }
}
