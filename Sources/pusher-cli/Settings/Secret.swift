internal import PusherCore

/// An app secret that cannot be printed by accident: every description of it reads `<secret>`.
struct Secret: Equatable, Sendable {
  /// The secret itself, for signing only.
  let revealed: String

  init(_ text: String) {
    revealed = text
  }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  var description: String { "<secret>" }
  var debugDescription: String { "<secret>" }
  /// Empty, so that `dump` and string interpolation of an enclosing value show nothing either.
  var customMirror: Mirror { Mirror(self, children: []) }
}

extension SettingsReader {
  /// The variable that holds the key when no option names a file.
  static let encryptionKeyVariable = "PUSHER_ENCRYPTION_MASTER_KEY"

  /// The master key: the option's file, else the variable; `nil` when no channel needs one.
  ///
  /// - Parameters:
  ///   - channel: The encrypted channel that needs it, if there is one.
  ///   - isWelcome: Whether the variable counts also when no channel is known to need it.
  ///
  /// - Throws: ``UsageError`` when it is missing, or not the base64 of 32 bytes; the message shows nothing of it.
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
    do throws(EncryptionKeyError) {
      return try EncryptionMasterKey(base64: text)
    } catch {
      throw UsageError("\(origin): the key is \(error)")
    }
  }
}

extension TriggerRequest {
  /// The same event, encrypted when its channel wants that.
  ///
  /// - Throws: ``MissingEncryptionKey`` for an encrypted channel without a key, and ``TriggerError``.
  func encrypted(with key: EncryptionMasterKey?) throws -> TriggerRequest {
    guard let channel = channels.first(where: { ChannelKind(channelName: $0) == .encrypted }) else {
      return self
    }
    guard let key else { throw MissingEncryptionKey(channel: channel) }
    return try encrypted(with: key, nonce: SecureRandom.bytes(SecretBox.nonceLength))
  }
}

/// An event for an encrypted channel without what encrypts it.
struct MissingEncryptionKey: Error, CustomStringConvertible {
  let channel: String

  var description: String {
    "\(channel) is encrypted: give --encryption-key-file or \(SettingsReader.encryptionKeyVariable)"
  }
}
