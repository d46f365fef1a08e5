internal import PusherCore

/// Answers that differ between servers by more than a value.
protocol DialectAnswers: ChannelNaming {
  func problem(inChannel name: String) -> String?
  func problem(inEvent name: String) -> String?
  func message(_ text: MessageText, _ refusal: SubscriptionRefusal, channel: String) -> String
  /// Relayed data of a client event; `nil` if the event is refused.
  func relayed(_ data: JSONValue?) -> JSONValue??

  /// Words a refusal of the API as this server does.
  func worded(_ answer: HTTPAnswer) -> HTTPAnswer
  /// Pages that need no signature.
  func page(_ path: String) -> HTTPAnswer?
  /// Fixed information about a channel; `nil` if the request decides.
  func attributes(of channel: ChannelFacts) -> [JSONValue.Member]?
  func listed(_ channel: ChannelFacts) -> [JSONValue.Member]?
  func cached(_ event: CachedFacts, channel: String) -> JSONValue
  func refusal(ofUsersOf channel: ChannelFacts) -> HTTPAnswer?
  /// Refusal of an event's data, beyond Pusher's rules.
  func refusal(ofData data: JSONValue?) -> HTTPAnswer?
  /// Refusal of an event before all other checks; `nil` on most servers.
  func refusal(ofEvent event: JSONValue) -> HTTPAnswer?
  /// Refusal of a batch before all other checks; `nil` on most servers.
  func refusal(ofBatch body: JSONValue) -> HTTPAnswer?
}

/// Pusher's answers are the defaults.
struct PusherAnswers: DialectAnswers {}

extension DialectAnswers {
  func kind(of channel: String) -> ChannelKind { ChannelKind(channelName: channel) }
  func isCache(_ channel: String) -> Bool { ChannelName.isCache(channel) }
  func problem(inChannel name: String) -> String? { ChannelName.problem(in: name) }
  func problem(inEvent name: String) -> String? { EventName.problem(in: name) }

  func message(_ text: MessageText, _ refusal: SubscriptionRefusal, channel: String) -> String {
    text.error(code: refusal.code, message: refusal.reason, channel: channel)
  }

  func relayed(_ data: JSONValue?) -> JSONValue?? { .some(data) }
  func worded(_ answer: HTTPAnswer) -> HTTPAnswer { answer }
  func page(_ path: String) -> HTTPAnswer? { nil }
  func attributes(of channel: ChannelFacts) -> [JSONValue.Member]? { nil }
  func listed(_ channel: ChannelFacts) -> [JSONValue.Member]? { attributes(of: channel) }

  func cached(_ event: CachedFacts, channel: String) -> JSONValue {
    let left = event.timeLeft.map { JSONValue.integer(Int($0.components.seconds)) }
    return .object(present: ["data": .string(event.data), "ttl": left])
  }

  func refusal(ofUsersOf channel: ChannelFacts) -> HTTPAnswer? {
    kind(of: channel.name) == .presence ? nil : .refusal(400, "only presence channels have users")
  }

  func refusal(ofData data: JSONValue?) -> HTTPAnswer? { nil }
  func refusal(ofEvent event: JSONValue) -> HTTPAnswer? { nil }
  func refusal(ofBatch body: JSONValue) -> HTTPAnswer? { nil }
}
