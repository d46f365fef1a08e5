/// The app's key, from which the keys of its encrypted channels are derived; the service never sees it.
///
/// Source: Pusher's page "End-to-end encrypted channels".
public struct EncryptionMasterKey: Sendable, Equatable {
  /// Bytes of a master key.
  public static let length = 32

  private let bytes: [UInt8]

  /// The key that `text` stands for, base64 as the server libraries take it.
  ///
  /// - Throws: ``EncryptionKeyError`` for text that is not base64, and for any other length.
  public init(base64 text: String) throws(EncryptionKeyError) {
    bytes = try EncryptionKeyError.check(text, length: Self.length)
  }

  /// The base64 of a channel's own key: SHA-256 of the channel's name and the master key.
  public func sharedSecret(channel: String) -> String {
    Base64.encode(Digest.sha256(Array(channel.utf8) + bytes))
  }
}

extension EncryptionMasterKey: CustomStringConvertible, CustomReflectable {
  /// Nothing of the key.
  public var description: String { "<key>" }
  /// Nothing of the key.
  public var customMirror: Mirror { Mirror(self, children: []) }
}

/// What is wrong with a key; the message shows nothing of the key.
public enum EncryptionKeyError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The text is not base64.
  case notBase64
  /// The key has the first number of bytes, and needs the second.
  case wrongLength(Int, expected: Int)
  /// The library was built without the package's trait `Encryption`.
  case notBuilt

  /// What is wrong, in the words of a message to the user.
  public var description: String {
    switch self {
    case .notBase64: "not base64"
    case .wrongLength(let length, let expected):
      "the base64 of \(length) bytes instead of \(expected)"
    case .notBuilt:
      "this build has no encrypted channels: build it with the package trait Encryption"
    }
  }

  fileprivate static func check(
    _ text: String, length: Int
  ) throws(EncryptionKeyError) -> [UInt8] {
    guard let bytes = Base64.decode(text) else { throw .notBase64 }
    guard bytes.count == length else { throw .wrongLength(bytes.count, expected: length) }
    return bytes
  }
}

/// The key of one encrypted channel: decrypts and encrypts the `data` of events.
///
/// `data` is `{"nonce":BASE64,"ciphertext":BASE64}`, a ``SecretBox`` whose nonce is drawn anew for each event.
package struct ChannelKey: Sendable, Equatable {
  private let box: SecretBox

  /// The key that `text` stands for, the `shared_secret` of an authorisation.
  ///
  /// - Throws: ``EncryptionKeyError`` for text that is not base64, and for any other length than 32 bytes.
  package init(sharedSecret text: String) throws(EncryptionKeyError) {
    guard SecretBox.isBuilt else { throw .notBuilt }
    let bytes = try EncryptionKeyError.check(text, length: SecretBox.keyLength)
    guard let box = SecretBox(key: bytes) else {
      throw .wrongLength(bytes.count, expected: SecretBox.keyLength)
    }
    self.box = box
  }

  /// What an event's `data` holds.
  ///
  /// - Throws: ``DecryptionError``, which distinguishes a wrong key from data that no key can decrypt.
  package func open(_ data: JSONValue) throws(DecryptionError) -> [UInt8] {
    let nonce = try Self.bytes("nonce", of: data)
    let ciphertext = try Self.bytes("ciphertext", of: data)
    guard nonce.count == SecretBox.nonceLength else {
      throw .malformed("the nonce has \(nonce.count) bytes instead of \(SecretBox.nonceLength)")
    }
    guard ciphertext.count >= SecretBox.tagLength else {
      throw .malformed("the ciphertext is shorter than its tag")
    }
    guard let plain = box.open(ciphertext, nonce: nonce) else { throw .wrongKey }
    return plain
  }

  /// `data` for an event, as JSON text.
  package func seal(_ plain: [UInt8], nonce: [UInt8]) -> String {
    let ciphertext = Base64.encode(box.seal(plain, nonce: nonce))
    return JSONWriter.text(
      .object(texts: ["nonce": Base64.encode(nonce), "ciphertext": ciphertext]))
  }

  private static func bytes(
    _ name: String, of data: JSONValue
  ) throws(DecryptionError) -> [UInt8] {
    guard case .object = data else { throw .malformed("the data is not a JSON object") }
    guard let text = data[name]?.text else {
      throw .malformed("the data has no \"\(name)\" string")
    }
    guard let bytes = Base64.decode(text) else { throw .malformed("the \(name) is not base64") }
    return bytes
  }
}

/// Why an event could not be decrypted.
package enum DecryptionError: Error, Equatable, CustomStringConvertible {
  /// No key can decrypt it.
  case malformed(String)
  /// It was made with another key, or tampered with.
  case wrongKey

  package var description: String {
    switch self {
    case .malformed(let reason): reason
    case .wrongKey: "the key does not open it"
    }
  }
}
