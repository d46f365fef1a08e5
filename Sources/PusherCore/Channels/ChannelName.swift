/// Kind of a channel, as its name's prefix tells.
public enum ChannelKind: Sendable, Equatable {
  case `public`
  case `private`
  case presence
  /// `private-encrypted-`: the events are encrypted end to end.
  case encrypted

  /// Reads the kind from the prefix of `name`.
  public init(channelName name: String) {
    if name.begins(with: "private-encrypted-") {
      self = .encrypted
    } else if name.begins(with: "private-") {
      self = .private
    } else if name.begins(with: "presence-") {
      self = .presence
    } else {
      self = .public
    }
  }

  /// True if a subscription must carry a signature.
  public var needsAuthorization: Bool { self != .public }
}

/// Type of a channel in PusherSwift's terms, where an encrypted channel is private.
public enum PusherChannelType: Sendable, Equatable {
  /// `private-` and `private-encrypted-`.
  case `private`
  case presence
  /// Every other name.
  case normal

  /// Reads the type from the prefix of `name`.
  public init(name: String) {
    switch ChannelKind(channelName: name) {
    case .private, .encrypted: self = .private
    case .presence: self = .presence
    case .public: self = .normal
    }
  }

  /// Returns the type of a channel, from the prefix of its name.
  public static func type(forName name: String) -> PusherChannelType {
    PusherChannelType(name: name)
  }

  /// Reports whether the name is that of a presence channel.
  public static func isPresenceChannel(name: String) -> Bool {
    PusherChannelType(name: name) == .presence
  }
}

/// Rules for channel names.
public enum ChannelName {
  /// Maximum length that Pusher documents; servers and libraries accept ``maximumLength``.
  public static let documentedLength = 164
  /// Maximum length on every server.
  public static let maximumLength = 200

  /// Reports whether new subscribers get the channel's last event: the prefix ends with `cache-`.
  public static func isCache(_ name: String) -> Bool {
    ["cache-", "private-cache-", "presence-cache-", "private-encrypted-cache-"]
      .contains { name.begins(with: $0) }
  }

  /// Returns the problem with a name; `nil` if the name is valid.
  ///
  /// Legal are `A-Z a-z 0-9 _ - = @ , . ;` and, at the front, the `#` of user channels.
  public static func problem(in name: String) -> String? {
    if name.isEmpty { return "a channel name cannot be empty" }
    if name.utf8.count > maximumLength {
      return "a channel name has at most \(maximumLength) characters; "
        + "this one has \(name.utf8.count)"
    }
    for (index, byte) in name.utf8.enumerated() where !isLegal(byte, at: index) {
      let character = Unicode.Scalar(byte)
      let shown = byte > 0x20 && byte < 0x7F ? "'\(character)'" : "byte 0x\(Hex.encode([byte]))"
      return "\(shown) is not allowed in a channel name (use A-Z a-z 0-9 _ - = @ , . ;)"
    }
    return nil
  }

  private static func isLegal(_ byte: UInt8, at index: Int) -> Bool {
    isLegal(byte) || byte == UInt8(ascii: "#") && index == 0
  }

  static func isLegal(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"),
      UInt8(ascii: "="), UInt8(ascii: "@"), UInt8(ascii: ","), UInt8(ascii: "."), UInt8(ascii: ";"):
      true
    default: false
    }
  }
}

/// The channel for a user's own events.
public enum UserChannel {
  /// Prefix of such channels.
  public static let prefix = "#server-to-user-"
  /// Maximum length of a user ID on Pusher, in characters.
  public static let maximumIDLength = 128

  /// Returns the channel of a user.
  public static func name(userID: String) -> String { prefix + userID }

  /// Returns the user of such a channel; `nil` for every other channel.
  public static func userID(channelName name: String) -> String? {
    guard let id = name.dropping(prefix: prefix), !id.isEmpty else { return nil }
    return id
  }
}
