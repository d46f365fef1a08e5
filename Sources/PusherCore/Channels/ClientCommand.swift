/// The messages that a client sends, as JSON text.
package struct ClientCommand: Sendable {
  private let prefix: String

  package init(service: Service) {
    prefix = service.eventPrefix
  }

  /// `pusher:subscribe`; `auth` and `channel_data` go out byte for byte as they were signed.
  package func subscribe(channel: String, auth: Authorization?) -> String {
    var data: [JSONValue.Member] = [.init("channel", .string(channel))]
    if let auth {
      data.append(.init("auth", .string(auth.auth)))
      if let channelData = auth.data {
        data.append(.init("channel_data", .string(channelData)))
      }
    }
    return message("subscribe", .object(data))
  }

  /// `pusher:signin`; both parts go out byte for byte as they were signed.
  package func signIn(_ user: Authorization) -> String {
    message(
      "signin",
      .object([
        .init("auth", .string(user.auth)), .init("user_data", .string(user.data ?? "")),
      ]))
  }

  /// `pusher:unsubscribe`; the protocol has no answer to it.
  package func unsubscribe(channel: String) -> String {
    message("unsubscribe", .object([.init("channel", .string(channel))]))
  }

  /// A client event; its name is never translated.
  package func clientEvent(_ event: ClientEvent) -> String {
    JSONWriter.text(
      .object([
        .init("event", .string(event.name)), .init("channel", .string(event.channel)),
        .init("data", event.data),
      ]))
  }

  /// `pusher:ping`.
  package var ping: String { message("ping", .object([])) }

  /// `pusher:pong`.
  package var pong: String { message("pong", .object([])) }

  private func message(_ name: String, _ data: JSONValue) -> String {
    JSONWriter.text(.object([.init("event", .string(prefix + name)), .init("data", data)]))
  }
}
