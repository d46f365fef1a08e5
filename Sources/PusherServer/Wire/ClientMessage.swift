internal import PusherCore

enum ClientMessage: Equatable {
  /// `auth` is empty or absent for public channels.
  case subscribe(channel: String, auth: String, channelData: String?)
  case unsubscribe(channel: String)
  case signIn(auth: String, userData: String)
  case ping
  case pong
  /// Event for the other subscribers; `data` as sent.
  case clientEvent(name: String, channel: String, data: JSONValue?)
  /// Unknown event of the protocol, or an application event without `client-`.
  case unknown(name: String)
  case malformed(String)

  /// Reads a message; `data` of protocol events may be an object, or a string that holds one.
  init(_ bytes: ByteView, service: PusherService) {
    let value: JSONValue
    do throws(JSONError) {
      value = try JSONParser.parse(bytes)
    } catch {
      self = .malformed("the message is \(error)")
      return
    }
    guard let name = value["event"]?.text else {
      self = .malformed("the message's event is missing or not a string")
      return
    }
    if let command = name.dropping(prefix: service.eventPrefix) {
      let data = Self.object(value["data"])
      self = Self.command(command, data, name)
    } else if name.begins(with: "client-") {
      guard let channel = value["channel"]?.text else {
        self = .malformed("the client event '\(name)' names no channel")
        return
      }
      self = .clientEvent(name: name, channel: channel, data: value["data"])
    } else {
      self = .unknown(name: name)
    }
  }

  private static func command(_ command: String, _ data: JSONValue, _ name: String) -> Self {
    switch command {
    case "ping": return .ping
    case "pong": return .pong
    case "signin":
      guard let userData = data["user_data"]?.text else {
        return .malformed("user_data is not a string, so it cannot be checked")
      }
      return .signIn(auth: data["auth"]?.text ?? "", userData: userData)
    case "subscribe", "unsubscribe":
      guard let channel = data["channel"]?.text else {
        return .malformed("\(name) names no channel")
      }
      guard command == "subscribe" else { return .unsubscribe(channel: channel) }
      let channelData = data["channel_data"]
      guard channelData == nil || channelData == .null || channelData?.text != nil else {
        return .malformed("channel_data is not a string, so it cannot be checked")
      }
      return .subscribe(
        channel: channel, auth: data["auth"]?.text ?? "",
        channelData: channelData?.text.flatMap { $0.isEmpty ? nil : $0 })
    default: return .unknown(name: name)
    }
  }

  private static func object(_ data: JSONValue?) -> JSONValue {
    guard case .string(let text) = data else { return data ?? .null }
    return (try? JSONParser.parse(text)) ?? .null
  }
}
