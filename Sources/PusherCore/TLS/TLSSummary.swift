internal import CSystemOpenSSL

package struct TLSSummary: Sendable, Equatable {
  package let version: String
  /// Such as `TLS_AES_256_GCM_SHA384`.
  package let cipher: String
  /// Certificate's owner and issuer in the form of RFC 2253; empty without a certificate.
  package let subject: String
  package let issuer: String
  /// Whole days until the certificate expires, if known.
  package let daysLeft: Int?
}

extension TLSEngine {
  /// The protocol that both sides agreed on by ALPN (RFC 7301); `nil` for none.
  package var applicationProtocol: String? {
    var name: UnsafePointer<UInt8>?
    var length: UInt32 = 0
    unsafe SSL_get0_alpn_selected(connection, &name, &length)
    guard let first = unsafe name, length > 0 else { return nil }
    return unsafe String(
      decoding: UnsafeBufferPointer(start: first, count: Int(length)), as: UTF8.self)
  }

  package var summary: TLSSummary {
    let certificate = unsafe SSL_get1_peer_certificate(connection)
    defer { unsafe X509_free(certificate) }
    var days: Int32 = 0
    var seconds: Int32 = 0
    let expiry = unsafe certificate.map { unsafe X509_get0_notAfter($0) } ?? nil
    let isKnown = unsafe expiry != nil && ASN1_TIME_diff(&days, &seconds, nil, expiry) == 1
    let cipher = unsafe SSL_get_current_cipher(connection)
    let cipherName = unsafe cipher.flatMap { unsafe SSL_CIPHER_get_name($0) }
    return unsafe TLSSummary(
      version: String(cString: SSL_get_version(connection)),
      cipher: cipherName.map { unsafe String(cString: $0) } ?? "",
      subject: Self.subject(of: certificate) ?? "", issuer: Self.issuer(of: certificate) ?? "",
      daysLeft: isKnown ? Int(days) : nil)
  }
}
