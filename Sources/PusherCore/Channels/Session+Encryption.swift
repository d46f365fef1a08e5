/// Events of an encrypted channel that wait for a new key, in order.
struct Rekeying: Equatable {
  /// Maximum size of waiting events, in bytes; further events are reported as lost.
  static let limit = 1 << 20

  private(set) var messages: [[UInt8]] = []
  private var bytes = 0

  mutating func append(_ message: ByteView) -> Bool {
    guard bytes + message.count <= Self.limit else { return false }
    bytes += message.count
    messages.append(message.array)
    return true
  }
}

/// Decrypts events of the usual shape with the keys that opened the last ones.
struct EventDecryptor {
  private static let capacity = 8

  let plainText = ByteBuffer()
  private let cipherText = ByteBuffer()
  private let room = OpeningRoom()
  private var reader: PlainEventReader
  private var keys: [(channel: [UInt8], key: ChannelKey)] = []
  /// The keys are valid while ``SubscriptionTable/changes`` stays the same.
  private var changes = 0

  init(service: PusherService) {
    reader = PlainEventReader(protocolPrefix: service.commonPrefix, readsEncrypted: true)
  }

  mutating func restart(service: PusherService) {
    reader = PlainEventReader(protocolPrefix: service.commonPrefix, readsEncrypted: true)
    keys.removeAll()
  }

  /// Returns `nil` for an event of another shape or without a remembered key.
  func opened(_ message: ByteView, _ changes: Int) -> Envelope? {
    guard let parts = reader.read(message, buffer: cipherText),
      let key = key(of: parts.channel, changes)
    else { return nil }
    plainText.removeAll()
    guard key.open(parts.data, into: plainText, using: room), UTF8Validator.isValid(plainText.view)
    else { return nil }
    return Envelope(message, event: parts.event, channel: parts.channel, plainData: plainText.view)
  }

  private func key(of channel: ByteView, _ changes: Int) -> ChannelKey? {
    guard changes == self.changes else { return nil }
    return keys.first { channel.equals($0.channel) }?.key
  }

  mutating func remember(_ key: ChannelKey, of channel: ByteView, _ changes: Int) {
    guard self.key(of: channel, changes) == nil else { return }
    if changes != self.changes || keys.count >= Self.capacity { keys.removeAll() }
    self.changes = changes
    keys.append((channel.array, key))
  }
}

/// Decrypts the events of encrypted channels.
///
/// If a key does not decrypt an event, the app may have replaced it. The session then asks for
/// authorisation once, and later events wait. It reports the events that still do not decrypt.
extension Session {
  mutating func deliver(_ envelope: Envelope, at now: Instant) -> Received {
    guard let token = envelope.channelToken, Self.mayBeEncrypted(token),
      let channel = envelope.channelName, ChannelKind(channelName: channel) == .encrypted
    else { return .event(envelope, name: nil) }
    if subscriptions[channel]?.rekeying != nil {
      if subscriptions[channel]?.rekeying?.append(envelope.message) == false {
        reportUndecrypted(envelope, channel, "too many events wait for a new key")
      }
      return .handled
    }
    guard let key = subscriptions[channel]?.key else {
      reportUndecrypted(envelope, channel, "the channel has no key")
      return .handled
    }
    do throws(DecryptionError) {
      let plain = try key.open(envelope.data)
      if subscriptions[channel]?.rekeyedAt != nil { subscriptions[channel]?.rekeyedAt = nil }
      decryptor.remember(key, of: token, subscriptions.changes)
      return .event(envelope.decrypted(plain, into: decryptor.plainText), name: nil)
    } catch {
      if error == .wrongKey, askForNewKey(channel, envelope, at: now) { return .handled }
      reportUndecrypted(envelope, channel, "\(error)")
      return .handled
    }
  }

  /// Excludes most other channels cheaply; escapes can hide the beginning of a name.
  private static func mayBeEncrypted(_ token: ByteView) -> Bool {
    token.begins(with: "private-encrypted-") || token.isEscaped
  }

  /// Asks for authorisation again, unless a new key has just failed to help.
  private mutating func askForNewKey(
    _ channel: String, _ envelope: Envelope, at now: Instant
  ) -> Bool {
    guard let socketID, let subscription = subscriptions[channel] else { return false }
    if let last = subscription.rekeyedAt, last.duration(to: now) < options.connectTimeout {
      return false
    }
    var rekeying = Rekeying()
    guard rekeying.append(envelope.message) else { return false }
    subscriptions[channel]?.rekeying = rekeying
    subscriptions[channel]?.rekeyedAt = now
    ask(.channel(channel), socketID)
    return true
  }

  mutating func rekeyed(_ channel: String, _ rekeying: Rekeying, _ result: Authorization.Result) {
    subscriptions[channel]?.rekeying = nil
    let key: ChannelKey
    do throws(AuthorizationFailure) {
      key = try Self.key(of: try result.get())
    } catch {
      giveUp(rekeying, channel, "the key does not match, and there is no new key: \(error.reason)")
      return
    }
    subscriptions[channel]?.key = key
    for message in rekeying.messages { deliverLate(message, channel, key) }
  }

  private mutating func deliverLate(_ message: [UInt8], _ channel: String, _ key: ChannelKey) {
    Envelope.with(message) { envelope in
      do throws(DecryptionError) {
        let plain = try key.open(envelope.data)
        subscriptions[channel]?.rekeyedAt = nil
        emit(.deliver(envelope.decrypted(plain, into: decryptor.plainText).message.array))
      } catch { reportUndecrypted(envelope, channel, "\(error); a new key did not help") }
    }
  }

  mutating func giveUp(_ rekeying: Rekeying, _ channel: String, _ reason: String) {
    for message in rekeying.messages {
      Envelope.with(message) { reportUndecrypted($0, channel, reason) }
    }
  }

  private mutating func reportUndecrypted(
    _ envelope: Envelope, _ channel: String, _ reason: String
  ) {
    report(
      .decryptionFailed(
        channel: channel, event: envelope.eventName, data: envelope.dataText, reason: reason))
  }

  static func key(of auth: Authorization) throws(AuthorizationFailure) -> ChannelKey {
    guard let secret = auth.sharedSecret else {
      throw .unusable("the answer has no \"shared_secret\", which encrypted channels need")
    }
    do throws(EncryptionKeyError) {
      return try ChannelKey(sharedSecret: secret)
    } catch {
      throw .unusable(error == .notBuilt ? "\(error)" : "\"shared_secret\" is \(error)")
    }
  }
}
