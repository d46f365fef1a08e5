/// What the command line may say about a channel's name.
enum ChannelNames {
  /// The longest name the hosted service takes.
  static let hostedLimit = 164
  /// The longest name any known server takes.
  static let limit = 200

  /// Whether someone has to allow the subscription.
  static func needsAuthorization(_ name: String) -> Bool {
    name.hasPrefix("private-") || isPresence(name)
  }

  static func isPresence(_ name: String) -> Bool { name.hasPrefix("presence-") }

  /// Checks characters, length and kind.
  ///
  /// - Returns: a warning for a name that some servers refuse.
  /// - Throws: ``UsageError`` for a name that no server takes, and for encrypted channels.
  static func check(_ name: String) throws(UsageError) -> String? {
    guard !name.isEmpty else { throw UsageError("a channel name is empty") }
    if let stranger = name.first(where: { !isAllowed($0) }) {
      throw UsageError(
        "channel '\(name)': '\(stranger)' is not allowed; use letters, digits and _-=@,.;")
    }
    guard name.count <= limit else {
      throw UsageError(
        "channel '\(name.prefix(32))…' has \(name.count) characters; the limit is \(limit)")
    }
    guard !name.hasPrefix("private-encrypted-") else {
      throw UsageError("channel '\(name)': encrypted channels are not supported")
    }
    guard name.count > hostedLimit else { return nil }
    return "channel '\(name.prefix(32))…' has \(name.count) characters; "
      + "Pusher Channels takes \(hostedLimit)"
  }

  private static func isAllowed(_ character: Character) -> Bool {
    guard let byte = character.asciiValue else { return false }
    return switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"):
      true
    default:
      "_-=@,.;".utf8.contains(byte)
    }
  }
}

extension SettingsReader {
  /// The channels typed as options and operands, each once, in order.
  mutating func channels(_ names: [String]) throws(UsageError) -> [String] {
    var channels: [String] = []
    for name in names where !channels.contains(name) {
      if let warning = try ChannelNames.check(name) { warn(warning) }
      channels.append(name)
    }
    return channels
  }
}
