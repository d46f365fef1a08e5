internal import PusherCore

// What the servers read from the names of channels and events.
extension Dialect {
  /// What a channel's name says about it.
  ///
  /// Reverb looks at the words alone, without the dash behind them, and knows no encrypted channels: to it they are
  /// private ones.
  func kind(of channel: String) -> ChannelKind {
    guard self == .reverb else { return ChannelKind(channelName: channel) }
    if channel.begins(with: "private") { return .private }
    return channel.begins(with: "presence") ? .presence : .public
  }

  /// Whether new subscribers get a channel's last event.
  func isCache(_ channel: String) -> Bool {
    guard self == .reverb else { return ChannelName.isCache(channel) }
    return ["cache", "private-cache-", "presence-cache-"].contains { channel.begins(with: $0) }
  }

  /// Why a name cannot be a channel's; Reverb takes all but the empty one.
  func problem(inChannel name: String) -> String? {
    self == .reverb && !name.isEmpty ? nil : ChannelName.problem(in: name)
  }

  /// Why a name cannot be an event's; Reverb takes all but the empty one.
  func problem(inEvent name: String) -> String? {
    self == .reverb && !name.isEmpty ? nil : EventName.problem(in: name)
  }
}
