internal import CSystemOpenSSL
internal import PusherPlatform

/// Checks of a server's certificate, and our own certificate.
///
/// Each connection reads the files, and fails if it cannot read one.
public struct TLSConfiguration: Sendable, Equatable {
  /// PEM file of the only trusted authorities; `nil` for the system's.
  public var caFile: String?
  /// Accepts every certificate for any name; for tests only.
  public var insecure: Bool
  /// PEM file with our certificate and its chain, sent if the server asks.
  public var certificateFile: String?
  /// PEM file of our key; `nil` if ``certificateFile`` holds it.
  public var keyFile: String?
  /// Accepted public keys of the server, checked even with ``insecure``; empty for any key.
  public var pins: Set<PublicKeyPin>

  /// Texts of files that can be read only once, by path: pipes, and standard input.
  package var kept: [String: [UInt8]] = [:]

  /// Makes settings; without arguments, the defaults.
  public init(
    caFile: String? = nil, insecure: Bool = false, certificateFile: String? = nil,
    keyFile: String? = nil, pins: Set<PublicKeyPin> = []
  ) {
    (self.caFile, self.insecure, self.certificateFile) = (caFile, insecure, certificateFile)
    (self.keyFile, self.pins) = (keyFile, pins)
  }

  package var forAnotherServer: TLSConfiguration {
    var other = TLSConfiguration(caFile: caFile, insecure: insecure)
    other.kept = kept.filter { $0.key == caFile }
    return other
  }
}

/// Values of `SSL_CERT_FILE` and `SSL_CERT_DIR`, as in other programs with OpenSSL.
package struct TLSEnvironment: Sendable, Equatable {
  /// PEM file of authorities; empty counts as unset.
  package var certificateFile: String?
  /// Directories with hashed names, separated by colons; empty counts as unset.
  package var certificateDirectories: String?

  package init(certificateFile: String? = nil, certificateDirectories: String? = nil) {
    (self.certificateFile, self.certificateDirectories) = (certificateFile, certificateDirectories)
  }

  package init(_ variables: [String: String]) {
    self.init(
      certificateFile: variables["SSL_CERT_FILE"], certificateDirectories: variables["SSL_CERT_DIR"]
    )
  }
}

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
    OpenSSLError.clear()
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
    OpenSSLError.clear()
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

  /// Debian and derivatives · Fedora's equivalent · FreeBSD.
  private static let systemDirectories = ["/etc/ssl/certs", "/etc/pki/tls/certs", "/etc/certs/CA"]

  /// Debian, Alpine · Fedora, RHEL · openSUSE · macOS, OpenBSD, Alpine · FreeBSD.
  private static let systemFiles = [
    "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem", "/usr/local/share/certs/ca-root-nss.crt",
  ]

  /// Trusts the system's authorities.
  ///
  /// Hashed directories come first: they cost nothing until a certificate is checked. OpenSSL's
  /// default always parses the bundle (30 to 50 ms).
  private func trustSystem() throws(TLSError) {
    let hashed = Self.systemDirectories.first { unsafe pusher_has_hashed_certificates($0) == 1 }
    if let hashed { return try trust(directory: hashed) }
    for file in Self.systemFiles {
      OpenSSLError.clear()
      if unsafe SSL_CTX_load_verify_file(pointer, file) == 1 { return }
    }
    throw .noTrustStore(searched: Self.systemDirectories + Self.systemFiles)
  }

  private func trust(_ file: PEMFile) throws(TLSError) {
    let store = unsafe SSL_CTX_get_cert_store(pointer)
    try unsafe file.withCertificates { unsafe X509_STORE_add_cert(store, $0) == 1 }
  }

  private func trust(directory: String) throws(TLSError) {
    OpenSSLError.clear()
    guard unsafe SSL_CTX_load_verify_dir(pointer, directory) == 1 else {
      throw .unusable(directory)
    }
  }
}

