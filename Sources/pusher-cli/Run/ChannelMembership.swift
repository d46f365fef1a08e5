internal import PusherCore

/// The channels of a run of `subscribe`: joins and leaves them, and knows how far each has come.
final class ChannelMembership {
  /// How far a channel has come on the present connection.
  enum State {
    case unwanted
    /// The server has not answered yet.
    case expected
    case subscribed
    case refused
  }

  /// The feed on which they are; another one follows when the run goes elsewhere.
  private(set) var feed: ChannelsFeed
  /// Those that the command line names; their refusal can end the run.
  private let typed: NameSet
  private var wanted: NameSet
  /// Not yet settled on this connection.
  private var missing: NameSet
  /// Typed ones that no connection of this run has subscribed yet.
  private var neverSubscribed: NameSet
  private var refused = NameSet()

  init(_ typed: [String], feed: ChannelsFeed) {
    self.feed = feed
    self.typed = NameSet(typed)
    wanted = self.typed
    missing = wanted
    neverSubscribed = wanted
  }

  var count: Int { wanted.count }
  var names: [String] { wanted.sorted }
  /// Those that were not refused on the present connection.
  var allowed: [String] { wanted.sorted.filter { !refused.contains($0) } }

  /// Whether the server has answered for every channel.
  var areAllSettled: Bool { missing.isEmpty }

  /// Whether a channel is left that was not refused.
  var isAnyAllowed: Bool { refused.count < wanted.count }

  func isTyped(_ channel: String) -> Bool { typed.contains(channel) }

  /// Whether every typed channel has been subscribed once, or was given up.
  var isComplete: Bool { neverSubscribed.isEmpty }

  /// Those of `channels` that have never been subscribed.
  func never(of channels: [String]) -> [String] { channels.filter(neverSubscribed.contains) }

  func state(of channel: String) -> State {
    guard wanted.contains(channel) else { return .unwanted }
    if refused.contains(channel) { return .refused }
    return missing.contains(channel) ? .expected : .subscribed
  }

  /// How many channels have come how far.
  func counts(isConnected: Bool) -> (subscribed: Int, expected: Int, refused: Int) {
    // Nothing that was said on an earlier connection counts.
    guard isConnected else { return (0, count, 0) }
    let subscribed = max(count - missing.count - refused.count, 0)
    return (subscribed, missing.count, refused.count)
  }

  /// Goes on with another feed, on which the wanted channels are subscribed too.
  func move(to feed: ChannelsFeed) {
    self.feed = feed
    let asked = NameSet(feed.session.channels)
    for channel in wanted.sorted where !asked.contains(channel) { feed.subscribe(channel) }
    for channel in asked.sorted
    where !wanted.contains(channel) && UserChannel.userID(channelName: channel) == nil {
      feed.unsubscribe(channel)
    }
  }

  // MARK: Wishes

  /// Joins a channel; one that was refused is asked for again.
  func join(_ channel: String) {
    if refused.contains(channel) { leave(channel) }
    guard wanted.insert(channel) else { return }
    missing.insert(channel)
    feed.subscribe(channel)
  }

  func leave(_ channel: String) {
    guard wanted.remove(channel) else { return }
    missing.remove(channel)
    neverSubscribed.remove(channel)
    refused.remove(channel)
    feed.unsubscribe(channel)
  }

  // MARK: The answers of the server

  /// There is a connection, on which nothing is subscribed yet.
  func connected() {
    missing = wanted
    refused.removeAll()
  }

  func subscribed(_ channel: String) {
    guard wanted.contains(channel) else { return }
    neverSubscribed.remove(channel)
    refused.remove(channel)
    missing.remove(channel)
  }

  func refuse(_ channel: String) {
    guard wanted.contains(channel) else { return }
    refused.insert(channel)
  }

  /// Nothing more is expected of a channel that was refused.
  func giveUp(_ channel: String) {
    neverSubscribed.remove(channel)
    missing.remove(channel)
  }
}
