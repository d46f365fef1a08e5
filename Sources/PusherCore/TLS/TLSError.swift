internal import CSystemOpenSSL

package enum TLSError: Error, Equatable, CustomStringConvertible {
  /// The user's fault: an unusable file with certificates or a key.
  case file(path: String, reason: String)
  /// The machine's fault: it has no trusted certificate authorities.
  case noTrustStore(searched: [String])
  /// This library's or OpenSSL's fault: no memory or a wrong setting.
  case setup(reason: String)
  /// The other side's certificate was rejected; `subject` is the failed one of its chain.
  case certificate(reason: String, subject: String?)
  /// No trusted authority signed the other side's certificate; `subject` as above.
  case unknownAuthority(reason: String, subject: String?)
  /// The other side's public key, `seen`, is not pinned.
  case publicKey(seen: PublicKeyPin, subject: String?)
  /// The other side rejected our certificate or its absence.
  case clientCertificate(given: Bool, reason: String)
  case handshake(reason: String)
  /// The other side closed the connection during the handshake.
  case handshakeClosed(reason: String)
  case notTLS(reason: String)
  /// The network or the other side ended the stream without closing alert; data may be missing.
  case cutShort
  /// The other side broke the protocol or sent a fatal alert after the handshake.
  case connection(reason: String)

  package var description: String {
    switch self {
    case .file(let path, let reason): "cannot use \(path): \(reason)"
    case .noTrustStore(let searched):
      "no certificate authorities found (looked at \(searched.joined(separator: ", ")))"
    case .setup(let reason): "cannot set up TLS: \(reason)"
    case .certificate(let reason, let subject), .unknownAuthority(let reason, let subject):
      "certificate not accepted: \(reason)" + (subject.map { " (\($0))" } ?? "")
    case .publicKey(let seen, let subject):
      "certificate not accepted: its public key is \(seen), which is not pinned"
        + (subject.map { " (\($0))" } ?? "")
    case .clientCertificate(given: false, let reason):
      "the server wants a client certificate (\(reason))"
    case .clientCertificate(given: true, let reason):
      "the server does not accept the client certificate (\(reason))"
    case .handshake(let reason), .handshakeClosed(let reason), .notTLS(let reason):
      "TLS handshake failed: \(reason)"
    case .cutShort: "TLS connection cut off without a closing alert (close_notify)"
    case .connection(let reason): "TLS connection failed: \(reason)"
    }
  }
}

extension TLSError {
  /// The failure of the last call of OpenSSL.
  static var lastFailure: TLSError { .setup(reason: OpenSSLError.cause()) }
  /// The failure of the last call of OpenSSL, for a file.
  static func unusable(_ path: String) -> TLSError {
    .file(path: path, reason: OpenSSLError.cause())
  }
}

/// An entry of OpenSSL's queue of errors.
struct OpenSSLError {
  let library: Int32
  let reason: Int32
  let text: String

  /// Drops entries of earlier calls, which would explain the next failure wrongly.
  static func clear() { ERR_clear_error() }

  /// Empties the queue; returns its entries in order, the cause first.
  static func drain() -> [OpenSSLError] {
    var entries: [OpenSSLError] = []
    while true {
      let code = ERR_get_error()
      guard code != 0 else { return entries }
      entries.append(
        OpenSSLError(library: ERR_GET_LIB(code), reason: ERR_GET_REASON(code), text: text(of: code))
      )
    }
  }

  static func cause() -> String { drain().first?.words ?? "no reason given" }

  /// OpenSSL's text, except for misleading ones.
  var words: String {
    switch (library, reason) {
    case (ERR_LIB_PEM, PEM_R_NO_START_LINE): "it has no PEM block of the required kind"
    // The decoder's word for a file without a key.
    case _ where text == "unsupported": "it has no PEM block of the required kind"
    case (ERR_LIB_PEM, PEM_R_BAD_PASSWORD_READ), (ERR_LIB_PEM, PEM_R_PROBLEMS_GETTING_PASSWORD):
      "the key is protected by a passphrase"
    case (ERR_LIB_X509, X509_R_KEY_VALUES_MISMATCH), (ERR_LIB_X509, X509_R_KEY_TYPE_MISMATCH):
      "the key does not belong to the certificate"
    case _ where isForeign: "the other side does not speak TLS on this port (\(text))"
    case (ERR_LIB_SSL, SSL_R_UNSUPPORTED_PROTOCOL),
      (ERR_LIB_SSL, SSL_R_TLSV1_ALERT_PROTOCOL_VERSION):
      "the other side does not support TLS 1.2 or newer (\(text))"
    case (ERR_LIB_SSL, SSL_R_TLSV1_ALERT_NO_APPLICATION_PROTOCOL):
      "the other side does not speak HTTP/1.1 on this port, maybe HTTP/2 only (\(text))"
    // Code of our passphrase callback's refusal; the macros of the number are not imported.
    case _ where text == "interrupted or cancelled": "the key is protected by a passphrase"
    default: text
    }
  }

  var isForeign: Bool {
    library == ERR_LIB_SSL
      && (reason == SSL_R_WRONG_VERSION_NUMBER || reason == SSL_R_HTTP_REQUEST)
  }

  /// Returns the last of the five parts `error:code:library:function:reason`.
  private static func text(of code: UInt) -> String {
    let line = unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { buffer in
      unsafe ERR_error_string_n(code, buffer.baseAddress, buffer.count)
      return unsafe buffer.baseAddress.map { unsafe String(cString: $0) } ?? ""
    }
    let parts = line.split(separator: ":", maxSplits: 4, omittingEmptySubsequences: false)
    return parts.count == 5 ? String(parts[4]) : line
  }
}
