/// Builds the messages that a client sends, as JSON text.
package struct ClientCommand: Sendable {
  private let prefix: String

  package init(service: PusherService) { prefix = service.eventPrefix }

  /// `auth` and `channel_data` go out byte for byte as signed.
  package func subscribe(channel: String, auth: Authorization?) -> String {
    message(
      "subscribe",
      .object(texts: ["channel": channel, "auth": auth?.auth, "channel_data": auth?.data]))
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