/// TLS contexts of one loop's clients, shared by equal settings with equal files while in use.
package final class TLSContextCache {
  private struct Entry {
    let configuration: TLSConfiguration
    let environment: TLSEnvironment
    /// For each file, facts of which one changes if the file is replaced or written.
    let marks: [[Int]]
    weak var context: TLSContext?
  }

  private var entries: [Entry] = []

  package var count: Int { entries.count { $0.context != nil } }

  package init() {}

  /// Returns the context for these settings: one in use, else a new one.
  ///
  /// A changed file makes a new context, so each connection has the present certificates.
  package func client(
    _ configuration: TLSConfiguration, environment: TLSEnvironment = TLSEnvironment()
  ) throws(TLSError) -> TLSContext {
    entries.removeAll { $0.context == nil }
    let marks = Self.marks(of: configuration)
    let known = entries.first {
      $0.configuration == configuration && $0.environment == environment && $0.marks == marks
    }
    if let context = known?.context { return context }
    let context = try TLSContext.client(configuration, environment: environment)
    entries.append(
      Entry(
        configuration: configuration, environment: environment, marks: marks, context: context))
    return context
  }

  /// A text that is kept cannot change.
  private static func marks(of configuration: TLSConfiguration) -> [[Int]] {
    [configuration.caFile, configuration.certificateFile, configuration.keyFile].map { path in
      var status = stat()
      guard let path, configuration.kept[path] == nil, unsafe stat(path, &status) == 0 else {
        return []
      }
      #if canImport(Darwin)
        let changed = status.st_ctimespec
      #else
        let changed = status.st_ctim
      #endif
      return [
        Int(truncatingIfNeeded: status.st_dev), Int(truncatingIfNeeded: status.st_ino),
        Int(status.st_size), Int(changed.tv_sec), changed.tv_nsec,
      ]
    }
  }
}

/// The text of a file with certificates or a key, in PEM form.
private struct PEMFile {
  /// Maximum size, in bytes; a system's authorities take about 250 KB.
  static let largest = 16 << 20

  let path: String
  private let text: [UInt8]

  /// Takes the text that `kept` has for the path, else reads the file.
  ///
  /// Rejects files that have no end or wait for a writer: pipes, devices, huge files.
  init(_ path: String, kept: [String: [UInt8]]) throws(TLSError) {
    self.path = path
    if let text = kept[path] {
      self.text = text
      return
    }
    do throws(FileReader.Fault) {
      text = try FileReader(path).contents(atMost: Self.largest)
    } catch {
      let reason =
        switch error {
        case .system(let error): error.words
        case .notRegular: error.description
        case .tooLarge: "it is larger than \(Self.largest >> 20) MiB"
        }
      throw .file(path: path, reason: reason)
    }
  }

  /// Passes each certificate to `use`, which returns false after a failure of OpenSSL.
  func withCertificates(_ use: (_ certificate: OpaquePointer) -> Bool) throws(TLSError) {
    try unsafe reading { (input: OpaquePointer) throws(TLSError) in
      var count = 0
      while let certificate = unsafe PEM_read_bio_X509_AUX(input, nil, nil, nil) {
        defer { unsafe X509_free(certificate) }
        guard unsafe use(certificate) else { throw .unusable(path) }
        count += 1
      }
      // The search for one more certificate fails at the end, with this reason.
      let end = ERR_peek_last_error()
      let isEnd = ERR_GET_LIB(end) == ERR_LIB_PEM && ERR_GET_REASON(end) == PEM_R_NO_START_LINE
      guard count > 0, isEnd else { throw .unusable(path) }
      OpenSSLError.clear()
    }
  }

  /// Passes the private key to `use`, which returns false after a failure of OpenSSL.
  func withKey(_ use: (_ key: OpaquePointer) -> Bool) throws(TLSError) {
    try unsafe reading { (input: OpaquePointer) throws(TLSError) in
      // Without a callback, OpenSSL would prompt for a passphrase on the terminal.
      let key = unsafe PEM_read_bio_PrivateKey(input, nil, { _, _, _, _ in -1 }, nil)
      guard let key = unsafe key else { throw .unusable(path) }
      defer { unsafe EVP_PKEY_free(key) }
      guard unsafe use(key) else { throw .unusable(path) }
    }
  }

  private func reading(_ body: (OpaquePointer) throws(TLSError) -> Void) throws(TLSError) {
    OpenSSLError.clear()
    let result = unsafe text.withUnsafeBytes { bytes -> Result<Void, TLSError> in
      guard let input = unsafe BIO_new_mem_buf(bytes.baseAddress, Int32(clamping: bytes.count))
      else { return .failure(.lastFailure) }
      defer { unsafe BIO_free(input) }
      return Result { () throws(TLSError) in try unsafe body(input) }
    }
    try result.get()
  }
}
