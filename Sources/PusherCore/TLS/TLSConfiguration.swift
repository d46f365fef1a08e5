/// How a server's certificate is checked, and what is shown to it; the defaults verify against the system's authorities.
///
/// Files are read when a connection is made; one that cannot be read fails it.
public struct TLSConfiguration: Sendable, Equatable {
  /// A PEM file of the only authorities to trust; `nil` for the system's.
  public var caFile: String?
  /// Accepts every certificate, for whatever name: use it for tests only.
  public var insecure: Bool
  /// A PEM file with the certificate to show when the server asks, and its chain after it.
  public var certificateFile: String?
  /// The PEM file of its key; `nil` when the key stands in ``certificateFile``.
  public var keyFile: String?
  /// The server's public key has to be one of these, even when nothing else is checked; empty for any key.
  public var pins: Set<PublicKeyPin>

  /// Settings; without arguments the defaults.
  public init(
    caFile: String? = nil, insecure: Bool = false, certificateFile: String? = nil,
    keyFile: String? = nil, pins: Set<PublicKeyPin> = []
  ) {
    (self.caFile, self.insecure, self.certificateFile) = (caFile, insecure, certificateFile)
    (self.keyFile, self.pins) = (keyFile, pins)
  }

  /// The same for another server: its trust, without this server's client certificate and pins.
  package var forAnotherServer: TLSConfiguration {
    TLSConfiguration(caFile: caFile, insecure: insecure)
  }
}

/// The values of `SSL_CERT_FILE` and `SSL_CERT_DIR`, which OpenSSL's users expect to be honoured.
package struct TLSEnvironment: Sendable, Equatable {
  /// A PEM file of authorities; empty counts as not set.
  package var certificateFile: String?
  /// Directories with hashed names, divided by colons; empty counts as not set.
  package var certificateDirectories: String?

  package init(certificateFile: String? = nil, certificateDirectories: String? = nil) {
    self.certificateFile = certificateFile
    self.certificateDirectories = certificateDirectories
  }

  /// The values of an environment.
  package init(_ variables: [String: String]) {
    self.init(
      certificateFile: variables["SSL_CERT_FILE"], certificateDirectories: variables["SSL_CERT_DIR"]
    )
  }
}
