internal import CSystemOpenSSL

/// Settings shared by connections: trusted authorities, own certificate, TLS 1.2 or newer.
///
/// Takes a few milliseconds to make, so keep it for reconnects. Any thread may use it.
@safe package final class TLSContext: @unchecked Sendable {
  // Sendable because nothing here changes afterwards, and OpenSSL locks its own changes.
  let pointer: OpaquePointer
  let isServer: Bool
  let pins: Set<PublicKeyPin>
  private(set) var hasCertificate = false

  /// Maximum number of certificates between a server's and a trusted one; real chains have 1 to 3.
  package static let maximumIntermediates = 10

  /// Version of the loaded OpenSSL, such as `OpenSSL 3.0.17 1 Jul 2025`.
  package static var libraryVersion: String {
    unsafe String(cString: OpenSSL_version(OPENSSL_VERSION))
  }

  deinit { unsafe SSL_CTX_free(pointer) }

  private init(
    _ method: OpaquePointer?, isServer: Bool, verifies: Bool, pins: Set<PublicKeyPin> = []
  ) throws(TLSError) {
    pusher_start_openssl()
    OpenSSLErrors.clear()
    guard let pointer = unsafe SSL_CTX_new(method) else { throw .lastFailure }
    unsafe self.pointer = pointer
    (self.isServer, self.pins) = (isServer, pins)
    guard unsafe pusher_SSL_CTX_set_min_proto_version(pointer, TLS1_2_VERSION) == 1 else {
      throw .lastFailure
    }
    // A caller may continue a write from another address; buffers exist only while they hold bytes.
    var mode = SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER
    if isServer { mode |= SSL_MODE_RELEASE_BUFFERS }
    unsafe pusher_SSL_CTX_set_mode(pointer, Int(mode))
    unsafe pusher_SSL_CTX_refuse_renegotiation(pointer)
    unsafe SSL_CTX_set_verify(pointer, verifies ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, nil)
    unsafe SSL_CTX_set_verify_depth(pointer, Int32(Self.maximumIntermediates))
    unsafe SSL_CTX_set_cert_cb(
      pointer, { connection, _ in unsafe TLSEngine.noteRequest(connection) }, nil)
  }

  /// Makes a context for clients; trusts `caFile`, else the environment's, else the system's
  /// authorities.
  ///
  /// Offers a protocol by ALPN (RFC 7301), `http/1.1` also for WebSocket, as browsers do. On ports
  /// with several protocols, some servers reject a client without ALPN.
  ///
  /// Throws ``TLSError/file(path:reason:)`` for unreadable files.
  package static func client(
    _ configuration: TLSConfiguration, environment: TLSEnvironment = TLSEnvironment(),
    offering name: String = "http/1.1"
  ) throws(TLSError) -> TLSContext {
    let context = try unsafe TLSContext(
      TLS_client_method(), isServer: false, verifies: !configuration.insecure,
      pins: configuration.pins)
    let kept = configuration.kept
    if !configuration.insecure {
      let file = try configuration.caFile.map { path throws(TLSError) in
        try PEMFile(path, kept: kept)
      }
      try context.trust(file, environment)
    }
    try context.offer(name)
    if let file = configuration.certificateFile {
      try context.present(file, key: configuration.keyFile ?? file, kept: kept)
    }
    return context
  }

  private func offer(_ name: String) throws(TLSError) {
    let list = [UInt8(clamping: name.utf8.count)] + Array(name.utf8)
    OpenSSLErrors.clear()
    // This function, unlike the others, returns zero for success.
    guard unsafe SSL_CTX_set_alpn_protos(pointer, list, UInt32(list.count)) == 0 else {
      throw .lastFailure
    }
  }

  /// Makes a context for servers, with the certificate and key of these PEM files.
  ///
  /// - Parameter kept: Texts of files that can be read only once, by path.
  package static func server(
    certificateFile: String, keyFile: String, kept: [String: [UInt8]] = [:]
  ) throws(TLSError) -> TLSContext {
    let context = try unsafe TLSContext(TLS_server_method(), isServer: true, verifies: false)
    try context.present(certificateFile, key: keyFile, kept: kept)
    return context
  }

  /// Maximum size of a PEM file, in bytes.
  package static var largestFile: Int { PEMFile.largest }

  private func present(
    _ certificateFile: String, key keyFile: String, kept: [String: [UInt8]]
  ) throws(TLSError) {
    var isFirst = true
    try unsafe PEMFile(certificateFile, kept: kept).withCertificates { certificate in
      defer { isFirst = false }
      return unsafe isFirst
        ? SSL_CTX_use_certificate(pointer, certificate) == 1
        : pusher_SSL_CTX_add_chain_certificate(pointer, certificate) == 1
    }
    try unsafe PEMFile(keyFile, kept: kept).withKey { key in
      unsafe SSL_CTX_use_PrivateKey(pointer, key) == 1 && SSL_CTX_check_private_key(pointer) == 1
    }
    hasCertificate = true
  }

  private func trust(_ file: PEMFile?, _ environment: TLSEnvironment) throws(TLSError) {
    if let file { return try trust(file) }
    let path = environment.certificateFile.flatMap { $0.isEmpty ? nil : $0 }
    let directories = environment.certificateDirectories.flatMap { $0.isEmpty ? nil : $0 }
    if let path { try trust(PEMFile(path, kept: [:])) }
    if let directories { try trust(directory: directories) }
    if path == nil && directories == nil { try trustSystem() }
  }

  private func trustSystem() throws(TLSError) {
    if let directory = TrustStore.hashedDirectory() {
      try trust(directory: directory)
      return
    }
    for file in TrustStore.bundleFiles {
      OpenSSLErrors.clear()
      if unsafe SSL_CTX_load_verify_file(pointer, file) == 1 { return }
    }
    throw .noTrustStore(searched: TrustStore.directories + TrustStore.bundleFiles)
  }

  private func trust(_ file: PEMFile) throws(TLSError) {
    let store = unsafe SSL_CTX_get_cert_store(pointer)
    try unsafe file.withCertificates { unsafe X509_STORE_add_cert(store, $0) == 1 }
  }

  private func trust(directory: String) throws(TLSError) {
    OpenSSLErrors.clear()
    guard unsafe SSL_CTX_load_verify_dir(pointer, directory) == 1 else {
      throw .unusable(directory)
    }
  }
}

/// Locations of the system's trusted authorities.
///
/// Hashed directories come first: they cost nothing until a certificate is checked. OpenSSL's
/// default always parses the bundle (30 to 50 ms).
enum TrustStore {
  /// Debian and derivatives · Fedora's equivalent · FreeBSD.
  static let directories = ["/etc/ssl/certs", "/etc/pki/tls/certs", "/etc/certs/CA"]

  /// Debian, Alpine · Fedora, RHEL · openSUSE · macOS, OpenBSD, Alpine · FreeBSD.
  static let bundleFiles = [
    "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem", "/usr/local/share/certs/ca-root-nss.crt",
  ]

  /// Returns the first directory with certificates under their hashes.
  static func hashedDirectory() -> String? {
    directories.first { unsafe pusher_has_hashed_certificates($0) == 1 }
  }
}
