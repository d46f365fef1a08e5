internal import PusherCore

// What the servers say of messages that they do not act on.
extension Dialect {
  /// What is wrong with a client's message.
  enum Mistake {
    /// It is none, or asks for what the server does not do.
    case uselessMessage
    /// It is about a channel that the connection is not subscribed to.
    case noSubscription
    /// Its event is not passed on to others.
    case clientEvent
  }

  /// What a client is told of a mistake.
  enum Answer {
    /// The reason, with this code, if any, where it has none of its own.
    case reason(PusherCode?)
    /// ``invalidMessage``, whatever the reason, if it has no code of its own.
    case invalidMessage
    case silence
  }

  /// What Reverb says of everything that it cannot use.
  static let invalidMessage = "Invalid message format"

  func answer(to mistake: Mistake) -> Answer {
    switch (self, mistake) {
    case (.pusher, _): .reason(nil)
    case (.reverb, .uselessMessage), (.reverb, .clientEvent): .invalidMessage
    case (.soketi, .clientEvent): .reason(.clientEventRate)
    case (.reverb, .noSubscription), (.soketi, .noSubscription), (.soketi, .uselessMessage):
      .silence
    }
  }
}
