internal import CSystemSodium

/// Authenticated encryption with one key for both sides: NaCl's secretbox (XSalsa20 and Poly1305), computed by
/// libsodium.
///
/// The library is started with the first box, so that runs without one do not pay for it. Source: the NaCl page
/// "Secret-key authenticated encryption".
package struct SecretBox: Sendable {
  /// Bytes of a key.
  package static let keyLength = 32
  /// Bytes of a nonce, which must never serve twice under one key.
  package static let nonceLength = 24
  /// By how many bytes a box is longer than its content; the tag stands first.
  package static let tagLength = 16

  private static let isReady = sodium_init() >= 0

  private let key: [UInt8]

  /// A box under `key`; `nil` unless that has ``keyLength`` bytes.
  package init?(key: [UInt8]) {
    guard key.count == Self.keyLength else { return nil }
    precondition(Self.isReady, "libsodium found no source of random numbers")
    self.key = key
  }

  /// The content of `box`; `nil` when box, nonce and key do not belong together, or the nonce has not ``nonceLength``
  /// bytes.
  package func open(_ box: [UInt8], nonce: [UInt8]) -> [UInt8]? {
    guard box.count >= Self.tagLength, nonce.count == Self.nonceLength else { return nil }
    let length = box.count - Self.tagLength
    var isGenuine = false
    // One byte more, since an empty array has no address.
    let message = unsafe [UInt8](unsafeUninitializedCapacity: length + 1) { output, count in
      if let base = output.baseAddress {
        isGenuine =
          unsafe crypto_secretbox_open_easy(base, box, UInt64(box.count), nonce, key) == 0
      }
      count = isGenuine ? length : 0
    }
    return isGenuine ? message : nil
  }

  /// `message` in a box; stops the program unless `nonce` has ``nonceLength`` bytes.
  package func seal(_ message: [UInt8], nonce: [UInt8]) -> [UInt8] {
    precondition(nonce.count == Self.nonceLength, "a nonce has 24 bytes")
    return unsafe [UInt8](unsafeUninitializedCapacity: message.count + Self.tagLength) {
      output, count in
      if let base = output.baseAddress,
        unsafe crypto_secretbox_easy(base, message, UInt64(message.count), nonce, key) == 0
      {
        count = message.count + Self.tagLength
      }
    }
  }
}

extension SecretBox: Equatable {
  /// Whether both have the same key, compared in constant time.
  package static func == (left: SecretBox, right: SecretBox) -> Bool {
    Digest.equalInConstantTime(left.key, right.key)
  }
}

extension SecretBox: CustomStringConvertible, CustomReflectable {
  /// Nothing of the key.
  package var description: String { "<key>" }
  package var customMirror: Mirror { Mirror(self, children: []) }
}
