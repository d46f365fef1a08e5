internal import PusherCore

extension SettingsReader {
  /// The channels typed as options and operands, each once, in order; warns of a name that some servers refuse.
  ///
  /// - Parameter toUsers: Whether the channel of a user is one of those that can be meant.
  mutating func channels(
    _ names: [String], toUsers: Bool = false
  ) throws(UsageError) -> [String] {
    var channels: [String] = []
    var known: Set<String> = []
    for name in names where known.insert(name).inserted {
      let shown = name.count > 64 ? name.prefix(64) + "…" : name
      if name.hasPrefix("#"), !toUsers || UserChannel.userID(channelName: name) == nil {
        throw UsageError(
          "channel '\(shown)': "
            + (toUsers
              ? "the channel of a user is '\(UserChannel.prefix)ID'"
              : "the events of a user come with --sign-in"))
      }
      if let problem = ChannelName.problem(in: name) {
        throw UsageError("channel '\(shown)': \(problem)")
      }
      if name.count > ChannelName.documentedLength {
        warn(
          "channel '\(shown)' has \(name.count) characters; "
            + "Pusher Channels takes \(ChannelName.documentedLength)")
      }
      channels.append(name)
    }
    return channels
  }
}
