internal import CSystemOpenSSL

// Pinned keys: the server's key must be a known one, besides or instead of a trusted chain.
extension TLSEngine {
  /// Refuses a peer whose public key is not pinned; without pins every peer passes.
  func checkPins() throws(TLSError) {
    guard !context.pins.isEmpty else { return }
    guard let certificate = unsafe SSL_get1_peer_certificate(connection) else {
      throw .setup(reason: "the server showed no certificate to compare with the pinned key")
    }
    defer { unsafe X509_free(certificate) }
    let seen = try unsafe Self.pin(of: certificate)
    guard context.pins.contains(seen) else {
      throw .publicKey(seen: seen, subject: unsafe Self.subject(of: certificate))
    }
  }

  private static func pin(of certificate: OpaquePointer) throws(TLSError) -> PublicKeyPin {
    let key = unsafe X509_get_X509_PUBKEY(certificate)
    let length = unsafe i2d_X509_PUBKEY(key, nil)
    guard length > 0 else { throw .setup(reason: OpenSSLErrors.cause()) }
    let encoded = ByteBuffer(capacity: Int(length))
    var end: UnsafeMutablePointer<UInt8>? = unsafe encoded.tail
    guard unsafe i2d_X509_PUBKEY(key, &end) == length else {
      throw .setup(reason: OpenSSLErrors.cause())
    }
    encoded.commit(Int(length))
    var digest = [UInt8](repeating: 0, count: 32)
    guard
      unsafe EVP_Digest(encoded.view.base, encoded.count, &digest, nil, EVP_sha256(), nil) == 1,
      let pin = PublicKeyPin(digest: digest)
    else { throw .setup(reason: OpenSSLErrors.cause()) }
    return pin
  }
}
