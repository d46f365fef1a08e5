internal import PusherCore

struct APIEvent {
  let name: String
  let channels: [String]
  /// A string, or any other value if the dialect allows it.
  let data: JSONValue
  let bytes: Int
  let socketID: String?
  let info: ChannelInfo
}

extension APICall {
  package mutating func event() throws(HTTPAnswer) -> CallProgress {
    let value = try object()
    if let refusal = dialect.answers.refusal(ofEvent: value) { throw refusal }
    return publish([try checkedEvent(value)], .event)
  }

  /// The answer has an entry for each event if any event asks for information.
  mutating func batch() throws(HTTPAnswer) -> CallProgress {
    let value = try object()
    if let refusal = dialect.answers.refusal(ofBatch: value) { throw refusal }
    guard let elements = value["batch"]?.elements else {
      throw .refusal(400, "the body has no array called batch")
    }
    guard elements.count <= hub.limits.batch else {
      throw .refusal(
        400, "a batch has at most \(hub.limits.batch) events; this one has \(elements.count)")
    }
    var events: [APIEvent] = []
    for (index, element) in elements.enumerated() {
      do throws(HTTPAnswer) {
        events.append(try checkedEvent(element))
      } catch {
        throw .refusal(error.status, "event \(index + 1): \(error.body)")
      }
    }
    return publish(events, .batch)
  }

  mutating func userEvent() throws(HTTPAnswer) -> CallProgress {
    let members = try object().members ?? []
    let channel = JSONValue.Member("channel", .string(UserChannel.name(userID: path[1])))
    let others = members.filter { $0.name != "channels" && $0.name != "channel" }
    return publish([try checkedEvent(.object(others + [channel]))], .user)
  }

  mutating func terminate() throws(HTTPAnswer) -> CallProgress {
    guard hub.terminateConnections(userID: path[1], at: now) else { throw .unavailable }
    return ask(.published, .publication([], .user))
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

  private func checkedEvent(_ value: JSONValue) throws(HTTPAnswer) -> APIEvent {
    guard let name = value["name"]?.text else {
      throw .refusal(400, "the event's name is missing or not a string")
    }
    if let problem = dialect.answers.problem(inEvent: name) { throw .refusal(400, problem) }
    let (data, bytes) = try checkedData(value["data"])
    return APIEvent(
      name: name, channels: try checkedChannels(value), data: data, bytes: bytes,
      socketID: try checkedSocketID(value["socket_id"]), info: ChannelInfo(value["info"]?.text))
  }

  private func checkedSocketID(_ value: JSONValue?) throws(HTTPAnswer) -> String? {
    guard let value, value != .null, dialect.has(.checksExcludedSocket) else { return value?.text }
    guard let id = value.text, SocketID.isValid(id) else {
      throw .refusal(400, "Invalid socket_id: it must be two numbers joined by a dot")
    }
    return id
  }

  private func checkedData(_ data: JSONValue?) throws(HTTPAnswer) -> (data: JSONValue, bytes: Int) {
    if let refusal = dialect.answers.refusal(ofData: data) { throw refusal }
    guard let data, data.text != nil || dialect.has(.acceptsEveryData) else {
      throw .refusal(400, "data must be a string; encode an object as a JSON string")
    }
    let count = data.text?.utf8.count ?? JSONWriter.text(data).utf8.count
    guard count <= hub.limits.sizes.eventData else {
      throw .refusal(
        413,
        "The data content of this event has \(count) bytes and exceeds "
          + "the allowed maximum (\(hub.limits.sizes.eventData) bytes)")
    }
    return (data, count)
  }

  private func checkedChannels(_ value: JSONValue) throws(HTTPAnswer) -> [String] {
    let elements = value["channels"]?.elements ?? value["channel"].map { [$0] } ?? []
    let limit = hub.limits.channelsOfEvent
    guard !elements.isEmpty else { throw .refusal(400, "the event names no channel") }
    guard elements.count <= limit else {
      throw .refusal(
        400, "an event has at most \(limit) channels; this one has \(elements.count)")
    }
    var channels: [String] = []
    for element in elements {
      guard let name = element.text else { throw .refusal(400, "a channel name is not a string") }
      if let problem = dialect.answers.problem(inChannel: name) {
        throw .refusal(400, "Invalid channel '\(name)': \(problem)")
      }
      guard !name.begins(with: "#") || UserChannel.userID(channelName: name) != nil else {
        throw .refusal(
          400, "Invalid channel '\(name)': a user's channel is \(UserChannel.prefix)ID")
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

extension APICall {
  /// Returns the occupied channels, filtered by prefix if the call names one.
  mutating func channels() throws(HTTPAnswer) -> CallProgress {
    let prefix = target["filter_by_prefix"] ?? ""
    let info = ChannelInfo(target["info"])
    let isMixed = info.asks(for: "user_count") && !prefix.begins(with: "presence-")
    guard !isMixed || !dialect.has(.refusesMissingCounts) else {
      throw .refusal(400, "user_count needs a filter_by_prefix that begins with presence-")
    }
    return ask(.channels(prefix: prefix), .names(info))
  }

  mutating func channel() throws(HTTPAnswer) -> CallProgress {
    let name = try checkedName()
    let info = ChannelInfo(target["info"])
    let isMissing = info.asks(for: "user_count") && dialect.answers.kind(of: name) != .presence
    guard !isMissing || !dialect.has(.refusesMissingCounts) else {
      throw .refusal(400, "only presence channels have a user_count")
    }
    return ask(.facts([name]), .facts(.channel(info)))
  }

  mutating func users() throws(HTTPAnswer) -> CallProgress {
    ask(.facts([try checkedName()], withMembers: true), .facts(.users))
  }

  func connections() -> CallProgress { done(["connections": .integer(hub.connectionCount)]) }

  private func checkedName() throws(HTTPAnswer) -> String {
    guard let problem = dialect.answers.problem(inChannel: path[1]) else { return path[1] }
    throw .refusal(400, "Invalid channel: \(problem)")
  }
}
