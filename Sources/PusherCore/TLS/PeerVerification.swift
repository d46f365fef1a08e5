internal import CSystemOpenSSL

extension TLSEngine {
  /// Sends `peerName` and checks certificates against it (RFC 6066 section 3, RFC 9525 section 6).
  func expectPeer() throws(TLSError) {
    let here = unsafe Unmanaged.passUnretained(self).toOpaque()
    // Place 0 is OpenSSL's "application data".
    guard unsafe SSL_set_ex_data(connection, 0, here) == 1 else { throw .lastFailure }
    if unsafe SSL_get_verify_mode(connection) != SSL_VERIFY_NONE {
      unsafe SSL_set_verify(connection, SSL_VERIFY_PEER) { accepted, store in
        unsafe TLSEngine.note(accepted, store)
      }
    }
    let given = peerName ?? ""
    let name = Self.comparable(given)
    // For OpenSSL, an empty name means "any", and a zero byte ends the name.
    guard !name.isEmpty && !name.utf8.contains(0) else {
      throw .setup(reason: "a client needs the name of the server")
    }
    OpenSSLErrors.clear()
    if unsafe X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(connection), name) == 1 { return }
    OpenSSLErrors.clear()
    unsafe SSL_set_hostflags(connection, UInt32(X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS))
    guard unsafe SSL_set1_host(connection, name) == 1,
      unsafe pusher_SSL_set_tlsext_host_name(connection, name) == 1
    else { throw .setup(reason: "'\(given)' cannot be the name in a certificate") }
  }

  /// Returns the name in the form of certificates: without the root's dot or an address's zone.
  private static func comparable(_ name: String) -> String {
    if name.contains(":"), let zone = name.firstIndex(of: "%") { return String(name[..<zone]) }
    return name.hasSuffix(".") ? String(name.dropLast()) : name
  }

  /// OpenSSL's callback for each problem of the chain; keeps the first.
  private static func note(_ accepted: Int32, _ store: OpaquePointer?) -> Int32 {
    let index = SSL_get_ex_data_X509_STORE_CTX_idx()
    guard accepted != 1, let connection = unsafe X509_STORE_CTX_get_ex_data(store, index),
      let here = unsafe SSL_get_ex_data(OpaquePointer(connection), 0)
    else { return accepted }
    let engine = unsafe Unmanaged<TLSEngine>.fromOpaque(here).takeUnretainedValue()
    let certificate = unsafe X509_STORE_CTX_get_current_cert(store)
    engine.objection = unsafe engine.objection(
      X509_STORE_CTX_get_error(store), to: certificate, subject: subject(of: certificate))
    return 0
  }

  private func objection(_ code: Int32, to certificate: OpaquePointer?, subject: String?)
    -> TLSError
  {
    func unknown(_ reason: String) -> TLSError {
      .unknownAuthority(reason: reason, subject: subject)
    }
    func unfit(_ reason: String) -> TLSError { .certificate(reason: reason, subject: subject) }
    let words = unsafe String(cString: X509_verify_cert_error_string(Int(code)))
    switch code {
    case X509_V_ERR_HOSTNAME_MISMATCH, X509_V_ERR_IP_ADDRESS_MISMATCH:
      return unfit("\(words), it is not for \(peerName ?? "this host")")
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return unfit("it expired on \(unsafe Self.time(X509_get0_notAfter(certificate)))")
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return unfit("it is valid only from \(unsafe Self.time(X509_get0_notBefore(certificate)))")
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY, X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT,
      X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
      let issuer = unsafe Self.issuer(of: certificate).map { "issuer '\($0)'" } ?? "its issuer"
      return unknown("\(issuer) is unknown here")
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
      return unknown("it is self-signed and not trusted")
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
      return unknown("its root certificate is not trusted")
    case X509_V_ERR_CERT_CHAIN_TOO_LONG:
      let limit = TLSContext.maximumIntermediates
      return unfit("its chain has more than \(limit) intermediate certificates")
    default: return unfit(words)
    }
  }

  /// Returns a certificate's subject in the form of RFC 2253, with control characters escaped.
  static func subject(of certificate: OpaquePointer?) -> String? {
    guard let certificate = unsafe certificate else { return nil }
    return unsafe text {
      unsafe pusher_X509_NAME_print($0, X509_get_subject_name(certificate)) >= 0
    }
  }

  static func issuer(of certificate: OpaquePointer?) -> String? {
    guard let certificate = unsafe certificate else { return nil }
    return unsafe text { unsafe pusher_X509_NAME_print($0, X509_get_issuer_name(certificate)) >= 0 }
  }

  /// Returns a time in OpenSSL's form, such as `Dec 31 23:59:59 2020 GMT`.
  private static func time(_ time: UnsafePointer<ASN1_TIME>?) -> String {
    unsafe text { unsafe ASN1_TIME_print($0, time) == 1 } ?? "an unknown date"
  }

  private static func text(_ writer: (OpaquePointer) -> Bool) -> String? {
    guard let text = unsafe BIO_new(BIO_s_mem()) else { return nil }
    defer { unsafe BIO_free(text) }
    guard unsafe writer(text) else { return nil }
    let buffer = ByteBuffer(capacity: 256)
    let pending = unsafe BIO_ctrl_pending(text)
    buffer.reserve(pending)
    var count = 0
    guard unsafe BIO_read_ex(text, buffer.tail, pending, &count) == 1 else { return nil }
    buffer.commit(count)
    return buffer.view.text
  }
}

extension TLSEngine {
  /// OpenSSL's callback for the peer's request for a certificate; 1 continues the handshake.
  static func noteRequest(_ connection: OpaquePointer?) -> Int32 {
    guard let connection = unsafe connection, unsafe SSL_is_server(connection) == 0,
      let here = unsafe SSL_get_ex_data(connection, 0)
    else { return 1 }
    let engine = unsafe Unmanaged<TLSEngine>.fromOpaque(here).takeUnretainedValue()
    engine.wasAskedForCertificate = true
    return 1
  }

  /// Returns the error for an alert about our certificate, if the peer asked for one.
  func refusalOfCertificate(_ cause: OpenSSLErrors.Entry) -> TLSError? {
    guard wasAskedForCertificate, cause.library == ERR_LIB_SSL else { return nil }
    // Alerts of RFC 8446 section 6.2 that a server may send for a certificate.
    let alerts = [40, 42, 43, 44, 45, 46, 48, 49, 116].map { SSL_AD_REASON_OFFSET + $0 }
    guard alerts.contains(cause.reason) else { return nil }
    return .clientCertificate(given: context.hasCertificate, reason: cause.text)
  }
}
