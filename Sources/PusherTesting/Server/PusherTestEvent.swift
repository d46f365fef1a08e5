internal import PusherCore
internal import PusherServer

/// Something that happened on a ``PusherTestServer``.
public enum PusherTestEvent: Sendable, Equatable {
  /// A client has connected.
  case connected(socketID: String)
  /// A client is gone; with the code of the close frame, if there was one.
  case disconnected(socketID: String, code: Int?)
  /// A client was confirmed on a channel; with the user on a presence channel.
  case subscribed(socketID: String, channel: String, userID: String?)
  /// A client may not subscribe to a channel; with the reason that it was told.
  case subscriptionRefused(socketID: String, channel: String, reason: String)
  /// A client has unsubscribed from a channel.
  case unsubscribed(socketID: String, channel: String)
  /// A client has signed in as a user.
  case signedIn(socketID: String, userID: String)
  /// An event of the HTTP API went to so many clients.
  case event(name: String, channel: String, data: String, recipients: Int)
  /// An event of a client went to so many others.
  case clientEvent(socketID: String, name: String, channel: String, recipients: Int)
  /// A request over HTTP was answered with this status.
  case request(method: String, path: String, status: Int)
  /// Anything else, in words.
  case other(String)

  init(_ event: ServerLogEvent) {
    switch event {
    case .connected(let socketID): self = .connected(socketID: socketID)
    case .disconnected(let socketID, let code, _):
      self = .disconnected(socketID: socketID, code: code)
    case .subscribed(let socketID, let channel, let userID):
      self = .subscribed(socketID: socketID, channel: channel, userID: userID)
    case .subscriptionRefused(let socketID, let channel, let reason):
      self = .subscriptionRefused(socketID: socketID, channel: channel, reason: reason)
    case .unsubscribed(let socketID, let channel):
      self = .unsubscribed(socketID: socketID, channel: channel)
    case .signedIn(let socketID, let userID): self = .signedIn(socketID: socketID, userID: userID)
    case .event(let name, let channel, let data, let recipients):
      self = .event(
        name: name, channel: channel, data: data.text ?? data.jsonText, recipients: recipients ?? 0)
    case .clientEvent(let socketID, let name, let channel, _, let recipients):
      self = .clientEvent(
        socketID: socketID, name: name, channel: channel, recipients: recipients ?? 0)
    case .request(let method, let path, let status, _):
      self = .request(method: method, path: path, status: status)
    default: self = .other(event.description)
    }
  }
}
