internal import PusherCore

/// What a server answers, where more than a value differs from server to server.
protocol DialectAnswers: ChannelNaming {
  /// Why a name cannot be a channel's.
  func problem(inChannel name: String) -> String?
  /// Why a name cannot be an event's.
  func problem(inEvent name: String) -> String?
  /// What a client gets whose subscription is not accepted.
  func message(_ text: MessageText, _ refusal: SubscriptionRefusal, channel: String) -> String
  /// The data of a client's event as others get it; `nil` when the event is refused.
  func relayed(_ data: JSONValue?) -> JSONValue??

  /// A refusal of the API as this server words it.
  func worded(_ answer: HTTPAnswer) -> HTTPAnswer
  /// Pages that are there without a signature.
  func page(_ path: String) -> HTTPAnswer?
  /// What it says of a channel whatever it is asked for; `nil` for a server that answers what is asked.
  func attributes(of channel: String, in hub: Hub) -> [JSONValue.Member]?
  /// Why a channel's users are not told.
  func refusal(ofUsersOf channel: String, in hub: Hub) -> HTTPAnswer?
  /// Why an event's data is refused beyond what Pusher refuses.
  func refusal(ofData data: JSONValue?) -> HTTPAnswer?
  /// Why an event is refused before anything else is looked at; `nil` where that is not this server's way.
  func refusal(ofEvent event: JSONValue) -> HTTPAnswer?
  /// Why a batch is refused before anything else is looked at; `nil` where that is not this server's way.
  func refusal(ofBatch body: JSONValue) -> HTTPAnswer?
}

/// Pusher's answers are those that a server gives which has none of its own.
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
  func attributes(of channel: String, in hub: Hub) -> [JSONValue.Member]? { nil }

  func refusal(ofUsersOf channel: String, in hub: Hub) -> HTTPAnswer? {
    kind(of: channel) == .presence
      ? nil : .refusal(400, "users are only known of presence channels")
  }

  func refusal(ofData data: JSONValue?) -> HTTPAnswer? { nil }
  func refusal(ofEvent event: JSONValue) -> HTTPAnswer? { nil }
  func refusal(ofBatch body: JSONValue) -> HTTPAnswer? { nil }
}
