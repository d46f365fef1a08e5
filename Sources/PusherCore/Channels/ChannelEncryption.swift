/// The app's master key, from which the keys of its encrypted channels are derived.
///
/// The service never sees it. Source: Pusher's page "End-to-end encrypted channels".
public struct EncryptionMasterKey: Sendable, Equatable {
  /// Length of a master key, in bytes.
  public static let length = 32

  private let bytes: [UInt8]

  /// Decodes a key from base64, as the server libraries take it.
  ///
  /// - Throws: ``EncryptionKeyError`` for text that is not base64, and for any other length.
  public init(base64 text: String) throws(EncryptionKeyError) {
    bytes = try EncryptionKeyError.check(text, length: Self.length)
  }

  /// Returns the base64 of a channel's own key: SHA-256 of the channel's name and the master key.
  public func sharedSecret(channel: String) -> String {
    Base64.encode(Digest.sha256(Array(channel.utf8) + bytes))
  }
}

extension EncryptionMasterKey: CustomStringConvertible, CustomReflectable {
  /// Hides the key.
  public var description: String { "<key>" }
  /// Hides the key.
  public var customMirror: Mirror { Mirror(self, children: []) }
}

/// Reason why a key is invalid; the message shows nothing of the key.
public enum EncryptionKeyError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The text is not base64.
  case notBase64
  /// The key has another length than expected; both are in bytes.
  case wrongLength(Int, expected: Int)
  /// The library was built without the package's trait `Encryption`.
  case notBuilt

  /// The error in words for the user.
  public var description: String {
    switch self {
    case .notBase64: "not base64"
    case .wrongLength(let length, let expected):
      "the base64 of \(length) bytes instead of \(expected)"
    case .notBuilt:
      "this build does not support encrypted channels: build it with the package trait Encryption"
    }
  }

  fileprivate static func check(_ text: String, length: Int) throws(EncryptionKeyError) -> [UInt8] {
    guard let bytes = Base64.decode(text) else { throw .notBase64 }
    guard bytes.count == length else { throw .wrongLength(bytes.count, expected: length) }
    return bytes
  }
}

/// Key of one encrypted channel.
///
/// `data` of an event is `{"nonce":BASE64,"ciphertext":BASE64}`, a ``SecretBox`` with a new nonce.
package struct ChannelKey: Sendable, Equatable {
  private let box: SecretBox

  /// Decodes the `shared_secret` of an authorisation: the base64 of 32 bytes.
  package init(sharedSecret text: String) throws(EncryptionKeyError) {
    guard SecretBox.isBuilt else { throw .notBuilt }
    let bytes = try EncryptionKeyError.check(text, length: SecretBox.keyLength)
    guard let box = SecretBox(key: bytes) else {
      throw .wrongLength(bytes.count, expected: SecretBox.keyLength)
    }
    self.box = box
  }

  /// Decrypts the `data` of an event.
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

  /// Appends decrypted JSON text; `false`, with nothing appended, if ``open(_:)`` must decide.
  package func open(_ text: ByteView, into output: ByteBuffer, using room: OpeningRoom) -> Bool {
    let isTaken =
      Self.usualMembers(of: text).map { room.takes(nonce: $0.nonce, $0.ciphertext) } ?? false
      || (try? Self.members(of: text)).map { room.takes(escapedNonce: $0.nonce, $0.ciphertext) }
        ?? false
    return isTaken && box.open(room.box.view, nonce: room.nonce.view, into: output)
  }

  /// Finds the members in text of the usual shape; only decoding proves the shape.
  private static func usualMembers(of text: ByteView) -> (nonce: ByteView, ciphertext: ByteView)? {
    let (before, between) = (#"{"nonce":""# as StaticString, #"","ciphertext":""# as StaticString)
    let nonce = before.utf8CodeUnitCount
    let nonceEnd = nonce + (SecretBox.nonceLength + 2) / 3 * 4
    let ciphertext = nonceEnd + between.utf8CodeUnitCount
    let end = text.count - 2
    guard end >= ciphertext, text.begins(with: before), text[nonceEnd..<end].begins(with: between),
      text[end] == UInt8(ascii: "\""), text[end + 1] == UInt8(ascii: "}")
    else { return nil }
    return (text[nonce..<nonceEnd], text[ciphertext..<end])
  }

  /// Finds the two members of an object that has no others.
  private static func members(
    of text: ByteView
  ) throws(JSONError) -> (nonce: ByteView, ciphertext: ByteView)? {
    var cursor = JSONCursor(text)
    cursor.skipWhitespace()
    var nonce: ByteView?
    var ciphertext: ByteView?
    var count = 0
    try cursor.eachPart { name, value in
      count += 1
      if name?.equals("nonce") == true { nonce = value.unquoted }
      if name?.equals("ciphertext") == true { ciphertext = value.unquoted }
    }
    try cursor.requireEnd()
    guard count == 2, let nonce, let ciphertext else { return nil }
    return (nonce, ciphertext)
  }

  package func seal(_ plain: [UInt8], nonce: [UInt8]) -> String {
    let ciphertext = Base64.encode(box.seal(plain, nonce: nonce))
    return JSONWriter.text(
      .object(texts: ["nonce": Base64.encode(nonce), "ciphertext": ciphertext]))
  }

  private static func bytes(_ name: String, of data: JSONValue) throws(DecryptionError) -> [UInt8] {
    guard case .object = data else { throw .malformed("the data is not a JSON object") }
    guard let text = data[name]?.text else {
      throw .malformed("the data has no \"\(name)\" string")
    }
    guard let bytes = Base64.decode(text) else { throw .malformed("the \(name) is not base64") }
    return bytes
  }
}

/// Scratch buffers, so that events need no allocations of their own.
package struct OpeningRoom {
  let nonce = ByteBuffer(capacity: 64)
  let box = ByteBuffer(capacity: 1024)
  private let text = ByteBuffer(capacity: 64)

  package init() {}

  fileprivate func takes(nonce nonceText: ByteView, _ boxText: ByteView) -> Bool {
    nonce.removeAll()
    box.removeAll()
    return Base64.decode(nonceText, into: nonce) && Base64.decode(boxText, into: box)
  }

  /// Unescapes first: PHP escapes each slash of base64.
  fileprivate func takes(escapedNonce nonceText: ByteView, _ boxText: ByteView) -> Bool {
    nonce.removeAll()
    box.removeAll()
    return Base64.decode(unescaped(nonceText), into: nonce)
      && Base64.decode(unescaped(boxText), into: box)
  }

  private func unescaped(_ string: ByteView) -> ByteView {
    guard string.isEscaped else { return string }
    text.removeAll()
    JSONString.decode(string, into: text)
    return text.view
  }
}

package enum DecryptionError: Error, Equatable, CustomStringConvertible {
  /// No key can decrypt the data.
  case malformed(String)
  /// The data was encrypted with another key, or tampered with.
  case wrongKey

  package var description: String {
    switch self {
    case .malformed(let reason): reason
    case .wrongKey: "the key does not match"
    }
  }
}
