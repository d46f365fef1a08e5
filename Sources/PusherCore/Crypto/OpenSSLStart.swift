internal import CSystemOpenSSL

/// The start of OpenSSL, before anything of it is used that needs one.
package enum OpenSSLStart {
  private static let isDone: Bool = {
    // Without this, `exit` frees OpenSSL's tables while the threads of clients that still live use them, and the
    // process crashes. Its memory is given back by the system anyway.
    OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_ATEXIT), nil) == 1
  }()

  /// Starts OpenSSL unless it has been; it costs about a millisecond, so plain connections do without.
  package static func ensure() {
    _ = isDone
  }
}
