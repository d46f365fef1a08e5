internal import PusherCore

/// An authentic call and its app; it is checked completely before it has an effect.
///
/// The answer may come later: what is asked of all nodes takes its time.
struct APICall {
  typealias Answer = (Result<JSONValue, HTTPAnswer>) -> Void

  /// The parts of the path after the app.
  let path: [String]
  let target: RequestTarget
  let body: [UInt8]
  let hub: Hub
  let dialect: Dialect
  var now: Instant
  /// Calls back in the loop's next turn; `nil` for a caller without a loop.
  var nextTurn: Applications.NextTurn?
}

// The calls that send events: `POST /apps/ID/events` and `/apps/ID/batch_events`.
extension APICall {
  private struct Event {
    let name: String
    let channels: [String]
    /// A string, or another value that the dialect allows.
    let data: JSONValue
    /// Of the data.
    let bytes: Int
    let socketID: String?
    let info: ChannelInfo
  }

  /// One event for up to a hundred channels.
  func event(_ answer: @escaping Answer) throws(HTTPAnswer) {
    let value = try object()
    if let refusal = dialect.answers.refusal(ofEvent: value) { throw refusal }
    let event = try checkedEvent(value)
    publish([event], answer) {
      guard !event.info.isEmpty, dialect.has(.answersInfo) else {
        return answer(.success(dialect.done))
      }
      facts(of: event.channels, answer) { facts in
        let channels = facts.map {
          JSONValue.Member($0.name, .object(attributes(of: $0, event.info)))
        }
        answer(.success(["channels": .object(channels)]))
      }
    }
  }

  /// Up to ten events, each for one channel; the answer has an entry for each when one asked for information.
  func batch(_ answer: @escaping Answer) throws(HTTPAnswer) {
    let value = try object()
    if let refusal = dialect.answers.refusal(ofBatch: value) { throw refusal }
    guard let elements = value["batch"]?.elements else {
      throw .refusal(400, "the body has no array called batch")
    }
    guard elements.count <= hub.limits.batch else {
      throw .refusal(
        400, "a batch has at most \(hub.limits.batch) events, this one \(elements.count)")
    }
    var events: [Event] = []
    for (index, element) in elements.enumerated() {
      do throws(HTTPAnswer) {
        events.append(try checkedEvent(element))
      } catch {
        throw .refusal(error.status, "event \(index + 1): \(error.body)")
      }
    }
    publish(events, answer) { [events] in
      guard events.contains(where: { !$0.info.isEmpty }), dialect.has(.answersInfo) else {
        return answer(.success(dialect.batchDone))
      }
      facts(of: events.flatMap { $0.channels.prefix(1) }, answer) { facts in
        let entries = zip(events, facts).map { event, facts in
          JSONValue.object(attributes(of: facts, event.info))
        }
        answer(.success(["batch": .array(entries)]))
      }
    }
  }

  /// An event for all connections of one user.
  func userEvent(_ answer: @escaping Answer) throws(HTTPAnswer) {
    let members = try object().members ?? []
    let channel = JSONValue.Member("channel", .string(UserChannel.name(userID: path[1])))
    let others = members.filter { $0.name != "channels" && $0.name != "channel" }
    publish([try checkedEvent(.object(others + [channel]))], answer) {
      answer(.success(dialect.done))
    }
  }

  /// Ends all connections of one user.
  func terminate(_ answer: @escaping Answer) {
    hub.terminateConnections(userID: path[1], at: now)
    answer(.success(dialect.done))
  }

  /// Publishes all of them, or none where the app has sent too much, which is answered then.
  private func publish(
    _ events: [Event], _ answer: @escaping Answer, whenDone: @escaping () -> Void
  ) {
    let count = events.reduce(0) { $0 + $1.channels.count }
    let bytes = events.reduce(0) { $0 + $1.channels.count * $1.bytes }
    hub.node.admit(events: count, bytes: bytes, at: now) { admission in
      switch admission {
      case .admitted: break
      case .overQuota(let reason): return answer(.failure(.refusal(403, reason)))
      case .unavailable: return answer(.failure(.unavailable))
      }
      for event in events {
        for channel in event.channels {
          hub.publish(
            name: event.name, channel: channel, data: event.data, except: event.socketID, at: now)
        }
      }
      hub.node.whenPublished { $0 ? whenDone() : answer(.failure(.unavailable)) }
    }
  }

