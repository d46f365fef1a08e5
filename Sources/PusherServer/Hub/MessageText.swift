package import PusherCore

/// Parts of messages that differ between servers; the defaults are Pusher's.
package struct MessageShapes: Sendable {
  /// Makes the data of an error a string that holds JSON.
  var embedsErrors = false
  var ping: JSONValue? = .string("{}")
  var pong: JSONValue? = .string("{}")
  /// Data of the answer to a subscription without members.
  var subscriptionSucceeded: JSONValue? = .string("{}")
  var returnsSignature = false
  /// Omits members without information from `hash`, instead of writing `null`.
  var omitsMissingInfo = false
  var explainsRefusals = true
}

/// Text of every message that a server sends.
///
/// `data` is a string that holds JSON, except in errors, as Pusher does. Source: the protocol page.
package struct MessageText: Sendable {
  let service: PusherService
  let shapes: MessageShapes

  package init(service: PusherService = .pusher, shapes: MessageShapes = MessageShapes()) {
    self.service = service
    self.shapes = shapes
  }

  package func connectionEstablished(socketID: String, activityTimeout: Duration) -> String {
    let seconds = Int(activityTimeout.components.seconds)
    let data: JSONValue = ["socket_id": .string(socketID), "activity_timeout": .integer(seconds)]
    return message(service.eventPrefix + "connection_established", data: embedded(data))
  }

  /// `code` is `null` for refusals without a Pusher code; `channel` names the refused channel.
  package func error(code: PusherCode?, message text: String, channel: String? = nil) -> String {
    let data: JSONValue = [
      "code": code.map { .integer($0.rawValue) } ?? .null, "message": .string(text),
    ]
    return shapes.embedsErrors
      ? message(service.eventPrefix + "error", data: embedded(data))
      : message(service.eventPrefix + "error", channel: channel, data: data)
  }

  /// Answer to a refused subscription, on servers that do not send an error.
  func subscriptionError(channel: String, data: JSONValue) -> String {
    message(service.eventPrefix + "subscription_error", channel: channel, data: data)
  }

  package var ping: String { message(service.eventPrefix + "ping", data: shapes.ping) }
  package var pong: String { message(service.eventPrefix + "pong", data: shapes.pong) }

  package func subscriptionSucceeded(channel: String, members: MemberList?) -> String {
    let presence = members.map {
      embedded(["presence": $0.json(omitsMissingInfo: shapes.omitsMissingInfo)])
    }
    return message(
      service.internalPrefix + "subscription_succeeded", channel: channel,
      data: presence ?? shapes.subscriptionSucceeded)
  }

  package func memberAdded(channel: String, member: Member) -> String {
    told(
      "member_added", channel, .object(present: ["user_id": member.id, "user_info": member.info]))
  }

  package func memberRemoved(channel: String, userID: JSONValue) -> String {
    told("member_removed", channel, ["user_id": userID])
  }

  /// Sends `data` unchanged; `userID` is the sending client's, on presence channels.
  package static func event(
    name: String, channel: String?, data: JSONValue?, userID: JSONValue? = nil
  ) -> String {
    JSONWriter.text(
      .object(present: [
        "event": .string(name), "channel": channel.map(JSONValue.string), "data": data,
        "user_id": userID,
      ]))
  }

  package func signInSuccess(userData: String, auth: String) -> String {
    let data = JSONValue.object(texts: [
      "auth": shapes.returnsSignature ? auth : nil, "user_data": userData,
    ])
    return message(service.eventPrefix + "signin_success", data: data)
  }

  package func watchlist(online: [String] = [], offline: [String] = []) -> String {
    let events = [("online", online), ("offline", offline)].filter { !$0.1.isEmpty }.map {
      ["name": .string($0.0), "user_ids": .array($0.1.map(JSONValue.string))] as JSONValue
    }
    return told("watchlist_events", nil, ["events": .array(events)])
  }

  package func cacheMiss(channel: String) -> String {
    message(service.eventPrefix + "cache_miss", channel: channel, data: nil)
  }

  package func subscriptionCount(channel: String, count: Int) -> String {
    told("subscription_count", channel, ["subscription_count": .integer(count)])
  }

  private func embedded(_ data: JSONValue) -> JSONValue { .string(JSONWriter.text(data)) }

  /// Wraps an object in a string, as data of the server's own events.
  private func told(_ name: String, _ channel: String?, _ data: JSONValue) -> String {
    message(service.internalPrefix + name, channel: channel, data: embedded(data))
  }

  private func message(_ event: String, channel: String? = nil, data: JSONValue?) -> String {
    Self.event(name: event, channel: channel, data: data)
  }
}
