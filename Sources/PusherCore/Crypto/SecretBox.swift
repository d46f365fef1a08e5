#if Encryption
  internal import CSystemSodium
#endif

/// Authenticated encryption with one key for both sides: NaCl's secretbox (XSalsa20 and Poly1305), computed by
/// libsodium.
///
/// The library is started with the first box, so that runs without one do not pay for it. Without the package's trait
/// `Encryption` there is no library and no box. Source: the NaCl page "Secret-key authenticated encryption".
package struct SecretBox: Sendable {
  /// Bytes of a key.
  package static let keyLength = 32
  /// Bytes of a nonce, which must never serve twice under one key.
  package static let nonceLength = 24
  /// By how many bytes a box is longer than its content; the tag stands first.
  package static let tagLength = 16

  #if Encryption
    /// Whether this build has the cipher.
    package static let isBuilt = true
    private static let isReady = sodium_init() >= 0
  #else
    package static let isBuilt = false
    /// What no box without the cipher has, so that there is none.
    private let missing: Never
  #endif

  private let key: [UInt8]

  #if Encryption
    /// A box under `key`; `nil` unless that has ``keyLength`` bytes.
    package init?(key: [UInt8]) {
      guard key.count == Self.keyLength else { return nil }
      precondition(Self.isReady, "libsodium found no source of random numbers")
      self.key = key
    }

    /// The content of `box`; `nil` when box, nonce and key do not belong together, or the nonce has not ``nonceLength``
    /// bytes.
    package func open(_ box: [UInt8], nonce: [UInt8]) -> [UInt8]? {
      let input = ByteBuffer(capacity: box.count + nonce.count)
      let output = ByteBuffer(capacity: box.count)
      input.append(box)
      input.append(nonce)
      let bytes = input.view
      let isOpen = open(
        bytes[0..<box.count], nonce: bytes[box.count..<bytes.count], into: output)
      return isOpen ? output.array : nil
    }

    /// Appends the content of `box`; `false`, with nothing appended, when box, nonce and key do not belong together, or the
    /// nonce has not ``nonceLength`` bytes.
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
  #else
    /// There is no box without the trait `Encryption`.
    package init?(key: [UInt8]) { return nil }

    /// Never called.
    package func open(_ box: [UInt8], nonce: [UInt8]) -> [UInt8]? { switch missing {} }

    /// Never called.
    package func open(_ box: ByteView, nonce: ByteView, into output: ByteBuffer) -> Bool {
      switch missing {}
    }

    /// Never called.
    package func seal(_ message: [UInt8], nonce: [UInt8]) -> [UInt8] { switch missing {} }
  #endif
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
