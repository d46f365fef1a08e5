package import PusherCore

/// An event for an app's webhook.
///
/// Source: Pusher's page "Webhooks", section "Webhook format".
package struct WebhookNotice: Sendable, Equatable {
  /// The names are Pusher's.
  package enum Kind: String, Sendable {
    /// The first subscriber has come.
    case channelOccupied = "channel_occupied"
    /// The last subscriber has left.
    case channelVacated = "channel_vacated"
    /// A user's first connection has joined a presence channel.
    case memberAdded = "member_added"
    /// A user's last connection has left a presence channel.
    case memberRemoved = "member_removed"
    /// A client has sent an event; its user counts on presence channels.
    case clientEvent = "client_event"
    /// A cache channel had no event for a new subscriber.
    case cacheMiss = "cache_miss"
    case subscriptionCount = "subscription_count"
  }

  /// Who is told of a change.
  package enum Audience: Sendable {
    case everybody
    /// Those who look on; webhooks are told later, or not at all.
    case console
    /// The receivers of webhooks; those who look on were told before.
    case webhooks
  }

  package let kind: Kind
  package let channel: String
  package let userID: String?
  /// What the user who has come told of themselves; no webhook has it.
  let userInfo: JSONValue?
  /// Who is told.
  package var audience = Audience.everybody
  /// The members of this kind only.
  private let details: [JSONValue.Member]

  package init(
    _ kind: Kind, _ channel: String, userID: String? = nil, userInfo: JSONValue? = nil,
    details: [JSONValue.Member] = []
  ) {
    self.kind = kind
    self.channel = channel
    self.userID = userID
    self.userInfo = userInfo
    self.details = details
  }

  /// The body of a webhook with this one event; `milliseconds` is the time since 1970.
  package func body(milliseconds: Int64) -> [UInt8] {
    let beginning: [JSONValue.Member] = [
      .init("name", .string(kind.rawValue)), .init("channel", .string(channel)),
    ]
    let user = userID.map { [JSONValue.Member("user_id", .string($0))] } ?? []
    let body: JSONValue = [
      "time_ms": .number(String(milliseconds)), "events": [.object(beginning + details + user)],
    ]
    return Array(JSONWriter.text(body).utf8)
  }
}
