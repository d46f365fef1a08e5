internal import PusherCore

/// A message for sockets of one app, on whatever node they are.
enum BusMessage: Sendable {
  /// For the subscribers of a channel, but not for the socket `except`.
  case channel(String, SharedFrame, except: String?)
  /// For the sockets whose users watch a user, but not for the socket `except`.
  case watchers(String, SharedFrame, except: String?)
  /// Closes the sockets of a user.
  case terminate(userID: String)

  /// The memory that it holds while it waits, roughly, in bytes.
  var size: Int {
    switch self {
    case .channel(_, let frame, _), .watchers(_, let frame, _): frame.view.count + 128
    case .terminate: 128
    }
  }
}

/// An event for a channel's subscribers.
struct ChannelEvent {
  let name: String
  let channel: String
  /// As the sender gave it.
  let data: JSONValue?
  /// The sending client's user, on presence channels.
  var userID: JSONValue?
  /// The socket that does not get it.
  var excluded: String?
  /// Whether a client sent it.
  var isFromClient = false
  /// Whether a cache channel keeps it: events of the API are kept, those of clients not.
  var isKept = false

  /// The message for the subscribers, encoded once.
  func message(_ text: MessageText) -> BusMessage {
    .channel(channel, SharedFrame(text.event(self), channel: channel), except: excluded)
  }
}

/// Carries messages to the hubs of all nodes, to each in the same order.
protocol Bus: AnyObject {
  /// Sends an event to the subscribers of its channel; answers to how many it went, `nil` where nobody knows.
  ///
  /// An excluded socket of another node may be counted.
  func publish(_ event: ChannelEvent, at now: Instant) -> Int?
  /// Tells once everything that was published so far is on its way to all nodes, or that it may be lost.
  func whenPublished(_ done: @escaping (_ isPublished: Bool) -> Void)
  /// Whether other nodes can be reached now.
  var isAvailable: Bool { get }
  /// Closes the sockets of a user on all nodes.
  func terminate(userID: String, at now: Instant)
}

/// Takes what a bus brings.
protocol BusReceiver: AnyObject {
  /// Hands a message to the sockets here; answers to how many.
  @discardableResult
  func deliver(_ message: BusMessage, at now: Instant) -> Int
}

/// The place of a hub among the nodes of its app.
typealias HubNode = Bus & Registry
