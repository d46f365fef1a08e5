internal import PusherCore

/// A secret that cannot be printed by accident: every description of it is `<secret>`.
struct Secret: Equatable, Sendable {
  let revealed: String

  init(_ text: String) { revealed = text }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  var description: String { "<secret>" }
  var debugDescription: String { "<secret>" }
  /// Empty, so that `dump` and string interpolation of an enclosing value hide the secret too.
  var customMirror: Mirror { Mirror(self, children: []) }
}

/// A regular file with the app's secret.
struct SecretFile: Equatable, Sendable {
  let path: String
  /// The option or variable that names it.
  let origin: String
}

extension SettingsReader {
  static let encryptionKeyVariable = "PUSHER_ENCRYPTION_MASTER_KEY"

  /// Reads the master key from the option's file or the variable; `nil` if no channel needs it.
  ///
  /// - Parameter isWelcome: Uses the variable also if no channel needs the key.
  mutating func encryptionKey(
    for channel: String?, orIfThere isWelcome: Bool = false
  ) throws(UsageError) -> EncryptionMasterKey? {
    let path = typed.text(.encryptionKeyFile)
    let variable = [namedFile, environment, fallbackFile].lazy.compactMap {
      $0?.first(Self.encryptionKeyVariable)
    }.first
    guard channel != nil || path != nil || isWelcome && variable != nil else { return nil }
    let origin: String
    let text: String
    if let path {
      origin = "--encryption-key-file"
      text = try confidentialText(in: path, origin)
    } else if let variable {
      (origin, text) = (variable.origin, variable.value)
    } else {
      throw UsageError(
        "\(channel ?? "the channel") is encrypted: give --encryption-key-file or "
          + Self.encryptionKeyVariable)
    }
    return try UsageError.explaining(
      "\(origin): the key is ", try EncryptionMasterKey(base64: text))
  }
}

extension TriggerRequest {
  /// Returns the event, encrypted if its channel needs it.
  func encrypted(with key: EncryptionMasterKey?) throws -> TriggerRequest {
    guard let channel = channels.first(where: { ChannelKind(channelName: $0) == .encrypted }) else {
      return self
    }
    guard let key else { throw MissingEncryptionKey(channel: channel) }
    return try encrypted(with: key, nonce: SecureRandom.bytes(SecretBox.nonceLength))
  }
}

struct MissingEncryptionKey: Error, CustomStringConvertible {
  let channel: String

  var description: String {
    "\(channel) is encrypted: give --encryption-key-file or \(SettingsReader.encryptionKeyVariable)"
  }
}
