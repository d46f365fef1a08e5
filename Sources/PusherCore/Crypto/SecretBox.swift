#if Encryption
  internal import CSystemSodium
#endif

/// Authenticated encryption with one shared key: NaCl's secretbox (XSalsa20 and Poly1305).
///
/// The first box starts libsodium, so that runs without one do not pay for it. There is no box
/// without the package's trait `Encryption`. Source: the NaCl page "Secret-key authenticated
/// encryption".
package struct SecretBox: Sendable {
  package static let keyLength = 32
  /// Length of a nonce, in bytes; never use a nonce twice with one key.
  package static let nonceLength = 24
  /// Length of the tag in front of the encrypted content, in bytes.
  package static let tagLength = 16

  #if Encryption
    package static let isBuilt = true
    private static let isReady = sodium_init() >= 0
  #else
    package static let isBuilt = false
    /// Prevents boxes without the cipher.
    private let missing: Never
  #endif

  private let key: [UInt8]

  #if Encryption
    /// Makes a box with `key`; `nil` unless that has ``keyLength`` bytes.
    package init?(key: [UInt8]) {
      guard key.count == Self.keyLength else { return nil }
      precondition(Self.isReady, "libsodium found no source of random numbers")
      self.key = key
    }

    /// Returns the content of `box`; `nil` if box, nonce and key do not match.
    package func open(_ box: [UInt8], nonce: [UInt8]) -> [UInt8]? {
      let input = ByteBuffer(capacity: box.count + nonce.count)
      let output = ByteBuffer(capacity: box.count)
      input.append(box)
      input.append(nonce)
      let bytes = input.view
      let isOpen = open(bytes[0..<box.count], nonce: bytes[box.count..<bytes.count], into: output)
      return isOpen ? output.array : nil
    }

    /// Appends the content of `box`; returns false if box, nonce and key do not match.
    package func open(_ box: ByteView, nonce: ByteView, into output: ByteBuffer) -> Bool {
      guard box.count >= Self.tagLength, nonce.count == Self.nonceLength else { return false }
      let length = box.count - Self.tagLength
      output.reserve(length)
      guard
        unsafe crypto_secretbox_open_easy(
          output.tail, box.base, UInt64(box.count), nonce.base, key) == 0
      else { return false }
      output.commit(length)
      return true
    }

    /// Encrypts `message`; stops the program unless `nonce` has ``nonceLength`` bytes.
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
  #else
    package init?(key: [UInt8]) { return nil }

    package func open(_ box: [UInt8], nonce: [UInt8]) -> [UInt8]? { switch missing {} }

    package func open(_ box: ByteView, nonce: ByteView, into output: ByteBuffer) -> Bool {
      switch missing {}
    }

    package func seal(_ message: [UInt8], nonce: [UInt8]) -> [UInt8] { switch missing {} }
  #endif
}

extension SecretBox: Equatable {
  package static func == (left: SecretBox, right: SecretBox) -> Bool {
    Digest.equalInConstantTime(left.key, right.key)
  }
}

extension SecretBox: CustomStringConvertible, CustomReflectable {
  package var description: String { "<key>" }
  package var customMirror: Mirror { Mirror(self, children: []) }
}
