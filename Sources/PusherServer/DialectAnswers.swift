internal import PusherCore

// What the servers' HTTP APIs answer differently.
extension Dialect {
  /// The answer to a call that has been done, or to one of Pusher's without a result.
  func done(_ value: JSONValue) -> JSONValue {
    self == .soketi ? .object([.init("ok", .bool(true))]) : value
  }

  /// What a batch without a wish for information is answered with.
  var emptyBatch: JSONValue {
    self == .reverb ? .object([.init("batch", .object([]))]) : done(.object([]))
  }

  /// A refusal as this server words it.
  func refusal(_ answer: HTTPAnswer) -> HTTPAnswer {
    guard self == .soketi, answer.status >= 400, !answer.isJSON else { return answer }
    return .json(
      .object([.init("error", .string(answer.body)), .init("code", .integer(answer.status))]),
      status: answer.status, allow: answer.allow)
  }

  /// Pages that are there without a signature.
  func page(_ path: String) -> HTTPAnswer? {
    switch (self, path) {
    case (.reverb, "/up"): .json(.object([.init("health", .string("OK"))]))
    case (.soketi, "/"), (.soketi, "/ready"): .text("OK")
    default: nil
    }
  }

  /// Whether a call may not be older than ten minutes.
  var checksTimestamps: Bool { self != .reverb }

  /// What a server says of a channel whatever it is asked for; `nil` for one that answers what is asked.
  func attributes(of channel: String, in hub: Hub) -> [JSONValue.Member]? {
    guard self == .soketi else { return nil }
    let count = hub.subscriptionCount(channel)
    var members = [
      JSONValue.Member("subscription_count", .integer(count)),
      JSONValue.Member("occupied", .bool(count > 0)),
    ]
    if kind(of: channel) == .presence {
      members.append(.init("user_count", .integer(hub.userIDs(channel).count)))
    }
    return members
  }

  /// Why an event's data is refused beyond what Pusher refuses.
  func dataRefusal(_ data: JSONValue?) -> APIRefusal? {
    switch self {
    case .pusher: return nil
    case .reverb:
      guard data?.text == nil else { return nil }
      return APIRefusal(status: 422, reason: "The data field must be a string")
    case .soketi:
      guard data?.text == "" else { return nil }
      return APIRefusal(status: 400, reason: "the event has no data")
    }
  }
}
