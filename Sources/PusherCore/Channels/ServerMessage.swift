/// A protocol message, read tolerantly: `data` may be JSON or a string of JSON, or be missing.
enum ServerMessage: Equatable {
  case connectionEstablished(socketID: String, activityTimeout: Duration?)
  case error(code: Int?, message: String, channel: String?)
  case ping
  case pong
  /// The members of a presence channel stay in the message; ``PresenceRoster`` reads them.
  case subscriptionSucceeded(channel: String)
  case subscriptionError(channel: String, type: String, message: String, status: Int?)
  case signedIn(userData: JSONValue)
  case signInError(type: String, message: String, status: Int?)
  case watchlist([PusherWatchlistEvent])
  case memberAdded(channel: String, member: PusherPresenceChannelMember)
  case memberRemoved(channel: String, userID: String)
  /// The end of the answer to a resume of Protocol V2; a failed channel has its own message too.
  case resumeSucceeded(JSONValue)
  case resumeFailed(channel: String, StreamGap)
  case rewindCompleted(channel: String, JSONValue)
  /// An event of the channel itself, passed on under its public name.
  case channelNotice(name: String)
  case application
  case unknown(name: String)
  /// Libraries translate internal events and never show them.
  case unknownInternal(name: String)
  case malformed(String)

  init(_ envelope: Envelope, service: PusherService) {
    let name = envelope.eventName
    if let rest = name.dropping(prefix: service.internalPrefix) {
      self = Self.channelMessage(rest, envelope, service) ?? .unknownInternal(name: name)
    } else if let rest = name.dropping(prefix: service.eventPrefix) {
      self = Self.message(rest, envelope, service) ?? .unknown(name: name)
    } else {
      self = .application
    }
  }

  private static func message(_ name: String, _ envelope: Envelope, _ service: PusherService)
    -> Self?
  {
    switch name {
    case "connection_established": return established(envelope.data)
    case "error": return error(envelope)
    case "ping": return .ping
    case "pong": return .pong
    case "cache_miss": return .channelNotice(name: service.eventPrefix + name)
    case "signin_success": return .signedIn(userData: userData(envelope.data))
    case "signin_error":
      let (type, text, status) = refusal(envelope.data, type: "SignInError")
      return .signInError(type: type, message: text, status: status)
    default:
      return (service.replaysEvents ? replayMessage(name, envelope) : nil)
        ?? channelMessage(name, envelope, service)
    }
  }

  /// The messages of Protocol V2 alone.
  private static func replayMessage(_ name: String, _ envelope: Envelope) -> Self? {
    switch name {
    case "resume_success": return .resumeSucceeded(envelope.data)
    case "resume_failed":
      let data = envelope.data
      guard let channel = data["channel"]?.text ?? envelope.channelName else {
        return .malformed("resume_failed without a channel")
      }
      return .resumeFailed(channel: channel, StreamGap(refusal: data))
    case "rewind_complete":
      guard let channel = envelope.channelName ?? envelope.data["channel"]?.text else {
        return .malformed("rewind_complete without a channel")
      }
      return .rewindCompleted(channel: channel, envelope.data)
    default: return nil
    }
  }

  /// The messages that come under either prefix.
  private static func channelMessage(
    _ name: String, _ envelope: Envelope, _ service: PusherService
  ) -> Self? {
    switch (name, envelope.channelName) {
    case ("watchlist_events", _): return .watchlist(watchlist(envelope.data))
    // pusher-fake refuses a channel under the internal prefix.
    case ("subscription_error", let channel?):
      let (type, text, status) = refusal(envelope.data, type: "SubscriptionError")
      return .subscriptionError(channel: channel, type: type, message: text, status: status)
    case ("subscription_succeeded", let channel?): return .subscriptionSucceeded(channel: channel)
    case ("subscription_count", .some): return .channelNotice(name: service.eventPrefix + name)
    case ("member_added", let channel?):
      let data = envelope.data
      guard let id = data["user_id"]?.identifier else {
        return .malformed("member_added without a user_id")
      }
      let member = PusherPresenceChannelMember(userId: id, userInfo: data["user_info"] ?? .null)
      return .memberAdded(channel: channel, member: member)
    case ("member_removed", let channel?):
      guard let id = envelope.data["user_id"]?.identifier else {
        return .malformed("member_removed without a user_id")
      }
      return .memberRemoved(channel: channel, userID: id)
    case ("subscription_error", nil), ("subscription_succeeded", nil), ("subscription_count", nil),
      ("member_added", nil), ("member_removed", nil):
      return .malformed("\(name) without a channel")
    default: return nil
    }
  }

  private static func established(_ data: JSONValue) -> Self {
    guard let socketID = data["socket_id"]?.identifier, !socketID.isEmpty else {
      return .malformed("connection_established without a socket_id")
    }
    let seconds = data["activity_timeout"]?.integer
    // A timeout of zero or less would cause a ping storm; no server waits longer than a day.
    let timeout = seconds.flatMap { (1...86_400).contains($0) ? Duration.seconds($0) : nil }
    return .connectionEstablished(socketID: socketID, activityTimeout: timeout)
  }

  private static func error(_ envelope: Envelope) -> Self {
    let data = envelope.data
    let holdsOnlyCode = data.members?.allSatisfy { $0.name == "code" } == true
    let said = data["message"] ?? (holdsOnlyCode ? .null : data)
    let message = said.text ?? (said == .null ? "" : JSONWriter.text(said))
    return .error(code: data["code"]?.integer, message: message, channel: envelope.channelName)
  }

  private static func refusal(_ data: JSONValue, type: String) -> (String, String, Int?) {
    (
      data["type"]?.text ?? type, data["error"]?.text ?? data["message"]?.text ?? data.text ?? "",
      data["status"]?.integer
    )
  }

  /// `user_data` is the JSON text that was signed.
  private static func userData(_ data: JSONValue) -> JSONValue {
    guard let value = data["user_data"] else { return .null }
    return value.text.flatMap { try? JSONParser.parse($0) } ?? value
  }

  private static func watchlist(_ data: JSONValue) -> [PusherWatchlistEvent] {
    (data["events"]?.elements ?? []).compactMap { event in
      guard let name = event["name"]?.text, name == "online" || name == "offline" else {
        return nil
      }
      let userIDs = (event["user_ids"]?.elements ?? []).compactMap(\.identifier)
      return userIDs.isEmpty ? nil : PusherWatchlistEvent(name: name, userIds: userIDs)
    }
  }
}

/// Users of the watchlist that went online or offline.
public struct PusherWatchlistEvent: Sendable, Equatable {
  /// `online` or `offline`.
  public var name: String
  /// The users; after a sign-in and after a reconnect every user of the watchlist is named once.
  public var userIds: [String]

  /// Creates a change, for tests of handlers.
  public init(name: String, userIds: [String]) { (self.name, self.userIds) = (name, userIds) }

  /// True if the users came online.
  public var isOnline: Bool { name == "online" }
}
