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

  /// Whether a count that a channel does not have, such as that of a public channel's users, is an error.
  var refusesMissingCounts: Bool { self == .pusher }

  /// Whether a channel without subscribers has counts.
  var countsEmptyChannels: Bool { self != .reverb }

  /// Whether a presence channel has a count of its connections beside that of its users.
  var countsMembersTwice: Bool { self != .reverb }

  /// Whether `with_user_info` adds what is known of users.
  var tellsUserInfo: Bool { self == .soketi }

  /// Why a channel's users are not told.
  func usersRefusal(of channel: String, in hub: Hub) -> APIRefusal? {
    let isPresence = kind(of: channel) == .presence
    guard self == .reverb else {
      return isPresence
        ? nil : APIRefusal(status: 400, reason: "users are only known of presence channels")
    }
    guard hub.subscriptionCount(channel) > 0 else {
      return APIRefusal(status: 404, json: .object([]))
    }
    return isPresence ? nil : APIRefusal(status: 400, json: .object([]))
  }

  /// Whether the socket that an event leaves out must be named as one.
  var checksExcludedSocket: Bool { self == .pusher }

  /// Whether an event's data may be more than a string.
  var acceptsEveryData: Bool { self == .soketi }

  /// Why an event's data is refused beyond what Pusher refuses: to soketi what JavaScript takes for false is missing.
  func dataRefusal(_ data: JSONValue?) -> APIRefusal? {
    guard self == .soketi else { return nil }
    switch data {
    case nil, .null, .bool(false), .string(""): break
    case .number(let digits) where Double(digits) == 0: break
    default: return nil
    }
    return APIRefusal(status: 400, reason: "the event has no data")
  }
}
