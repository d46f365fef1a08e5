internal import PusherCore

/// The patterns of channels to join, and how to look for them.
struct DiscoverySettings: Equatable, Sendable {
  /// As they were typed.
  var patterns: [String]
  /// How often the HTTP API is asked.
  var interval: Duration
  /// The most channels to join by patterns.
  var limit: Int
  var access: APIAccess
}

extension SettingsReader {
  /// Parts the names that were typed into channels and patterns, and settles how the patterns are looked for.
  ///
  /// - Throws: ``UsageError`` for a pattern without `--discover`, and the other way round; and when the HTTP API lacks
  ///   an app id or a secret.
  mutating func discovery(
    _ names: [String]
  ) throws(UsageError) -> (channels: [String], discovery: DiscoverySettings?) {
    let patterns = names.filter(Self.isPattern)
    guard let interval = typed.duration(.discover) else {
      guard let pattern = patterns.first else { return (names, nil) }
      throw UsageError(
        "channel '\(pattern)': a pattern needs --discover TIME, which joins the channels that match"
      )
    }
    guard !patterns.isEmpty else {
      throw UsageError("--discover needs a pattern: give one, as in --channel 'private-*'")
    }
    let settings = DiscoverySettings(
      patterns: patterns, interval: interval, limit: typed.number(.maxChannels),
      access: try apiAccess())
    return (names.filter { !Self.isPattern($0) }, settings)
  }

  /// No name of a channel holds one of these.
  private static func isPattern(_ name: String) -> Bool {
    name.utf8.contains { [UInt8(ascii: "*"), UInt8(ascii: "?"), UInt8(ascii: "[")].contains($0) }
  }
}
