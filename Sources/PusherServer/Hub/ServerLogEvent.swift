package import PusherCore

/// An entry of the server's log; no case holds a secret.
package enum ServerLogEvent: Sendable, Equatable, CustomStringConvertible {
  case connected(socketID: String)
  case refused(code: Int, reason: String)
  /// Closed socket; `code` is from the close frame, if there was one.
  case disconnected(socketID: String, code: Int?, reason: String)
  case signedIn(socketID: String, userID: String)
  case signInRefused(socketID: String, reason: String)
  case subscribed(socketID: String, channel: String, userID: String?)
  case subscriptionRefused(socketID: String, channel: String, reason: String)
  case unsubscribed(socketID: String, channel: String)
  /// Answer to a client that resumes: the channels that continue and the others, and the events.
  case resumed(socketID: String, recovered: Int, failed: Int, replayed: Int)
  /// Event of the API; `recipients` is `nil` if other machines may have some.
  /// `serial` is its number on the channel for clients of protocol V2, if there are some.
  case event(
    name: String, channel: String, data: JSONValue, recipients: Int?, serial: Int? = nil)
  /// Relayed client event, sent to others as `message`; `recipients` as for `event`.
  case clientEvent(
    socketID: String, name: String, channel: String, message: String, recipients: Int?,
    serial: Int? = nil)
  /// Event that came through Redis, with its recipients on this node.
  case delivered(channel: String, isFromClient: Bool, recipients: Int)
  /// The connection to Redis is lost; nothing is published until it is back.
  case busLost(reason: String)
  case busBack
  case busError(reason: String)
  /// Redis refuses a required command; nothing is published until it accepts it.
  case busRefused(reason: String)
  case clientError(socketID: String, reason: String)
  case request(method: String, path: String, status: Int, reason: String)
  /// Each refusal is logged once. `isLast` announces that no more refusals are logged.
  case accessRefused(AccessRefusal, isLast: Bool)
  /// All clients together exceeded `limit`, in bytes. Only the first occurrence is logged.
  case queuesFull(limit: Int, dropped: Int)
  /// A subscription to one more channel was refused; logged once for each kind of limit.
  case channelsFull(app: String, ChannelLimit, Int)
  /// A connection ended before it became a socket or a call.
  case dropped(reason: String)
  case webhookSent(SentWebhook, status: Int)
  case webhookFailed(SentWebhook, reason: String, retryIn: Duration)
  case webhookDropped(SentWebhook, reason: String)
  case webhooksDiscarded(url: String, count: Int, reason: String)

  package var isProblem: Bool {
    switch self {
    case .webhookFailed, .webhookDropped, .webhooksDiscarded, .accessRefused, .queuesFull,
      .channelsFull, .busLost, .busError, .busRefused:
      true
    default: false
    }
  }

  /// Control characters of foreign text become `?`, so that they cannot control a terminal.
  package var description: String {
    let shown = words.unicodeScalars.map { scalar in
      scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value) ? "?" : scalar
    }
    return String(String.UnicodeScalarView(shown))
  }

  private static func words(_ limit: ChannelLimit, _ number: Int, _ app: String) -> String {
    switch limit {
    case .app: "app \(app) has its maximum of \(number) channels"
    case .socket(let id): "\(id) has its maximum of \(number) channels of app \(app)"
    case .address(let address): "\(address) has its maximum of \(number) channels of app \(app)"
    case .pace(let id): "\(id) subscribes to more than \(number) channels of app \(app) a second"
    }
  }

  private static func words(_ recipients: Int?) -> String { recipients.map { " to \($0)" } ?? "" }

  private var words: String {
    switch self {
    case .connected(let socketID): "\(socketID) connected"
    case .refused(let code, let reason): "connection refused with \(code): \(reason)"
    case .disconnected(let socketID, let code?, let reason):
      "\(socketID) disconnected with \(code)" + (reason.isEmpty ? "" : ": \(reason)")
    case .disconnected(let socketID, nil, let reason): "\(socketID) disconnected: \(reason)"
    case .signedIn(let socketID, let userID): "\(socketID) signed in as user \(userID)"
    case .signInRefused(let socketID, let reason): "\(socketID) cannot sign in: \(reason)"
    case .subscribed(let socketID, let channel, let userID?):
      "\(socketID) subscribed to \(channel) as user \(userID)"
    case .subscribed(let socketID, let channel, nil): "\(socketID) subscribed to \(channel)"
    case .subscriptionRefused(let socketID, let channel, let reason):
      "\(socketID) cannot subscribe to \(channel): \(reason)"
    case .unsubscribed(let socketID, let channel): "\(socketID) unsubscribed from \(channel)"
    case .resumed(let socketID, let recovered, let failed, let replayed):
      "\(socketID) resumed \(recovered) of \(recovered + failed) channels with \(replayed) events"
    case .event(let name, let channel, let data, let recipients, _):
      "event \(name) on \(channel)\(Self.words(recipients)): \(data.dataText)"
    case .clientEvent(let socketID, let name, let channel, _, let recipients, _):
      "\(socketID) sent \(name) on \(channel)\(Self.words(recipients))"
    case .delivered(let channel, _, let recipients):
      "delivered an event on \(channel) to \(recipients) here"
    case .busLost(let reason):
      "connection to redis lost (\(reason)); sockets stay open, but nothing is published until it "
        + "is back"
    case .busBack: "connected to redis; this server is registered"
    case .busError(let reason): "redis refused a command: \(reason)"
    case .busRefused(let reason):
      "redis refuses \(reason); sockets stay open, but nothing is published; retrying every 2 s"
    case .clientError(let socketID, let reason): "\(socketID) got an error: \(reason)"
    case .request(let method, let path, let status, let reason):
      "\(method) \(path) \(status)" + (reason.isEmpty ? "" : ": \(reason)")
    case .queuesFull(let limit, let dropped):
      "all clients together left more than \(limit) bytes unread: dropped the slowest \(dropped) "
        + "(further drops are not logged)"
    case .channelsFull(let app, let limit, let number):
      "\(Self.words(limit, number, app)): refused a subscription to another "
        + "(further refusals are not logged)"
    case .accessRefused(let refusal, let isLast):
      "refused \(refusal)" + (isLast ? "; further refusals are not logged" : "")
    case .dropped(let reason): "connection dropped: \(reason)"
    case .webhookSent(let webhook, let status): "webhook \(webhook): \(status)"
    case .webhookFailed(let webhook, let reason, let delay):
      "webhook \(webhook) failed (\(reason)); retrying in \(delay.inSeconds) s"
    case .webhookDropped(let webhook, let reason): "webhook \(webhook) dropped (\(reason))"
    case .webhooksDiscarded(let url, let count, let reason):
      "\(count) \(count == 1 ? "webhook" : "webhooks") to \(url) discarded at shutdown (\(reason))"
    }
  }
}

