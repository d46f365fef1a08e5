package import PusherCore

/// A message for sockets of one app, on whatever node they are.
package enum BusMessage: Sendable {
  /// For the subscribers of a channel, but not for the socket `except`.
  case channel(String, SharedFrame, except: String?)
  /// For the sockets whose users watch a user, but not for the socket `except`.
  case watchers(String, SharedFrame, except: String?)
  /// Closes the sockets of a user.
  case terminate(userID: String)
}

/// An event for a channel's subscribers.
package struct ChannelEvent {
  package let name: String
  package let channel: String
  /// As the sender gave it.
  package let data: JSONValue?
  /// The sending client's user, on presence channels.
  var userID: JSONValue?
  /// The socket that does not get it.
  package var excluded: String?
  /// Whether a client sent it.
  package var isFromClient = false
  /// Whether a cache channel keeps it: events of the API are kept, those of clients not.
  package var isKept = false

  package init(
    name: String, channel: String, data: JSONValue?, userID: JSONValue? = nil,
    excluded: String? = nil, isFromClient: Bool = false, isKept: Bool = false
  ) {
    (self.name, self.channel, self.data, self.userID) = (name, channel, data, userID)
    (self.excluded, self.isFromClient, self.isKept) = (excluded, isFromClient, isKept)
  }

  /// The message for the subscribers, encoded once.
  func message(_ text: MessageText) -> BusMessage {
    .channel(channel, SharedFrame(text.event(self), channel: channel), except: excluded)
  }
}
