internal import PusherCore
internal import PusherServer

/// An event on a ``PusherTestServer``.
public enum PusherTestEvent: Sendable, Equatable {
  /// A client connected.
  case connected(socketID: String)
  /// A client disconnected; `code` is from the close frame, if there was one.
  case disconnected(socketID: String, code: Int?)
  /// A subscription was confirmed; `userID` is set on presence channels.
  case subscribed(socketID: String, channel: String, userID: String?)
  /// A subscription was refused, with the reason sent to the client.
  case subscriptionRefused(socketID: String, channel: String, reason: String)
  /// A client unsubscribed from a channel.
  case unsubscribed(socketID: String, channel: String)
  /// A client signed in as a user.
  case signedIn(socketID: String, userID: String)
  /// An event of the HTTP API was sent to this number of clients.
  case event(name: String, channel: String, data: String, recipients: Int)
  /// A client event was relayed to this number of other clients.
  case clientEvent(socketID: String, name: String, channel: String, recipients: Int)
  /// An HTTP request was answered with this status.
  case request(method: String, path: String, status: Int)
  /// Any other event, in words.
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
