internal import PusherCore

/// What the command line adds to the library's rules for channel names.
enum ChannelNames {
  /// Whether someone has to allow the subscription.
  static func needsAuthorization(_ name: String) -> Bool {
    ChannelKind(channelName: name).needsAuthorization
  }

  static func isPresence(_ name: String) -> Bool { ChannelKind(channelName: name) == .presence }

  /// Checks characters, length and kind.
  ///
  /// - Returns: a warning for a name that some servers refuse.
  /// - Throws: ``UsageError`` for a name that no server takes, and for kinds that are not supported.
  static func check(_ name: String) throws(UsageError) -> String? {
    if let problem = ChannelName.problem(in: name) {
      throw UsageError("channel '\(shown(name))': \(problem)")
    }
    guard name.count > ChannelName.documentedLength else { return nil }
    return "channel '\(shown(name))' has \(name.count) characters; "
      + "Pusher Channels takes \(ChannelName.documentedLength)"
  }

  /// The name, cut where it would fill the screen.
  static func shown(_ name: String) -> String {
    name.count > 64 ? name.prefix(64) + "…" : name
  }
}

extension SettingsReader {
  /// The channels typed as options and operands, each once, in order.
  ///
  /// - Parameter toUsers: Whether the channel of a user is one of those that can be meant.
  mutating func channels(
    _ names: [String], toUsers: Bool = false
  ) throws(UsageError) -> [String] {
    var channels: [String] = []
    var known: Set<String> = []
    for name in names where known.insert(name).inserted {
      if name.hasPrefix("#"), !toUsers || UserChannel.userID(channelName: name) == nil {
        throw UsageError(
          "channel '\(ChannelNames.shown(name))': "
            + (toUsers
              ? "the channel of a user is '\(UserChannel.prefix)ID'"
              : "the events of a user come with --sign-in"))
      }
      if let warning = try ChannelNames.check(name) { warn(warning) }
      channels.append(name)
    }
    return channels
  }
}
