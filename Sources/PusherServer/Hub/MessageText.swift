package import PusherCore

/// The parts of messages that differ from server to server; the defaults are Pusher's.
package struct MessageShapes: Sendable {
  /// Whether the data of an error is a string that holds JSON too.
  var embedsErrors = false
  var ping: JSONValue? = .string("{}")
  var pong: JSONValue? = .string("{}")
  /// The answer to a subscription where there are no members to tell.
  var subscriptionSucceeded: JSONValue? = .string("{}")
  /// Whether the answer to a sign-in gives back its signature.
  var returnsSignature = false
  /// Whether members without information are left out of the `hash` of a presence channel, in place of `null`.
  var omitsMissingInfo = false
  /// Whether the close frame of a refused connection has a reason.
  var explainsRefusals = true
}

/// The text of every message that a server sends.
///
/// `data` is a string that holds JSON, except in errors, as Pusher does. Source: the protocol page.
package struct MessageText: Sendable {
  let service: PusherService
  let shapes: MessageShapes

  package init(service: PusherService = .pusher, shapes: MessageShapes = MessageShapes()) {
    self.service = service
    self.shapes = shapes
  }

  /// The first message: the socket may be used now.
  package func connectionEstablished(socketID: String, activityTimeout: Duration) -> String {
    let seconds = Int(activityTimeout.components.seconds)
    let data: JSONValue = ["socket_id": .string(socketID), "activity_timeout": .integer(seconds)]
    return message(service.eventPrefix + "connection_established", data: embedded(data))
  }

  /// An error; `code` is `null` for refusals that Pusher gives no number, `channel` names what was refused.
  package func error(code: PusherCode?, message text: String, channel: String? = nil) -> String {
    let data: JSONValue = [
      "code": code.map { .integer($0.rawValue) } ?? .null, "message": .string(text),
    ]
    return shapes.embedsErrors
      ? message(service.eventPrefix + "error", data: embedded(data))
      : message(service.eventPrefix + "error", channel: channel, data: data)
  }

  /// The answer to a refused subscription, where that is not an error.
  func subscriptionError(channel: String, data: JSONValue) -> String {
    message(service.eventPrefix + "subscription_error", channel: channel, data: data)
  }

  package var ping: String { message(service.eventPrefix + "ping", data: shapes.ping) }

  package var pong: String { message(service.eventPrefix + "pong", data: shapes.pong) }

  /// The answer to a subscription; `members` for presence channels.
  package func subscriptionSucceeded(channel: String, members: MemberList?) -> String {
    let presence = members.map {
      embedded(["presence": $0.json(omitsMissingInfo: shapes.omitsMissingInfo)])
    }
    return message(
      service.internalPrefix + "subscription_succeeded", channel: channel,
      data: presence ?? shapes.subscriptionSucceeded)
  }

  /// A user's first connection has joined.
  package func memberAdded(channel: String, member: Member) -> String {
    told(
      "member_added", channel, .object(present: ["user_id": member.id, "user_info": member.info]))
  }

  /// A user's last connection has left.
  package func memberRemoved(channel: String, userID: JSONValue) -> String {
    told("member_removed", channel, ["user_id": userID])
  }

  /// An event of the application, or of another client; `data` goes out as the sender gave it.
  ///
  /// `userID` is the other client's on presence channels.
  package func event(
    name: String, channel: String, data: JSONValue?, userID: JSONValue? = nil
  ) -> String {
    message(name, channel: channel, data: data, userID: userID)
  }

  package func event(_ event: ChannelEvent) -> String {
    self.event(name: event.name, channel: event.channel, data: event.data, userID: event.userID)
  }

  /// The answer to a sign-in.
  package func signInSuccess(userData: String, auth: String) -> String {
    let data = JSONValue.object(texts: [
      "auth": shapes.returnsSignature ? auth : nil, "user_data": userData,
    ])
    return message(service.eventPrefix + "signin_success", data: data)
  }

  /// The online and offline users of a watchlist.
  package func watchlist(online: [String] = [], offline: [String] = []) -> String {
    let events = [("online", online), ("offline", offline)].filter { !$0.1.isEmpty }.map {
      ["name": .string($0.0), "user_ids": .array($0.1.map(JSONValue.string))] as JSONValue
    }
    return told("watchlist_events", nil, ["events": .array(events)])
  }

  /// A cache channel has no event to begin with.
  package func cacheMiss(channel: String) -> String {
    message(service.eventPrefix + "cache_miss", channel: channel, data: nil)
  }

  /// How many connections are subscribed.
  package func subscriptionCount(channel: String, count: Int) -> String {
    told("subscription_count", channel, ["subscription_count": .integer(count)])
  }

  private func embedded(_ data: JSONValue) -> JSONValue { .string(JSONWriter.text(data)) }

  /// A message of the server's own, whose data is a string that holds an object.
  private func told(_ name: String, _ channel: String?, _ data: JSONValue) -> String {
    message(service.internalPrefix + name, channel: channel, data: embedded(data))
  }

  private func message(
    _ event: String, channel: String? = nil, data: JSONValue?, userID: JSONValue? = nil
  ) -> String {
    JSONWriter.text(
      .object(present: [
        "event": .string(event), "channel": channel.map(JSONValue.string), "data": data,
        "user_id": userID,
      ]))
  }
}
