internal import CSystemOpenSSL

extension TLSEngine {
  /// Rejects a peer whose public key is not pinned; without pins, accepts every peer.
  func checkPins() throws(TLSError) {
    guard !context.pins.isEmpty else { return }
    guard let certificate = unsafe SSL_get1_peer_certificate(connection) else {
      throw .setup(reason: "the server sent no certificate to compare with the pinned key")
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
    guard length > 0 else { throw .lastFailure }
    let encoded = ByteBuffer(capacity: Int(length))
    var end: UnsafeMutablePointer<UInt8>? = unsafe encoded.tail
    guard unsafe i2d_X509_PUBKEY(key, &end) == length else { throw .lastFailure }
    encoded.commit(Int(length))
    var digest = [UInt8](repeating: 0, count: 32)
    guard unsafe EVP_Digest(encoded.view.base, encoded.count, &digest, nil, EVP_sha256(), nil) == 1,
      let pin = PublicKeyPin(digest: digest)
    else { throw .lastFailure }
    return pin
  }
}

/// SHA-256 of a certificate's public key (SubjectPublicKeyInfo, DER), as pinned by RFC 7469.
public struct PublicKeyPin: Sendable, Hashable, CustomStringConvertible {
  /// 32 bytes.
  public let digest: [UInt8]

  /// Makes a pin from a digest of 32 bytes; `nil` for another length.
  public init?(digest: [UInt8]) {
    guard digest.count == 32 else { return nil }
    self.digest = digest
  }

  /// Parses 44 characters of Base64 after `sha256//` (curl's form), `sha256/` or no prefix.
  public init?(_ text: String) {
    // The length decides on the prefix: the Base64 of every 64th key begins with "/" itself.
    for prefix in ["", "sha256/", "sha256//"]
    where text.hasPrefix(prefix) && text.utf8.count == prefix.utf8.count + 44 {
      guard let digest = Base64.decode(String(text.dropFirst(prefix.count))) else { return nil }
      self.init(digest: digest)
      return
    }
    return nil
  }

  /// The pin with the prefix `sha256/`.
  public var description: String { "sha256/\(Base64.encode(digest))" }
}
