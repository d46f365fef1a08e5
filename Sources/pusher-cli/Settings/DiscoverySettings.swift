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
    var patterns = names.filter(Self.isPattern)
    guard typed.command == .subscribe else {
      guard let pattern = patterns.first else { return (names, nil) }
      throw UsageError("channel '\(pattern)': only subscribe takes patterns")
    }
    let asking = [Flag.discover, .maxChannels].filter {
      typed.text($0) != nil && typed.origin($0) == nil
    }
    if names.isEmpty, asking.contains(.discover) { patterns = ["*"] }
    guard let pattern = patterns.first else {
      guard let flag = asking.first else { return (names, nil) }
      throw UsageError(
        "\(flag.spelling) is for patterns: give one as a channel, such as 'private-*'")
    }
    try Self.check(patterns: patterns, of: "channel")
    let settings = DiscoverySettings(
      patterns: patterns, interval: typed.time(.discover), limit: typed.number(.maxChannels),
      access: try access(for: pattern))
    return (names.filter { !Self.isPattern($0) }, settings)
  }

  private mutating func access(for pattern: String) throws(UsageError) -> APIAccess {
    do throws(UsageError) {
      return try apiAccess()
    } catch {
      throw UsageError("'\(pattern)' is a pattern, which needs the HTTP API; \(error.message)")
    }
  }

  /// Channel names have none of these characters.
  static func isPattern(_ name: String) -> Bool {
    name.utf8.contains { [UInt8(ascii: "*"), UInt8(ascii: "?"), UInt8(ascii: "[")].contains($0) }
  }
}
