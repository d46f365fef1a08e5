internal import PusherCore

/// The channels of a run of `subscribe`, and the state of each.
final class ChannelMembership {
  /// State of a channel on the present connection.
  enum State {
    case unwanted
    /// The server has not answered yet.
    case expected
    case subscribed, refused
  }

  let feed: ChannelsFeed
  /// Channels of the command line; their refusal can end the run.
  private let typed: NameSet
  private var wanted: NameSet
  /// Channels without an answer on this connection.
  private var missing: NameSet
  /// Channels of the command line that were never subscribed in this run.
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
  var areAllSettled: Bool { missing.isEmpty }
  var isAnyAllowed: Bool { refused.count < wanted.count }
  func isTyped(_ channel: String) -> Bool { typed.contains(channel) }
  var isComplete: Bool { neverSubscribed.isEmpty }
  func never(of channels: [String]) -> [String] { channels.filter(neverSubscribed.contains) }

  func state(of channel: String) -> State {
    guard wanted.contains(channel) else { return .unwanted }
    if refused.contains(channel) { return .refused }
    return missing.contains(channel) ? .expected : .subscribed
  }

  func counts(isConnected: Bool) -> (subscribed: Int, expected: Int, refused: Int) {
    // Answers of an earlier connection do not count.
    guard isConnected else { return (0, count, 0) }
    let subscribed = max(count - missing.count - refused.count, 0)
    return (subscribed, missing.count, refused.count)
  }

  // MARK: Requests

  /// Subscribes to a channel; asks again for a refused one.
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

  // MARK: Answers of the server

  /// Resets the states: nothing is subscribed on a new connection.
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

  /// Stops waiting for a refused channel.
  func giveUp(_ channel: String) {
    neverSubscribed.remove(channel)
    missing.remove(channel)
  }
}
