internal import CSystemOpenSSL

/// Outcome of a read from a TLS engine or a socket.
package enum ReadResult: Equatable {
  case bytes(Int)
  /// No bytes now.
  case wouldBlock
  /// The other side closed the stream properly; with TLS, by close_notify.
  case end
}

/// One TLS connection without a socket: ciphertext in, plaintext out, and the reverse.
///
/// The owner passes bytes to ``receive(ciphertext:)`` and calls ``handshake()`` until it returns
/// true. Then it reads and writes. After each call, even a failed one, it sends the bytes from
/// ``drain(into:)``, which may hold an alert. A failed engine repeats its error.
@safe package final class TLSEngine {
  let connection: OpaquePointer
  private let incoming: OpaquePointer
  private let outgoing: OpaquePointer
  let context: TLSContext
  private let peerName: String?
  private var isEstablished = false
  private var failure: TLSError?
  /// First objection to the peer's certificate chain.
  private var objection: TLSError?
  private var wasAskedForCertificate = false

  /// True if a read or handshake needs bytes from the socket; else do not wait for the socket.
  package private(set) var needsInput = false

  /// Makes a connection of the context's role.
  ///
  /// A client accepts only a certificate for exactly `serverName`, a name or an address, unless the
  /// context is insecure. A server passes `nil`.
  package init(context: TLSContext, serverName: String? = nil) throws(TLSError) {
    OpenSSLError.clear()
    guard let connection = unsafe SSL_new(context.pointer) else { throw .lastFailure }
    guard let incoming = unsafe BIO_new(BIO_s_mem()), let outgoing = unsafe BIO_new(BIO_s_mem())
    else {
      unsafe SSL_free(connection)
      throw .lastFailure
    }
    // An empty incoming BIO means "not yet" until `inputEnded`.
    unsafe pusher_BIO_set_mem_eof_return(incoming, -1)
    unsafe SSL_set_bio(connection, incoming, outgoing)
    unsafe self.connection = connection
    unsafe self.incoming = incoming
    unsafe self.outgoing = outgoing
    self.context = context
    self.peerName = serverName
    if context.isServer {
      unsafe SSL_set_accept_state(connection)
    } else {
      unsafe SSL_set_connect_state(connection)
      try expectPeer()
    }
  }

  deinit { unsafe SSL_free(connection) }

  package func receive(ciphertext: ByteView) {
    guard !ciphertext.isEmpty else { return }
    var written = 0
    let result = unsafe BIO_write_ex(incoming, ciphertext.base, ciphertext.count, &written)
    precondition(result == 1 && written == ciphertext.count, "no memory for received ciphertext")
    needsInput = false
  }

  /// Marks the end of the network's input; reads then end as closed or with ``TLSError/cutShort``.
  package func inputEnded() {
    unsafe pusher_BIO_set_mem_eof_return(incoming, 0)
    needsInput = false
  }

  /// Continues the handshake; returns true when it is done, false if it needs more ciphertext.
  package func handshake() throws(TLSError) -> Bool {
    if let failure { throw failure }
    if isEstablished { return true }
    OpenSSLError.clear()
    let result = unsafe SSL_do_handshake(connection)
    if result == 1 {
      do throws(TLSError) {
        try checkPins()
      } catch {
        throw fail(error)
      }
      isEstablished = true
      return true
    }
    // WANT_READ, or SSL and SYSCALL for failures; memory BIOs never want to write.
    guard unsafe SSL_get_error(connection, result) != SSL_ERROR_WANT_READ else {
      needsInput = true
      return false
    }
    throw fail(handshakeError())
  }

  /// Appends at most `atMost` bytes of plaintext to `buffer`; an error comes with the next call.
  package func read(into buffer: ByteBuffer, atMost: Int) throws(TLSError)
    -> ReadResult
  {
    if let failure { throw failure }
    precondition(isEstablished && atMost > 0, "read before the handshake was done")
    // Plaintext is never longer than its ciphertext; one record may wait inside OpenSSL.
    let expected = unsafe BIO_ctrl_pending(incoming) + 16_384
    buffer.reserve(min(atMost, expected))
    let room = min(atMost, buffer.writable)
    var total = 0
    // Once for all records: a successful read leaves no entry.
    OpenSSLError.clear()
    while total < room {
      var count = 0
      let result = unsafe SSL_read_ex(connection, buffer.tail, room - total, &count)
      guard result == 1 else { return try readStopped(result, after: total) }
      buffer.commit(count)
      total += count
    }
    return .bytes(total)
  }

  private func readStopped(_ result: Int32, after total: Int) throws(TLSError)
    -> ReadResult
  {
    switch unsafe SSL_get_error(connection, result) {
    case SSL_ERROR_WANT_READ:
      needsInput = true
      return total > 0 ? .bytes(total) : .wouldBlock
    case SSL_ERROR_ZERO_RETURN: return total > 0 ? .bytes(total) : .end
    case let code:
      let error = fail(streamError(code))
      if total > 0 { return .bytes(total) }
      throw error
    }
  }

  package func write(plaintext: ByteView) throws(TLSError) {
    if let failure { throw failure }
    precondition(isEstablished, "write before the handshake was done")
    var done = 0
    while done < plaintext.count {
      var count = 0
      OpenSSLError.clear()
      let result = unsafe SSL_write_ex(
        connection, plaintext.base + done, plaintext.count - done, &count)
      guard result == 1 else { throw fail(streamError(unsafe SSL_get_error(connection, result))) }
      done += count
    }
  }

  package func drain(into buffer: ByteBuffer) {
    let pending = unsafe BIO_ctrl_pending(outgoing)
    guard pending > 0 else { return }
    buffer.reserve(pending)
    var count = 0
    let result = unsafe BIO_read_ex(outgoing, buffer.tail, pending, &count)
    precondition(result == 1, "cannot read from the memory BIO")
    buffer.commit(count)
  }

  /// Queues the closing alert (close_notify) if the connection works.
  package func shutdown() {
    guard isEstablished && failure == nil else { return }
    OpenSSLError.clear()
    _ = unsafe SSL_shutdown(connection)
  }

  private func fail(_ error: TLSError) -> TLSError {
    failure = error
    needsInput = false
    return error
  }

  private func handshakeError() -> TLSError {
    let entries = OpenSSLError.drain()
    if let objection { return objection }
    guard let cause = entries.first, !isUnexpectedEnd(cause) else {
      return .handshakeClosed(reason: "the other side closed the connection")
    }
    if let refusal = refusalOfCertificate(cause) { return refusal }
    let words = cause.words
    return cause.isForeign ? .notTLS(reason: words) : .handshake(reason: words)
  }

  private func streamError(_ code: Int32) -> TLSError {
    guard let cause = OpenSSLError.drain().first else {
      // OpenSSL before 3.0 reports an end without close_notify as SYSCALL with an empty queue.
      return code == SSL_ERROR_SYSCALL ? .cutShort : .connection(reason: "error \(code)")
    }
    if let refusal = refusalOfCertificate(cause) { return refusal }
    return isUnexpectedEnd(cause) ? .cutShort : .connection(reason: cause.words)
  }

  private func isUnexpectedEnd(_ entry: OpenSSLError) -> Bool {
    entry.library == ERR_LIB_SSL && entry.reason == SSL_R_UNEXPECTED_EOF_WHILE_READING
  }
}

extension TLSEngine {
  /// Sends `peerName` and checks certificates against it (RFC 6066 section 3, RFC 9525 section 6).
  private func expectPeer() throws(TLSError) {
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
    OpenSSLError.clear()
    if unsafe X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(connection), name) == 1 { return }
    OpenSSLError.clear()
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
  private func refusalOfCertificate(_ cause: OpenSSLError) -> TLSError? {
    guard wasAskedForCertificate, cause.library == ERR_LIB_SSL else { return nil }
    // Alerts of RFC 8446 section 6.2 that a server may send for a certificate.
    let alerts = [40, 42, 43, 44, 45, 46, 48, 49, 116].map { SSL_AD_REASON_OFFSET + $0 }
    guard alerts.contains(cause.reason) else { return nil }
    return .clientCertificate(given: context.hasCertificate, reason: cause.text)
  }
}

extension TLSEngine {
  /// Rejects a peer whose public key is not pinned; without pins, accepts every peer.
  private func checkPins() throws(TLSError) {
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
