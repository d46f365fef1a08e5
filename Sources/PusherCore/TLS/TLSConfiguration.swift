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
