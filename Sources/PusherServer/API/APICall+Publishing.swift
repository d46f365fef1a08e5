internal import PusherCore

// The calls that send events: `POST /apps/ID/events` and `/apps/ID/batch_events`.
extension APICall {
  private struct Event {
    let name: String
    let channels: [String]
    /// A string, or another value that the dialect allows.
    let data: JSONValue
    let socketID: String?
    let info: ChannelInfo
  }

  /// One event for up to a hundred channels.
  func event() throws(HTTPAnswer) -> JSONValue {
    let value = try object()
    if let refusal = dialect.answers.refusal(ofEvent: value) { throw refusal }
    let event = try checkedEvent(value)
    publish(event)
    guard !event.info.isEmpty, dialect.has(.answersInfo) else { return dialect.done }
    let channels = event.channels.map { channel in
      JSONValue.Member(
        channel, .object(attributes(of: channel, event.info)))
    }
    return .object([.init("channels", .object(channels))])
  }

  /// Up to ten events, each for one channel; the answer has an entry for each when one asked for information.
  func batch() throws(HTTPAnswer) -> JSONValue {
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
    for event in events { publish(event) }
    guard events.contains(where: { !$0.info.isEmpty }), dialect.has(.answersInfo) else {
      return dialect.batchDone
    }
    let entries = events.map { event in
      JSONValue.object(
        event.channels.first.map { attributes(of: $0, event.info) } ?? [])
    }
    return .object([.init("batch", .array(entries))])
  }

  /// An event for all connections of one user.
  func userEvent() throws(HTTPAnswer) -> JSONValue {
    guard case .object(let members) = try object() else { return .object([]) }
    let channel = JSONValue.Member("channel", .string(UserChannel.name(userID: path[1])))
    let others = members.filter { $0.name != "channels" && $0.name != "channel" }
    publish(try checkedEvent(.object(others + [channel])))
    return dialect.done
  }

  /// Ends all connections of one user.
  func terminate() -> JSONValue {
    hub.terminateConnections(userID: path[1], at: now)
    return dialect.done
  }

  private func publish(_ event: Event) {
    for channel in event.channels {
      hub.publish(
        name: event.name, channel: channel, data: event.data, except: event.socketID, at: now)
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
    let data = try checkedData(value["data"])
    return Event(
      name: name, channels: try checkedChannels(value), data: data,
      socketID: try checkedSocketID(value["socket_id"]), info: ChannelInfo(value["info"]?.text))
  }

  private func checkedSocketID(_ value: JSONValue?) throws(HTTPAnswer) -> String? {
    guard let value, value != .null, dialect.has(.checksExcludedSocket) else { return value?.text }
    guard let id = value.text, SocketID.isValid(id) else {
      throw .refusal(400, "Invalid socket_id: it is two numbers with a dot")
    }
    return id
  }

  private func checkedData(_ data: JSONValue?) throws(HTTPAnswer) -> JSONValue {
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
    return data
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