package struct SentWebhook: Sendable, Equatable, CustomStringConvertible {
  package let app: String
  /// Scheme, host and port of the receiver; the rest of its URL may be a token.
  package let url: String
  package let event: String
  /// Body as sent; empty for several webhooks.
  package let body: [UInt8]

  package init(app: String, url: String, event: String, body: [UInt8] = []) {
    (self.app, self.url, self.event, self.body) = (app, url, event, body)
  }

  package var description: String { "\(event) to \(url)" }
}

/// Holds the `Origin` or `Host` as written.
package enum AccessRefusal: Sendable, Hashable, CustomStringConvertible {
  case origin(String)
  case host(String)
  /// The part of the server allows only requests from this machine.
  case remote(part: String, sign: String)

  package var description: String {
    switch self {
    case .origin(let origin): "a request from a page of '\(Self.beginning(of: origin))'"
    case .host(let host): "a request for host '\(Self.beginning(of: host))'"
    case .remote(let part, let sign):
      "a request for \(part) that is not from this machine (\(sign))"
    }
  }

  private static func beginning(of text: String) -> String {
    guard text.utf8.count > 100 else { return text }
    return String(decoding: text.utf8.prefix(100), as: UTF8.self) + "…"
  }
}

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

  package static func memberAdded(_ channel: String, _ member: Member) -> WebhookNotice {
    WebhookNotice(
      .memberAdded, channel, userID: member.userID, id: member.id, userInfo: member.info)
  }

  package static func memberRemoved(_ channel: String, _ member: Member) -> WebhookNotice {
    WebhookNotice(.memberRemoved, channel, userID: member.userID, id: member.id)
  }

  package static func subscriptionCount(_ channel: String, _ count: Int) -> WebhookNotice {
    WebhookNotice(
      .subscriptionCount, channel, details: [.init("subscription_count", .integer(count))])
  }

  /// Body of a webhook; `milliseconds` is the time since 1970.
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
