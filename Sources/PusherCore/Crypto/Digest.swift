internal import CSystemOpenSSL
internal import Synchronization

package enum Digest {
  /// Returns the 20 bytes of SHA-1 for the handshake of RFC 6455 section 4.2.2; never for security.
  package static func sha1(_ bytes: [UInt8]) -> [UInt8] {
    unsafe [UInt8](unsafeUninitializedCapacity: 20) { output, count in
      unsafe pusher_SHA1(bytes, bytes.count, output.baseAddress)
      count = 20
    }
  }

  // OpenSSL looks an algorithm up for longer than it takes for a short text. Safe, because an
  // algorithm never changes.
  nonisolated(unsafe) private static let md5 = unsafe algorithm("MD5")
  nonisolated(unsafe) private static let sha256 = unsafe algorithm("SHA256")

  private static func algorithm(_ name: String) -> OpaquePointer? {
    pusher_start_openssl()
    return unsafe EVP_MD_fetch(nil, name, nil)
  }

  /// Returns the 16 bytes of MD5 for the HTTP API's `body_md5`; never for security.
  package static func md5(_ bytes: [UInt8]) -> [UInt8] { unsafe digest(bytes, md5, 16) }
  package static func sha256(_ bytes: [UInt8]) -> [UInt8] { unsafe digest(bytes, sha256, 32) }

  /// Returns the 32 bytes of HMAC-SHA256 (RFC 2104), as in every Pusher signature.
  package static func hmacSHA256(_ message: [UInt8], key: [UInt8]) -> [UInt8] {
    keyed.withLock { keyed in
      if let known = keyed[key] { return known.sign(message) }
      if keyed.count == keptKeys { keyed.removeAll() }
      let new = KeyedHMAC(key)
      keyed[key] = new
      return new.sign(message)
    }
  }

  private static let keptKeys = 64
  private static let keyed = Mutex<[[UInt8]: KeyedHMAC]>([:])

  private static func digest(_ bytes: [UInt8], _ algorithm: OpaquePointer?, _ size: Int) -> [UInt8]
  {
    unsafe [UInt8](unsafeUninitializedCapacity: size) { output, count in
      let result = unsafe EVP_Digest(bytes, bytes.count, output.baseAddress, nil, algorithm, nil)
      precondition(result == 1, "OpenSSL lacks a digest")
      count = size
    }
  }

  /// Returns whether two signatures are equal, in constant time; their lengths are not secret.
  package static func equalInConstantTime(_ left: [UInt8], _ right: [UInt8]) -> Bool {
    guard left.count == right.count else { return false }
    return unsafe CRYPTO_memcmp(left, right, left.count) == 0
  }
}

/// HMAC-SHA256 with one key, which OpenSSL prepares for longer than it signs a short text.
///
/// Safe, because the context belongs to this object alone and is only copied.
@safe private final class KeyedHMAC {
  private let context: OpaquePointer?

  init(_ key: [UInt8]) {
    pusher_start_openssl()
    // For OpenSSL a null key means "keep the last one".
    unsafe context = pusher_hmac(key.isEmpty ? [0] : key, key.count)
  }

  deinit { unsafe EVP_MAC_CTX_free(context) }

  func sign(_ message: [UInt8]) -> [UInt8] {
    unsafe [UInt8](unsafeUninitializedCapacity: 32) { output, count in
      let copy = unsafe EVP_MAC_CTX_dup(context)
      defer { unsafe EVP_MAC_CTX_free(copy) }
      let isSigned =
        unsafe copy != nil && EVP_MAC_update(copy, message, message.count) == 1
        && EVP_MAC_final(copy, output.baseAddress, &count, 32) == 1
      precondition(isSigned && count == 32, "OpenSSL has no HMAC-SHA256")
    }
  }
}
