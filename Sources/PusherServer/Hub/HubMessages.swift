package import PusherCore

/// A message for sockets of one app on any node.
package enum BusMessage: Sendable {
  /// For the subscribers of a channel, except one socket.
  case channel(String, SharedFrame, except: String?)
  /// For sockets whose users watch a user, except one socket.
  case watchers(String, SharedFrame, except: String?)
  case terminate(userID: String)
}

package struct ChannelEvent {
  package let name: String
  package let channel: String
  package let data: JSONValue?
  /// User of the sending client, on presence channels.
  var userID: JSONValue?
  package var excluded: String?
  package var isFromClient = false
  /// True if a cache channel should store the event; only API events are stored.
  package var isKept = false

  package init(
    name: String, channel: String, data: JSONValue?, userID: JSONValue? = nil,
    excluded: String? = nil, isFromClient: Bool = false, isKept: Bool = false
  ) {
    (self.name, self.channel, self.data, self.userID) = (name, channel, data, userID)
    (self.excluded, self.isFromClient, self.isKept) = (excluded, isFromClient, isKept)
  }

  /// Message text, the same in every dialect.
  package var text: String {
    MessageText.event(name: name, channel: channel, data: data, userID: userID)
  }

  /// Message for the subscribers, encoded once.
  var message: BusMessage {
    .channel(channel, SharedFrame(text, channel: channel), except: excluded)
  }
}
