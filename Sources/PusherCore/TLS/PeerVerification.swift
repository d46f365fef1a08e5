internal import CSystemOpenSSL

// Who the other side has to be: the name or address that is asked for and checked, and the words for a certificate
// that does not fit.
extension TLSEngine {
  /// Asks for `peerName` and has certificates checked against it (RFC 6066 section 3, RFC 9525 section 6).
  func expectPeer() throws(TLSError) {
    let here = unsafe Unmanaged.passUnretained(self).toOpaque()
    // Place 0 is OpenSSL's "application data".
    guard unsafe SSL_set_ex_data(connection, 0, here) == 1 else {
      throw .setup(reason: OpenSSLErrors.cause())
    }
    if unsafe SSL_get_verify_mode(connection) != SSL_VERIFY_NONE {
      unsafe SSL_set_verify(connection, SSL_VERIFY_PEER) { accepted, store in
        unsafe TLSEngine.note(accepted, store)
      }
    }
    let given = peerName ?? ""
    let name = Self.comparable(given)
    // To OpenSSL an empty name means "any", and a zero byte ends the name.
    guard !name.isEmpty && !name.utf8.contains(0) else {
      throw .setup(reason: "a client needs the name of the server")
    }
    OpenSSLErrors.clear()
    if unsafe X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(connection), name) == 1 { return }
    OpenSSLErrors.clear()
    unsafe SSL_set_hostflags(connection, UInt32(X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS))
    guard unsafe SSL_set1_host(connection, name) == 1,
      unsafe pusher_SSL_set_tlsext_host_name(connection, name) == 1
    else {
      throw .setup(reason: "'\(given)' is no name a certificate can be for")
    }
  }

  /// A name as certificates spell it: without the root's dot and without an address's zone.
  private static func comparable(_ name: String) -> String {
    if name.contains(":"), let zone = name.firstIndex(of: "%") { return String(name[..<zone]) }
    return name.hasSuffix(".") ? String(name.dropLast()) : name
  }

  /// OpenSSL's question whether to go on with the chain: the first objection is noted, and stands.
  private static func note(_ accepted: Int32, _ store: OpaquePointer?) -> Int32 {
    let index = SSL_get_ex_data_X509_STORE_CTX_idx()
    guard accepted != 1,
      let connection = unsafe X509_STORE_CTX_get_ex_data(store, index),
      let here = unsafe SSL_get_ex_data(OpaquePointer(connection), 0)
    else { return accepted }
    let engine = unsafe Unmanaged<TLSEngine>.fromOpaque(here).takeUnretainedValue()
    let code = unsafe X509_STORE_CTX_get_error(store)
    engine.objection = .certificate(
      reason: engine.words(for: code),
      subject: unsafe subject(of: X509_STORE_CTX_get_current_cert(store)))
    return 0
  }

  private func words(for code: Int32) -> String {
    let words = unsafe String(cString: X509_verify_cert_error_string(Int(code)))
    switch code {
    case X509_V_ERR_HOSTNAME_MISMATCH, X509_V_ERR_IP_ADDRESS_MISMATCH:
      return "\(words), it is not for \(peerName ?? "this host")"
    default:
      return words
    }
  }

  /// A certificate's subject as RFC 2253 writes it, control characters escaped.
  private static func subject(of certificate: OpaquePointer?) -> String? {
    guard let certificate = unsafe certificate, let text = unsafe BIO_new(BIO_s_mem()) else {
      return nil
    }
    defer { unsafe BIO_free(text) }
    guard unsafe pusher_X509_NAME_print(text, X509_get_subject_name(certificate)) >= 0 else {
      return nil
    }
    let buffer = ByteBuffer(capacity: 256)
    let pending = unsafe BIO_ctrl_pending(text)
    buffer.reserve(pending)
    var count = 0
    guard unsafe BIO_read_ex(text, buffer.tail, pending, &count) == 1 else { return nil }
    buffer.commit(count)
    return buffer.view.text
  }
}
