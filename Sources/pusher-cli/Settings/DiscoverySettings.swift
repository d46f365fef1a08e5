internal import PusherCore

struct DiscoverySettings: Equatable, Sendable {
  var patterns: [String]
  var interval: Duration
  var limit: Int
  var access: APIAccess
}

extension SettingsReader {
  /// Splits typed names into channels and patterns, and reads the settings for the patterns.
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

  /// Channel names have none of these characters.
  static func isPattern(_ name: String) -> Bool {
    name.utf8.contains { [UInt8(ascii: "*"), UInt8(ascii: "?"), UInt8(ascii: "[")].contains($0) }
  }
}
