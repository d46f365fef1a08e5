package import PusherCore

/// An event for an app's webhook.
///
/// Source: Pusher's page "Webhooks", section "Webhook format".
package struct WebhookNotice: Sendable, Equatable {
  /// Kinds with Pusher's names.
  package enum Kind: String, Sendable, CaseIterable {
    case channelOccupied = "channel_occupied"
    case channelVacated = "channel_vacated"
    /// A user's first connection joined a presence channel.
    case memberAdded = "member_added"
    /// A user's last connection left a presence channel.
    case memberRemoved = "member_removed"
    /// A client sent an event. The notice names its user on presence channels.
    case clientEvent = "client_event"
    /// A cache channel had no event for a new subscriber.
    case cacheMiss = "cache_miss"
    case subscriptionCount = "subscription_count"
  }

  package enum Audience: Sendable {
    case everybody
    /// Observers only; webhooks get the notice later or never.
    case console
    /// Receivers of webhooks only; observers already have the notice.
    case webhooks
  }

  package let kind: Kind
  package let channel: String
  package let userID: String?
  /// The user's ID in webhooks: a string or a number.
  private let id: JSONValue?
  /// The app's information about a new member; not part of webhooks.
  let userInfo: JSONValue?
  package var audience = Audience.everybody
  private let details: [JSONValue.Member]

  package init(
    _ kind: Kind, _ channel: String, userID: String? = nil, id: JSONValue? = nil,
    userInfo: JSONValue? = nil, details: [JSONValue.Member] = []
  ) {
    self.kind = kind
    self.channel = channel
    self.userID = userID
    self.id = id ?? userID.map(JSONValue.string)
    self.userInfo = userInfo
    self.details = details
  }

  /// Body of a webhook with this event only; `milliseconds` is the time since 1970.
  package func body(milliseconds: Int64) -> [UInt8] {
    Self.body([self], milliseconds: milliseconds)
  }

  /// Body of a webhook with these events, in order.
  package static func body(_ notices: some Sequence<Self>, milliseconds: Int64) -> [UInt8] {
    let body: JSONValue = [
      "time_ms": .number(String(milliseconds)), "events": .array(notices.map(\.event)),
    ]
    return Array(JSONWriter.text(body).utf8)
  }

  private var event: JSONValue {
    let beginning: [JSONValue.Member] = [
      .init("name", .string(kind.rawValue)), .init("channel", .string(channel)),
    ]
    let user = id.map { [JSONValue.Member("user_id", $0)] } ?? []
    return .object(beginning + details + user)
  }
}
