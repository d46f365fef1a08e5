/// Builds the messages that a client sends, as JSON text.
package struct ClientCommand: Sendable {
  private let prefix: String

  package init(service: PusherService) { prefix = service.eventPrefix }

  /// `auth` and `channel_data` go out byte for byte as signed.
  package func subscribe(
    channel: String, auth: Authorization?, rewind: PusherRewind? = nil
  ) -> String {
    message(
      "subscribe",
      .object(present: [
        "channel": .string(channel), "auth": (auth?.auth).map(JSONValue.string),
        "channel_data": (auth?.data).map(JSONValue.string), "rewind": rewind?.json,
      ]))
  }

  /// Asks for the events after these positions.
  package func resume(_ positions: [(channel: String, position: StreamPosition)]) -> String {
    let members = positions.map { JSONValue.Member($0.channel, $0.position.json) }
    return message("resume", ["channel_positions": .object(members)])
  }

  /// Both parts go out byte for byte as signed.
  package func signIn(_ user: Authorization) -> String {
    message("signin", .object(texts: ["auth": user.auth, "user_data": user.data ?? ""]))
  }

  /// The protocol has no answer to it.
  package func unsubscribe(channel: String) -> String {
    message("unsubscribe", ["channel": .string(channel)])
  }

  /// The name of a client event is never translated.
  package func clientEvent(_ event: ClientEvent) -> String {
    let message: JSONValue = [
      "event": .string(event.name), "channel": .string(event.channel), "data": event.data,
    ]
    return message.jsonText
  }

  package var ping: String { message("ping", .object([])) }
  package var pong: String { message("pong", .object([])) }

  private func message(_ name: String, _ data: JSONValue) -> String {
    JSONWriter.text(["event": .string(prefix + name), "data": data])
  }
}

/// Earlier events with which a subscription begins, in Protocol V2 of sockudo.
public enum PusherRewind: Sendable, Equatable {
  /// The last events, at most this number.
  case count(Int)
  /// The events of the last seconds.
  case seconds(Int)

  var json: JSONValue {
    switch self {
    case .count(let count): .integer(count)
    case .seconds(let seconds): ["seconds": .integer(seconds)]
    }
  }
}

/// An event that a client sends to the other subscribers of a channel.
///
/// Source: Pusher's page "Client events", and the limits that its libraries and servers share.
package struct ClientEvent: Sendable, Equatable {
  package static let prefix = "client-"
  /// Maximum length of a name with the prefix, in bytes of UTF-8.
  package static let maximumNameLength = 200
  /// Maximum size of the data, in bytes of JSON.
  package static let maximumDataLength = 10_240

  package let channel: String
  package let name: String
  package let data: JSONValue

  /// Creates an event that every server accepts; adds a missing prefix to the name.
  package init(channel: String, name: String, data: JSONValue) throws(ClientEventError) {
    let kind = ChannelKind(channelName: channel)
    guard kind == .private || kind == .presence else { throw .wrongKind(channel: channel, kind) }
    let name = name.begins(with: Self.prefix) ? name : Self.prefix + name
    guard name.utf8.count > Self.prefix.utf8.count else { throw .emptyName }
    guard name.utf8.count <= Self.maximumNameLength else {
      throw .nameTooLong(bytes: name.utf8.count, limit: Self.maximumNameLength)
    }
    let length = data.jsonText.utf8.count
    guard length <= Self.maximumDataLength else {
      throw .dataTooLong(bytes: length, limit: Self.maximumDataLength)
    }
    (self.channel, self.name, self.data) = (channel, name, data)
  }
}

/// Reason why a client event is not sent.
public enum ClientEventError: Error, Sendable, Equatable, CustomStringConvertible {
  /// Nothing follows `client-`.
  case emptyName
  /// The name with `client-` exceeds the limit, in bytes of UTF-8.
  case nameTooLong(bytes: Int, limit: Int)
  /// Only private and presence channels take client events.
  case wrongKind(channel: String, ChannelKind)
  /// The data exceeds the limit, in bytes of JSON.
  case dataTooLong(bytes: Int, limit: Int)
  /// The queue of events that wait for the subscription is full.
  case queueFull(channel: String, limit: Int)
  /// The channel was unsubscribed, or cannot be subscribed to.
  case notSubscribed(channel: String)

  /// The error in words for the user.
  public var description: String {
    switch self {
    case .emptyName: "a client event needs a name"
    case .nameTooLong(let bytes, let limit):
      "the name of a client event has at most \(limit) bytes; this one has \(bytes)"
    case .wrongKind(let channel, let kind):
      "client events need a private or presence channel; '\(channel)' is \(kind)"
    case .dataTooLong(let bytes, let limit):
      "the data of a client event has at most \(limit) bytes; this event has \(bytes)"
    case .queueFull(let channel, let limit):
      "\(limit) client events already wait for the subscription of '\(channel)'"
    case .notSubscribed(let channel): "'\(channel)' is not subscribed"
    }
  }
}
