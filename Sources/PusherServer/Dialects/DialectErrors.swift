internal import PusherCore

// What the servers say of messages that they do not act on.
extension Dialect {
  /// What is wrong with a client's message.
  enum Mistake {
    /// It is none, or asks for what the server does not do.
    case uselessMessage
    /// It ends a subscription that there is not.
    case noSubscription
    /// Its event is for a channel that the connection is not subscribed to.
    case notMember
    /// Its event is one of a client, and the app wants none.
    case clientEventsOff
    /// Its event is not passed on to others.
    case clientEvent
  }

  /// What a client is told of a mistake.
  enum Answer {
    /// The reason, with this code, if any, where it has none of its own.
    case reason(PusherCode?)
    /// The server's own words, whatever the reason, if it has no code of its own.
    case words(PusherCode, String)
    case silence
  }

  func answer(to mistake: Mistake) -> Answer {
    switch (self, mistake) {
    case (.pusher, _): .reason(nil)
    case (_, .clientEventsOff):
      .words(.clientEventRate, "The app does not have client messaging enabled.")
    case (.reverb, .notMember):
      .words(.unauthorized, "The client is not a member of the specified channel.")
    case (.reverb, .uselessMessage), (.reverb, .clientEvent):
      .words(.generic, "Invalid message format")
    case (.soketi, .clientEvent): .reason(.clientEventRate)
    case (.reverb, .noSubscription), (.soketi, .noSubscription), (.soketi, .notMember),
      (.soketi, .uselessMessage):
      .silence
    }
  }

  /// What soketi tells of a refused subscription, `type` first if it has one; `nil` where it is an error event.
  func subscriptionError(_ refusal: SubscriptionRefusal) -> [JSONValue.Member]? {
    guard self == .soketi else { return nil }
    let (type, text, status): (String?, String, Int) =
      switch refusal.cause {
      case .unauthorized: ("AuthError", refusal.reason, 401)
      case .longName:
        (
          "LimitReached",
          "The channel name is longer than the allowed \(ChannelName.maximumLength) characters.",
          4009
        )
      case .name: (nil, refusal.reason, 4009)
      case .fullChannel:
        ("LimitReached", "The maximum members per presence channel limit was reached", 4100)
      case .longMember: ("LimitReached", refusal.reason, 4301)
      case .other: ("ServerError", refusal.reason, 4302)
      }
    return (type.map { [.init("type", .string($0))] } ?? [])
      + [.init("error", .string(text)), .init("status", .integer(status))]
  }
}