  private func object() throws(HTTPAnswer) -> JSONValue {
    let text = try HTTPAnswer.text(ofBody: body)
    let value: JSONValue
    do throws(JSONError) {
      value = try JSONParser.parse(text)
    } catch {
      throw .refusal(400, "the body is \(error)")
    }
    guard case .object = value else { throw .refusal(400, "the body is not a JSON object") }
    return value
  }

  private func checkedEvent(_ value: JSONValue) throws(HTTPAnswer) -> Event {
    guard let name = value["name"]?.text else {
      throw .refusal(400, "the event has no name that is a string")
    }
    if let problem = dialect.answers.problem(inEvent: name) {
      throw .refusal(400, problem)
    }
    let (data, bytes) = try checkedData(value["data"])
    return Event(
      name: name, channels: try checkedChannels(value), data: data, bytes: bytes,
      socketID: try checkedSocketID(value["socket_id"]), info: ChannelInfo(value["info"]?.text))
  }

  private func checkedSocketID(_ value: JSONValue?) throws(HTTPAnswer) -> String? {
    guard let value, value != .null, dialect.has(.checksExcludedSocket) else { return value?.text }
    guard let id = value.text, SocketID.isValid(id) else {
      throw .refusal(400, "Invalid socket_id: it is two numbers with a dot")
    }
    return id
  }

  private func checkedData(
    _ data: JSONValue?
  ) throws(HTTPAnswer) -> (data: JSONValue, bytes: Int) {
    if let refusal = dialect.answers.refusal(ofData: data) { throw refusal }
    guard let data, data.text != nil || dialect.has(.acceptsEveryData) else {
      throw .refusal(400, "data must be a string; an object is sent as the string of its JSON")
    }
    let count = data.text?.utf8.count ?? JSONWriter.text(data).utf8.count
    guard count <= hub.limits.eventData else {
      throw .refusal(
        413,
        "The data content of this event has \(count) bytes and exceeds "
          + "the allowed maximum (\(hub.limits.eventData) bytes)")
    }
    return (data, count)
  }

  private func checkedChannels(_ value: JSONValue) throws(HTTPAnswer) -> [String] {
    let elements = value["channels"]?.elements ?? value["channel"].map { [$0] } ?? []
    let limit = hub.limits.channelsOfEvent
    guard !elements.isEmpty else {
      throw .refusal(400, "the event names no channel")
    }
    guard elements.count <= limit else {
      throw .refusal(
        400, "an event goes to at most \(limit) channels, this one to \(elements.count)")
    }
    var channels: [String] = []
    for element in elements {
      guard let name = element.text else {
        throw .refusal(400, "a channel's name is not a string")
      }
      if let problem = dialect.answers.problem(inChannel: name) {
        throw .refusal(400, "Invalid channel '\(name)': \(problem)")
      }
      guard !name.begins(with: "#") || UserChannel.userID(channelName: name) != nil else {
        throw .refusal(400, "Invalid channel '\(name)': a user's is \(UserChannel.prefix)ID")
      }
      channels.append(name)
    }
    let isEncrypted = channels.contains { dialect.answers.kind(of: $0) == .encrypted }
    guard !isEncrypted || channels.count == 1 else {
      throw .refusal(400, "an event for an encrypted channel can have no other channel")
    }
    return channels
  }
}

// The calls that read channels and users.
extension APICall {
  /// `GET /apps/ID/channels`: the occupied channels, those with a prefix if one is named.
  func channels(_ answer: @escaping Answer) throws(HTTPAnswer) {
    let prefix = target["filter_by_prefix"] ?? ""
    let info = ChannelInfo(target["info"])
    let isMixed = info.asks(for: "user_count") && !prefix.begins(with: "presence-")
    guard !isMixed || !dialect.has(.refusesMissingCounts) else {
      throw .refusal(400, "user_count needs a filter_by_prefix that begins with presence-")
    }
    hub.node.occupiedChannels(prefix: prefix) { names in
      guard let names else { return answer(.failure(.unavailable)) }
      list(names[...], info, ChannelList(), answer)
    }
  }

