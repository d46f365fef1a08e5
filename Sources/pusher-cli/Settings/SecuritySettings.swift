internal import PusherCore

/// How the server's certificate is checked, and what is shown to it.
struct SecuritySettings: Equatable, Sendable {
  var certificateAuthorityFile: String?
  /// Where the environment says that certificate authorities are found.
  var trust: TLSEnvironment
  /// Whether the server's certificate goes unchecked.
  var isInsecure: Bool
  /// The certificate to show when the server asks.
  var clientCertificate: ClientCertificate?
  /// What the server's public key has to be one of.
  var pins: Set<PublicKeyPin>

  /// The same for the library.
  var tls: TLSConfiguration {
    var tls = TLSConfiguration(caFile: certificateAuthorityFile, insecure: isInsecure)
    tls.certificateFile = clientCertificate?.certificate
    tls.keyFile = clientCertificate?.key
    tls.pins = pins
    return tls
  }
}

/// PEM files with a certificate and its key; without a key file the key stands in the first.
struct ClientCertificate: Equatable, Sendable {
  var certificate: String
  var key: String?
}

extension SettingsReader {
  /// What the options and the environment say of certificates.
  ///
  /// - Throws: ``UsageError`` for a file that cannot be read, and for options that exclude each other.
  mutating func security() throws(UsageError) -> SecuritySettings {
    let caFile = typed.text(.cacert)
    if let caFile, files.permissions(caFile) == nil {
      throw UsageError("--cacert: '\(caFile)' is not a file that can be read")
    }
    let pins = try pins()
    if typed.isOn(.insecure) {
      if caFile != nil { throw UsageError("--insecure and --cacert exclude each other; give one") }
      warnAlways(
        pins.isEmpty
          ? "--insecure: the server's certificate is not checked; anyone in between can read and alter events"
          : "--insecure: of the server's certificate nothing but the pinned key is checked")
    }
    return SecuritySettings(
      certificateAuthorityFile: caFile,
      trust: TLSEnvironment(
        certificateFile: environment["SSL_CERT_FILE"],
        certificateDirectories: environment["SSL_CERT_DIR"]),
      isInsecure: typed.isOn(.insecure), clientCertificate: try clientCertificate(), pins: pins)
  }

  private func pins() throws(UsageError) -> Set<PublicKeyPin> {
    var pins: Set<PublicKeyPin> = []
    for text in typed.texts(.pinSHA256) {
      guard let pin = PublicKeyPin(text) else {
        throw UsageError("--pin-sha256: '\(text)' is not the Base64 of a SHA-256 (44 characters)")
      }
      pins.insert(pin)
    }
    return pins
  }

  private func clientCertificate() throws(UsageError) -> ClientCertificate? {
    guard let certificate = typed.text(.tlsCert) else {
      if typed.text(.tlsKey) != nil { throw UsageError("--tls-key needs --tls-cert") }
      return nil
    }
    let key = typed.text(.tlsKey)
    for (origin, path) in [("--tls-cert", certificate), ("--tls-key", key ?? certificate)]
    where files.permissions(path) == nil {
      throw UsageError("\(origin): '\(path)' is not a file that can be read")
    }
    return ClientCertificate(certificate: certificate, key: key)
  }
}
