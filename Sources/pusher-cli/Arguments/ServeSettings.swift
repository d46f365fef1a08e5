internal import PusherCore

/// Everything `serve` needs to know, checked.
struct ServeSettings: Equatable, Sendable {
  /// A name or address, IPv6 without brackets.
  var host: String
  /// The port to listen on; 0 takes a free one.
  var port: Int
  /// Where to write the port, so that scripts can wait for it.
  var portFile: String?
  var appID: String
  var key: String
  var secret: Secret
  /// Which of app id, key and secret nobody gave, and what they are; to be announced.
  var defaulted: [String]
  var certificate: CertificateFiles?
  /// Whether members of private and presence channels may send client events.
  var allowsClientEvents: Bool
  /// Whether subscribers are told how many they are.
  var sendsSubscriptionCounts: Bool
  /// What clients and server call things.
  var service: Service
  var verbosity: Verbosity
  /// To be said before the run begins.
  var warnings: [String]
}

/// A server's certificate and its private key, as PEM files.
struct CertificateFiles: Equatable, Sendable {
  var certificate: String
  var key: String
}

extension ServeSettings {
  /// Resolves what was typed against the environment.
  ///
  /// - Throws: ``UsageError`` for the first setting that is wrong.
  init(
    _ typed: TypedArguments, environment: [String: String], files: FileAccess = .system
  ) throws(UsageError) {
    var reader = SettingsReader(typed, environment: environment, files: files)
    let source = try reader.environment.source(forKey: typed.text(.key), isAPI: true)
    let local = CredentialSource.local
    var withKey = source
    withKey.key = source.key ?? local.key
    let key = try reader.key(withKey)
    let typedID = typed.text(.appID).map { Setting(origin: "--app-id", value: $0) }
    let appID = typedID ?? source.appID
    if let appID { try reader.requireWord(appID, what: "app id") }
    let secret = try reader.secret(source)

    self.key = key.value
    self.appID = appID?.value ?? local.appID?.value ?? "1"
    self.secret = secret ?? Secret("local")
    defaulted = [
      appID == nil ? "app id '\(self.appID)'" : nil,
      key == local.key ? "key 'local'" : nil,
      secret == nil ? "secret 'local'" : nil,
    ].compactMap { $0 }
    (host, port) = try Self.address(typed.text(.listen) ?? "127.0.0.1:6001")
    portFile = typed.text(.portFile)
    certificate = try Self.certificate(typed, files)
    allowsClientEvents = typed.isOn(.clientEvents)
    sendsSubscriptionCounts = typed.isOn(.subscriptionCounts)
    service = reader.service
    verbosity = reader.verbosity
    if secret == nil, !Self.isLoopback(host) {
      reader.warn(
        "the secret is 'local' and \(host) may be reached from outside; give --secret-file")
    }
    warnings = reader.warnings
  }

  /// `HOST:PORT`, `[IPV6]:PORT` or `:PORT`, the last on this machine only.
  static func address(_ text: String) throws(UsageError) -> (String, Int) {
    let fault = UsageError(
      "--listen: '\(text)' is not of the form HOST:PORT, such as 127.0.0.1:6001")
    guard let colon = text.lastIndex(of: ":") else { throw fault }
    let digits = String(text[text.index(after: colon)...])
    guard !digits.isEmpty, let port = Quantities.integer(digits), port <= 65_535 else {
      throw fault
    }
    var host = text[..<colon]
    if host.hasPrefix("["), host.hasSuffix("]") {
      host = host.dropFirst().dropLast()
      guard !host.isEmpty else { throw fault }
    } else if host.contains(":") {
      throw fault
    }
    guard host.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && !"/@?#".utf8.contains($0) }) else {
      throw fault
    }
    return (host.isEmpty ? "127.0.0.1" : String(host), port)
  }

  private static func isLoopback(_ host: String) -> Bool {
    host == "localhost" || host == "::1" || host.hasPrefix("127.")
  }

  private static func certificate(
    _ typed: TypedArguments, _ files: FileAccess
  ) throws(UsageError) -> CertificateFiles? {
    let pair = (typed.text(.tlsCert), typed.text(.tlsKey))
    switch pair {
    case (nil, nil): return nil
    case (nil, _?): throw UsageError("--tls-key needs --tls-cert")
    case (_?, nil): throw UsageError("--tls-cert needs --tls-key")
    case (let certificate?, let key?):
      for (origin, path) in [("--tls-cert", certificate), ("--tls-key", key)]
      where files.permissions(path) == nil {
        throw UsageError("\(origin): '\(path)' is not a file that can be read")
      }
      return CertificateFiles(certificate: certificate, key: key)
    }
  }
}
