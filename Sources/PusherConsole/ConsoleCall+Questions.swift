internal import PusherCore
internal import PusherServer

extension ConsoleCall {
  /// Maximum number of entries per answer.
  private static let pageLimit = 200

  /// Returns the occupied channels whose names contain a text.
  mutating func channels() throws(HTTPAnswer) -> CallProgress {
    let hub = try askedHub()
    return ask(hub, .channels(prefix: ""), .names(hub, try part()))
  }

  mutating func list(_ names: [String], _ part: ListPart, _ hub: Hub) -> CallProgress {
    let wanted = Array((target?["filter"] ?? "").utf8)
    let found = names.filter { $0.holds(wanted) }
    let shown = Array(found.dropFirst(part.offset).prefix(part.limit))
    return ask(hub, .facts(shown), .summaries(hub, total: found.count))
  }

  func summaries(_ facts: [ChannelFacts], _ total: Int, _ hub: Hub) -> HTTPAnswer {
    .json(["total": .integer(total), "channels": .array(facts.map { summary($0, hub) })])
  }

  private func summary(_ channel: ChannelFacts, _ hub: Hub) -> JSONValue {
    let isPresence = host.applications.dialect.naming.kind(of: channel.name) == .presence
    return .object(present: [
      "name": .string(channel.name), "subscriptions": .integer(channel.subscriptions),
      "users": isPresence ? .integer(channel.memberCount) : nil,
      "cached": .bool(channel.cached != nil),
    ])
  }

  mutating func channel() throws(HTTPAnswer) -> CallProgress {
    let hub = try askedHub()
    guard let name = target?["channel"] else { throw .failure(400, "the call names no channel") }
    return ask(hub, .facts([name], withMembers: true), .details(hub, channel: name))
  }

  func details(_ channel: ChannelFacts, _ hub: Hub) -> HTTPAnswer {
    let sockets = host.connections(ofApp: hub.application.id)
      .filter { $0.channels.contains(channel.name) }.map(\.socketID).sorted()
    let members = channel.members.members
    let listed = members.prefix(Self.pageLimit).map { member in
      JSONValue.object(present: ["user_id": .string(member.userID), "user_info": member.info])
    }
    let details = [
      JSONValue.Member("members", .array(listed)),
      .init("more_members", .integer(max(members.count - Self.pageLimit, 0))),
      .init("cached", channel.cached.map { ["data": .string($0.data)] } ?? .null),
      .init("sockets", .array(sockets.prefix(Self.pageLimit).map(JSONValue.string))),
      .init("more_sockets", .integer(max(sockets.count - Self.pageLimit, 0))),
    ]
    return .json(
      .object((summary(channel, hub).members ?? []).filter { $0.name != "cached" } + details))
  }

  /// Returns the sockets with a property that contains a text.
  func connections() throws(HTTPAnswer) -> HTTPAnswer {
    let hub = try askedHub()
    let part = try part()
    let wanted = Array((target?["filter"] ?? "").utf8)
    let wall = SystemClock.wall()
    let found = host.connections(ofApp: hub.application.id).filter { $0.holds(wanted) }
      .sorted { $0.age > $1.age }
    let shown = found.dropFirst(part.offset).prefix(part.limit)
    return .json([
      "total": .integer(found.count), "connections": .array(shown.map { $0.description(at: wall) }),
    ])
  }

  private func part() throws(HTTPAnswer) -> ListPart {
    func number(_ name: String, _ usual: Int, _ range: ClosedRange<Int>) throws(HTTPAnswer) -> Int {
      guard let text = target?[name] else { return usual }
      guard let number = Int(text), range.contains(number) else {
        throw .failure(
          400, "\(name) must be a number from \(range.lowerBound) to \(range.upperBound)")
      }
      return number
    }
    return ListPart(
      offset: try number("offset", 0, 0...1_000_000_000),
      limit: try number("limit", Self.pageLimit, 1...Self.pageLimit))
  }
}

struct ListPart {
  let offset: Int
  let limit: Int
}

extension ConnectionFacts {
  private static let channelLimit = 100

  /// Searches the socket ID, user ID, address and channels.
  fileprivate func holds(_ wanted: [UInt8]) -> Bool {
    guard !wanted.isEmpty else { return true }
    return socketID.holds(wanted) || userID?.holds(wanted) == true
      || peer?.description.holds(wanted) == true || channels.sorted.contains { $0.holds(wanted) }
  }

  fileprivate func description(at wall: WallTime) -> JSONValue {
    let names = channels.sorted
    let since = WallTime(
      millisecondsSince1970: wall.millisecondsSince1970 - age.wholeNanoseconds / 1_000_000)
    return .object(present: [
      "socket_id": .string(socketID), "address": peer.map { .string($0.description) },
      "since": .string(since.rfc3339), "user_id": userID.map { .string($0) },
      "channels": .array(names.prefix(Self.channelLimit).map(JSONValue.string)),
      "more_channels": .integer(max(names.count - Self.channelLimit, 0)),
      "received": .integer(received), "sent": .integer(sent), "queued_bytes": .integer(queuedBytes),
    ])
  }
}
