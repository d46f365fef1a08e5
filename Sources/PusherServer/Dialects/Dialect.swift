internal import PusherCore

/// Whose ways the server has where the servers of the protocol differ.
package enum Dialect: String, Sendable, CaseIterable {
  case pusher
  case reverb
  case soketi

  /// The limits of such a server as it comes.
  package var limits: ServerLimits {
    var limits = ServerLimits()
    switch self {
    case .pusher: break
    case .reverb:
      limits.activityTimeout = .seconds(30)
      limits.pingInterval = .seconds(60)
      limits.pongTimeout = .seconds(60)
      limits.clientMessage = 10_000
      limits.apiBody = 10_000
      limits.eventData = 10_000
      limits.channelsOfEvent = .max
      limits.batch = .max
      limits.presenceMembers = .max
      limits.userID = .max
      limits.channelData = .max
      limits.clientEventsPerSecond = nil
      limits.cacheLifetime = nil
    case .soketi:
      limits.activityTimeout = .seconds(30)
      limits.ownSilence = .seconds(120)
      // Room for the longest data in its envelope, and for a batch of it.
      limits.clientMessage = 1 << 20
      limits.apiBody = 4 << 20
      limits.eventData = 102_400
      limits.userID = .max
      limits.channelData = 2048
      limits.clientEventsPerSecond = nil
      limits.cacheLifetime = .seconds(3600)
    }
    return limits
  }

  /// Whether subscribers can be told how many they are.
  var sendsSubscriptionCounts: Bool { self == .pusher }

  /// Whether a connection says which protocol and which version of a library it speaks, and is refused for others.
  var checksVersions: Bool { self == .pusher }

  /// Whether a presence member's id that the app wrote as a number stays one; Pusher documents strings.
  var keepsNumbers: Bool { self != .pusher }

  /// Whether who is subscribed may subscribe again, and gets the same answer.
  var acceptsSecondSubscription: Bool { self != .pusher }

  /// Whether users can sign in.
  var knowsSignIn: Bool { self != .reverb }

  /// Whether a connection that is given up gets a close frame, and not only an error event.
  var sendsCloseFrames: Bool { self != .reverb }

  /// Whether it may agree to permessage-deflate.
  var knowsCompression: Bool { self == .pusher }

  /// Whether a client that has sent a control frame is pinged with one, and not with a message.
  var pingsWithFrames: Bool { self == .reverb }

  /// What says that there are as many connections as there may be.
  var connectionQuota: PusherCode { self == .soketi ? .overCapacity : .overQuota }

  /// Whether events of clients are passed on on such a channel.
  func passesOnClientEvents(on kind: ChannelKind) -> Bool {
    self != .pusher || kind == .private || kind == .presence
  }

  /// The data of a client's event as others get it; `nil` when the event is refused.
  ///
  /// Reverb reads a string's JSON first, and takes no other string; where there is no data it writes `null`.
  func relayed(_ data: JSONValue?) -> JSONValue?? {
    guard self == .reverb else { return .some(data) }
    guard case .string(let text) = data else { return .some(data ?? .null) }
    return (try? JSONParser.parse(text)).map { .some($0) }
  }
}
