internal import PusherCore

/// Members of the JSON object that describes an event in the console; docs/console.md lists them.
package enum ServerEntry {
  /// Returns `nil` if the console does not show the event.
  ///
  /// - Parameter caused: Number of the last events that a request caused.
  static func members(
    of event: ServerLogEvent, app: String?, caused: Int = 0
  ) -> [JSONValue.Member]? {
    switch event {
    case .event(let name, let channel, let data, let recipients):
      return make(
        "event",
        [
          "source": "api", "app": app, "channel": channel, "event": name,
          "data": data.text ?? JSONWriter.text(data),
        ], recipients.map { .init("recipients", .integer($0)) })
    case .clientEvent(let socketID, let name, let channel, let message, let recipients):
      return make(
        "event",
        [
          "source": "client", "app": app, "channel": channel, "event": name,
          "data": data(of: message), "socket_id": socketID,
        ], recipients.map { .init("recipients", .integer($0)) })
    // Requests of the page itself are not shown, unless access was refused.
    case .request(_, let path, let status, _) where ConsolePath.isOwn(path) && status != 403:
      return nil
    case .request(let method, let path, let status, let reason):
      let entry = make(
        "request", ["method": method, "path": path], .init("status", .integer(status)),
        reason: reason)
      return caused == 0 ? entry : entry + [.init("events", .integer(caused))]
    default: return ofSocket(event, app: app) ?? ofWebhook(event) ?? ofServer(event)
    }
  }

  static func members(of notice: WebhookNotice, app: String) -> [JSONValue.Member]? {
    switch notice.kind {
    case .channelOccupied, .channelVacated:
      make(
        "channel",
        [
          "action": notice.kind == .channelOccupied ? "occupied" : "vacated", "app": app,
          "channel": notice.channel,
        ])
    case .memberAdded, .memberRemoved:
      make(
        "member",
        [
          "action": notice.kind == .memberAdded ? "added" : "removed", "app": app,
          "channel": notice.channel, "user_id": notice.userID,
        ], notice.userInfo.map { .init("user_info", $0) })
    case .clientEvent, .cacheMiss, .subscriptionCount: nil
    }
  }

  private static func ofSocket(_ event: ServerLogEvent, app: String?) -> [JSONValue.Member]? {
    switch event {
    case .connected(let socketID):
      make("connection", ["action": "opened", "app": app, "socket_id": socketID])
    case .disconnected(let socketID, let code, let reason):
      make(
        "connection", ["action": "closed", "app": app, "socket_id": socketID],
        code.map { .init("code", .integer($0)) }, reason: reason)
    case .refused(let code, let reason):
      make("connection", ["action": "refused"], .init("code", .integer(code)), reason: reason)
    case .signedIn(let socketID, let userID):
      make("user", ["action": "signed_in", "app": app, "socket_id": socketID, "user_id": userID])
    case .signInRefused(let socketID, let reason):
      make("user", ["action": "refused", "app": app, "socket_id": socketID], reason: reason)
    case .subscribed(let socketID, let channel, let userID):
      make(
        "subscription",
        [
          "action": "subscribed", "app": app, "socket_id": socketID, "channel": channel,
          "user_id": userID,
        ])
    case .subscriptionRefused(let socketID, let channel, let reason):
      make(
        "subscription",
        ["action": "refused", "app": app, "socket_id": socketID, "channel": channel],
        reason: reason)
    case .unsubscribed(let socketID, let channel):
      make(
        "subscription",
        ["action": "unsubscribed", "app": app, "socket_id": socketID, "channel": channel])
    case .clientError(let socketID, let reason):
      make("error", ["app": app, "socket_id": socketID], reason: reason)
    default: nil
    }
  }

  private static func ofWebhook(_ event: ServerLogEvent) -> [JSONValue.Member]? {
    switch event {
    case .webhookSent(let webhook, let status):
      make("webhook", texts(of: webhook, "sent"), .init("status", .integer(status)))
    case .webhookFailed(let webhook, let reason, let delay):
      make(
        "webhook", texts(of: webhook, "failed"),
        .init("retry_in", .number("\(delay.inSeconds)")), reason: reason)
    case .webhookDropped(let webhook, let reason):
      make("webhook", texts(of: webhook, "dropped"), reason: reason)
    case .webhooksDiscarded(let url, let count, let reason):
      make(
        "webhook", ["action": "dropped", "url": url, "event": "\(count) in the queue"],
        reason: reason)
    default: nil
    }
  }

  private static func texts(
    of webhook: SentWebhook, _ action: String
  ) -> KeyValuePairs<String, String?> {
    [
      "action": action, "app": webhook.app, "url": webhook.url, "event": webhook.event,
      "body": webhook.body.isEmpty ? nil : String(decoding: webhook.body, as: UTF8.self),
    ]
  }

  private static func ofServer(_ event: ServerLogEvent) -> [JSONValue.Member]? {
    switch event {
    case .busLost, .busError, .busRefused, .accessRefused, .queuesFull, .channelsFull, .dropped:
      make("error", [:], reason: event.description)
    default: nil
    }
  }

  private static func make(
    _ kind: String, _ texts: KeyValuePairs<String, String?>, _ other: JSONValue.Member? = nil,
    reason: String = ""
  ) -> [JSONValue.Member] {
    var members = [JSONValue.Member("kind", .string(kind))]
    for (name, text) in texts { if let text { members.append(.init(name, .string(text))) } }
    if let other { members.append(other) }
    if !reason.isEmpty { members.append(.init("reason", .string(reason))) }
    return members
  }

  private static func data(of message: String) -> String? {
    guard let data = (try? JSONParser.parse(message))?["data"] else { return nil }
    return data.text ?? JSONWriter.text(data)
  }
}
