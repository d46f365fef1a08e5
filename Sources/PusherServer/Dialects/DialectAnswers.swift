internal import PusherCore

/// The answers that differ in more than a value from server to server.
protocol DialectAnswers: ChannelNaming {
  /// Why a text is not a channel name.
  func problem(inChannel name: String) -> String?
  /// Why a text is not an event name.
  func problem(inEvent name: String) -> String?
  /// The message for a refused subscription.
  func message(_ text: MessageText, _ refusal: SubscriptionRefusal, channel: String) -> String
  /// The data of a client event as others get it; `nil` when the event is refused.
  func relayed(_ data: JSONValue?) -> JSONValue??

  /// A refusal of the API as this server words it.
  func worded(_ answer: HTTPAnswer) -> HTTPAnswer
  /// Pages that need no signature.
  func page(_ path: String) -> HTTPAnswer?
  /// Its fixed information about a channel; `nil` for a server that answers the request.
  func attributes(of channel: ChannelFacts) -> [JSONValue.Member]?
  /// The same for a channel in a list.
  func listed(_ channel: ChannelFacts) -> [JSONValue.Member]?
  /// What is told of the last event of a cache channel.
  func cached(_ event: CachedFacts, channel: String) -> JSONValue
  /// Why a channel's users cannot be listed.
  func refusal(ofUsersOf channel: ChannelFacts) -> HTTPAnswer?
  /// Why an event's data is refused beyond what Pusher refuses.
  func refusal(ofData data: JSONValue?) -> HTTPAnswer?
  /// Why an event is refused before anything else is looked at; `nil` when it is not, as on most servers.
  func refusal(ofEvent event: JSONValue) -> HTTPAnswer?
  /// Why a batch is refused before anything else is looked at; `nil` when it is not, as on most servers.
  func refusal(ofBatch body: JSONValue) -> HTTPAnswer?
}

/// Pusher's answers are the default.
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
    kind(of: channel.name) == .presence
      ? nil : .refusal(400, "users are only known of presence channels")
  }

  func refusal(ofData data: JSONValue?) -> HTTPAnswer? { nil }
  func refusal(ofEvent event: JSONValue) -> HTTPAnswer? { nil }
  func refusal(ofBatch body: JSONValue) -> HTTPAnswer? { nil }
}
