package import PusherCore

/// Something that an app is told by webhook.
///
/// Source: Pusher's page "Webhooks", section "Webhook format".
package enum WebhookNotice: Sendable, Equatable {
  /// The first subscriber has come.
  case channelOccupied(channel: String)
  /// The last subscriber has left.
  case channelVacated(channel: String)
  /// A user's first connection has joined a presence channel.
  case memberAdded(channel: String, userID: String)
  /// A user's last connection has left a presence channel.
  case memberRemoved(channel: String, userID: String)
  /// A client has sent an event; `userID` on presence channels.
  case clientEvent(
    channel: String, name: String, data: JSONValue?, socketID: String, userID: String?)
  /// A cache channel had no event for a new subscriber.
  case cacheMiss(channel: String)
  case subscriptionCount(channel: String, count: Int)

  /// What Pusher calls it.
  package var name: String {
    switch self {
    case .channelOccupied: "channel_occupied"
    case .channelVacated: "channel_vacated"
    case .memberAdded: "member_added"
    case .memberRemoved: "member_removed"
    case .clientEvent: "client_event"
    case .cacheMiss: "cache_miss"
    case .subscriptionCount: "subscription_count"
    }
  }

  var channel: String {
    switch self {
    case .channelOccupied(let channel), .channelVacated(let channel), .memberAdded(let channel, _),
      .memberRemoved(let channel, _), .clientEvent(let channel, _, _, _, _),
      .cacheMiss(let channel), .subscriptionCount(let channel, _):
      channel
    }
  }

  private var json: JSONValue {
    var members: [JSONValue.Member] = [
      .init("name", .string(name)), .init("channel", .string(channel)),
    ]
    switch self {
    case .channelOccupied, .channelVacated, .cacheMiss: break
    case .memberAdded(_, let userID), .memberRemoved(_, let userID):
      members.append(.init("user_id", .string(userID)))
    case .clientEvent(_, let event, let data, let socketID, let userID):
      members.append(.init("event", .string(event)))
      if let data {
        members.append(.init("data", .string(data.text ?? JSONWriter.text(data))))
      }
      members.append(.init("socket_id", .string(socketID)))
      if let userID { members.append(.init("user_id", .string(userID))) }
    case .subscriptionCount(_, let count):
      members.append(.init("subscription_count", .integer(count)))
    }
    return .object(members)
  }

  /// The body of a webhook with this one event; `milliseconds` is the time since 1970.
  package func body(milliseconds: Int64) -> [UInt8] {
    let body = JSONValue.object([
      .init("time_ms", .number(String(milliseconds))), .init("events", .array([json])),
    ])
    return Array(JSONWriter.text(body).utf8)
  }
}
