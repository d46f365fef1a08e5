internal import PusherCore

/// The calls that send events: `POST /apps/ID/events` and `/apps/ID/batch_events`.
///
/// Everything of a call is checked before anything of it is sent.
struct PublishCall {
  private let hub: Hub

  init(_ hub: Hub) {
    self.hub = hub
  }

  private struct Event {
    let name: String
    let channels: [String]
    /// A string, or what else the dialect lets through.
    let data: JSONValue
    let socketID: String?
    let info: ChannelInfo
  }

  /// One event for up to a hundred channels.
  func event(_ body: [UInt8]) throws(APIRefusal) -> JSONValue {
    let value = try object(body)
    if let refusal = dialect.eventRefusal(value) { throw refusal }
    let event = try checkedEvent(value)
    publish(event)
    guard !event.info.isEmpty, dialect != .soketi else { return dialect.done(.object([])) }
    let channels = event.channels.map { channel in
      JSONValue.Member(channel, .object(event.info.attributes(of: channel, in: hub)))
    }
    return .object([.init("channels", .object(channels))])
  }

  /// Up to ten events, each for one channel; the answer has an entry for each when one asked for information.
  func batch(_ body: [UInt8]) throws(APIRefusal) -> JSONValue {
    let value = try object(body)
    if let refusal = dialect.batchRefusal(value) { throw refusal }
    guard let elements = value["batch"]?.elements else {
      throw APIRefusal(status: 400, reason: "the body has no array called batch")
    }
    guard elements.count <= hub.limits.batch else {
      throw APIRefusal(
        status: 400,
        reason: "a batch has at most \(hub.limits.batch) events, this one \(elements.count)")
    }
    var events: [Event] = []
    for (index, element) in elements.enumerated() {
      do throws(APIRefusal) {
        events.append(try checkedEvent(element))
      } catch {
        let answer = error.answer
        throw APIRefusal(status: answer.status, reason: "event \(index + 1): \(answer.body)")
      }
    }
    for event in events { publish(event) }
    guard events.contains(where: { !$0.info.isEmpty }), dialect != .soketi else {
      return dialect.emptyBatch
    }
    let entries = events.map { event in
      JSONValue.object(
        event.channels.first.map { event.info.attributes(of: $0, in: hub) } ?? [])
    }
    return .object([.init("batch", .array(entries))])
  }

  /// An event for all connections of one user.
  func userEvent(_ userID: String, _ body: [UInt8]) throws(APIRefusal) -> JSONValue {
    guard case .object(let members) = try object(body) else { return .object([]) }
    let channel = JSONValue.Member("channel", .string(UserChannel.name(userID: userID)))
    let others = members.filter { $0.name != "channels" && $0.name != "channel" }
    publish(try checkedEvent(.object(others + [channel])))
    return dialect.done(.object([]))
  }

  private func publish(_ event: Event) {
    for channel in event.channels {
      hub.publish(name: event.name, channel: channel, data: event.data, except: event.socketID)
    }
  }

  private var dialect: Dialect { hub.text.dialect }

  private func object(_ body: [UInt8]) throws(APIRefusal) -> JSONValue {
    guard let text = String(validating: body, as: UTF8.self) else {
      throw APIRefusal(status: 400, reason: "the body is not UTF-8")
    }
    let value: JSONValue
    do throws(JSONError) {
      value = try JSONParser.parse(text)
    } catch {
      throw APIRefusal(status: 400, reason: "the body is \(error)")
    }
    guard case .object = value else {
      throw APIRefusal(status: 400, reason: "the body is not a JSON object")
    }
    return value
  }

  private func checkedEvent(_ value: JSONValue) throws(APIRefusal) -> Event {
    guard let name = value["name"]?.text else {
      throw APIRefusal(status: 400, reason: "the event has no name that is a string")
    }
    if let problem = dialect.problem(inEvent: name) {
      throw APIRefusal(status: 400, reason: problem)
    }
    let data = try checkedData(value["data"])
    return Event(
      name: name, channels: try checkedChannels(value), data: data,
      socketID: try checkedSocketID(value["socket_id"]), info: ChannelInfo(value["info"]?.text))
  }

  private func checkedSocketID(_ value: JSONValue?) throws(APIRefusal) -> String? {
    guard let value, value != .null, dialect.checksExcludedSocket else { return value?.text }
    guard let id = value.text, SocketID.isValid(id) else {
      throw APIRefusal(status: 400, reason: "Invalid socket_id: it is two numbers with a dot")
    }
    return id
  }

  private func checkedData(_ data: JSONValue?) throws(APIRefusal) -> JSONValue {
    if let refusal = dialect.dataRefusal(data) { throw refusal }
    guard let data, data.text != nil || dialect.acceptsEveryData else {
      throw APIRefusal(
        status: 400, reason: "data must be a string; an object is sent as the string of its JSON")
    }
    let count = data.text?.utf8.count ?? JSONWriter.text(data).utf8.count
    guard count <= hub.limits.eventData else {
      throw APIRefusal(
        status: 413,
        reason: "The data content of this event has \(count) bytes and exceeds "
          + "the allowed maximum (\(hub.limits.eventData) bytes)")
    }
    return data
  }

  private func checkedChannels(_ value: JSONValue) throws(APIRefusal) -> [String] {
    let elements = value["channels"]?.elements ?? value["channel"].map { [$0] } ?? []
    let limit = hub.limits.channelsOfEvent
    guard !elements.isEmpty else {
      throw APIRefusal(status: 400, reason: "the event names no channel")
    }
    guard elements.count <= limit else {
      throw APIRefusal(
        status: 400,
        reason: "an event goes to at most \(limit) channels, this one to \(elements.count)")
    }
    var channels: [String] = []
    for element in elements {
      guard let name = element.text else {
        throw APIRefusal(status: 400, reason: "a channel's name is not a string")
      }
      if let problem = dialect.problem(inChannel: name) {
        throw APIRefusal(status: 400, reason: "Invalid channel '\(name)': \(problem)")
      }
      guard !name.begins(with: "#") || UserChannel.userID(channelName: name) != nil else {
        throw APIRefusal(
          status: 400, reason: "Invalid channel '\(name)': a user's is \(UserChannel.prefix)ID")
      }
      channels.append(name)
    }
    let isEncrypted = channels.contains { dialect.kind(of: $0) == .encrypted }
    guard !isEncrypted || channels.count == 1 else {
      throw APIRefusal(
        status: 400, reason: "an event for an encrypted channel can have no other channel")
    }
    return channels
  }
}