  /// Adds the channels to the list, 1,000 in each turn of the loop, and answers.
  ///
  /// Other clients are served between turns.
  private func list(
    _ names: ArraySlice<String>, _ info: ChannelInfo, _ list: ChannelList,
    _ answer: @escaping Answer
  ) {
    facts(of: Array(names.prefix(ChannelList.portion)), answer) { facts in
      // Skips channels that became empty after the names were read.
      for channel in facts where channel.subscriptions > 0 {
        let attributes =
          dialect.answers.listed(channel) ?? self.attributes(of: channel, info)
        list.members.append(.init(channel.name, .object(attributes)))
      }
      let rest = names.dropFirst(ChannelList.portion)
      guard !rest.isEmpty else {
        return answer(.success(["channels": .object(list.members)]))
      }
      guard let nextTurn else { return self.list(rest, info, list, answer) }
      nextTurn { now in
        var call = self
        call.now = now
        call.list(rest, info, list, answer)
      }
    }
  }

  /// `GET /apps/ID/channels/NAME`.
  func channel(_ answer: @escaping Answer) throws(HTTPAnswer) {
    let name = try checkedName()
    let info = ChannelInfo(target["info"])
    let isMissing = info.asks(for: "user_count") && dialect.answers.kind(of: name) != .presence
    guard !isMissing || !dialect.has(.refusesMissingCounts) else {
      throw .refusal(400, "user_count is only known of presence channels")
    }
    facts(of: [name], answer) { facts in
      let channel = facts.first ?? ChannelFacts(name: name)
      if let all = dialect.answers.attributes(of: channel) { return answer(.success(.object(all))) }
      let occupied = JSONValue.Member("occupied", .bool(channel.subscriptions > 0))
      answer(.success(.object([occupied] + attributes(of: channel, info))))
    }
  }

  /// `GET /apps/ID/channels/NAME/users`.
  func users(_ answer: @escaping Answer) throws(HTTPAnswer) {
    let name = try checkedName()
    let showsInfo = dialect.has(.tellsUserInfo) && target["with_user_info"] == "1"
    facts(of: [name], answer) { facts in
      let channel = facts.first ?? ChannelFacts(name: name)
      if let refusal = dialect.answers.refusal(ofUsersOf: channel) {
        return answer(.failure(refusal))
      }
      let users = channel.members.members.map { member in
        JSONValue.object(present: ["id": member.id, "user_info": showsInfo ? member.info : nil])
      }
      answer(.success(["users": .array(users)]))
    }
  }

  /// `GET /apps/ID/connections`: how many there are.
  func connections(_ answer: @escaping Answer) {
    answer(.success(["connections": .integer(hub.connectionCount)]))
  }

  /// Asks for the facts about channels; where they cannot be had that is the answer.
  private func facts(
    of channels: [String], _ answer: @escaping Answer, _ use: @escaping ([ChannelFacts]) -> Void
  ) {
    hub.node.facts(of: channels, at: now) { facts in
      guard let facts else { return answer(.failure(.unavailable)) }
      use(facts)
    }
  }

  /// The requested information about a channel.
  private func attributes(of channel: ChannelFacts, _ info: ChannelInfo) -> [JSONValue.Member] {
    var members: [JSONValue.Member] = []
    let isCounted = dialect.has(.countsEmptyChannels) || channel.subscriptions > 0
    let isPresence = dialect.answers.kind(of: channel.name) == .presence
    if info.asks(for: "user_count"), isPresence, isCounted {
      members.append(.init("user_count", .integer(channel.members.count)))
    }
    if info.asks(for: "subscription_count"), isCounted,
      !isPresence || dialect.has(.countsMembersTwice)
    {
      members.append(.init("subscription_count", .integer(channel.subscriptions)))
    }
    if info.asks(for: "cache"), let event = channel.cached {
      members.append(.init("cache", dialect.answers.cached(event, channel: channel.name)))
    }
    return members
  }

  /// The channel in the path.
  private func checkedName() throws(HTTPAnswer) -> String {
    guard let problem = dialect.answers.problem(inChannel: path[1]) else { return path[1] }
    throw .refusal(400, "Invalid channel: \(problem)")
  }
}

/// A list of channels that is built over several turns of the loop.
private final class ChannelList {
  /// How many channels are looked at in one turn of the loop.
  static let portion = 1000

  var members: [JSONValue.Member] = []
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
