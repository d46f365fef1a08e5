internal import CSystemOpenSSL

package enum Digest {
  /// Returns the 20 bytes of SHA-1 for the handshake of RFC 6455 section 4.2.2; never for security.
  package static func sha1(_ bytes: [UInt8]) -> [UInt8] {
    unsafe [UInt8](unsafeUninitializedCapacity: 20) { output, count in
      unsafe pusher_SHA1(bytes, bytes.count, output.baseAddress)
      count = 20
    }
  }

  /// Returns the 16 bytes of MD5 for the HTTP API's `body_md5`; never for security.
  package static func md5(_ bytes: [UInt8]) -> [UInt8] { unsafe digest(bytes, EVP_md5(), 16) }
  package static func sha256(_ bytes: [UInt8]) -> [UInt8] { unsafe digest(bytes, EVP_sha256(), 32) }

  /// Returns the 32 bytes of HMAC-SHA256 (RFC 2104), as in every Pusher signature.
  package static func hmacSHA256(_ message: [UInt8], key: [UInt8]) -> [UInt8] {
    pusher_start_openssl()
    return unsafe [UInt8](unsafeUninitializedCapacity: 32) { output, count in
      // For OpenSSL a null key means "keep the last one".
      let keyBytes = key.isEmpty ? [0] : key
      var written: UInt32 = 0
      let result = unsafe HMAC(
        EVP_sha256(), keyBytes, Int32(key.count), message, message.count, output.baseAddress,
        &written)
      unsafe precondition(result != nil && written == 32, "OpenSSL has no HMAC-SHA256")
      count = 32
    }
  }

  private static func digest(_ bytes: [UInt8], _ algorithm: OpaquePointer?, _ size: Int) -> [UInt8]
  {
    pusher_start_openssl()
    return unsafe [UInt8](unsafeUninitializedCapacity: size) { output, count in
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
