internal import PusherCore

struct NetworkSettings: Equatable, Sendable {
  var tls: TLSConfiguration
  /// Certificate authorities from the environment.
  var trust: TLSEnvironment
  /// Proxies, exceptions and kinds of address.
  var routing: Routing
  /// Time from look-up to the server's welcome or answer; for a stream, to the request.
  var connectTimeout: Duration

  /// Returns what checks the certificates of other servers at these URLs; `nil` if none uses TLS.
  func tls(forOthersAt urls: [HTTPURL]) throws(TLSError) -> TLSContext? {
    guard urls.contains(where: \.isSecure) else { return nil }
    return try TLSContext.client(tls.forAnotherServer, environment: trust)
  }
}

extension SettingsReader {
  mutating func network() throws(UsageError) -> NetworkSettings {
    NetworkSettings(
      tls: try tls(), trust: TLSEnvironment(environment.variables), routing: try routing(),
      connectTimeout: typed.time(.connectTimeout))
  }

  /// Returns the path of a PEM file; puts the text of a pipe, which is read once, into `kept`.
  mutating func pemFile(
    _ flag: Flag, _ kept: inout [String: [UInt8]]
  ) throws(UsageError) -> String? {
    guard let path = typed.text(flag) else { return nil }
    if files.permissions(path) == nil {
      kept[path] = try content(of: path, flag.spelling, limit: TLSContext.largestFile).bytes
    }
    return path
  }

  private mutating func tls() throws(UsageError) -> TLSConfiguration {
    var tls = TLSConfiguration(insecure: typed.isOn(.insecure))
    tls.caFile = try pemFile(.cacert, &tls.kept)
    tls.certificateFile = try pemFile(.tlsCert, &tls.kept)
    tls.keyFile = try pemFile(.tlsKey, &tls.kept)
    for text in typed.texts(.pinSHA256) {
      guard let pin = PublicKeyPin(text) else {
        throw UsageError("--pin-sha256: '\(text)' is not a SHA-256 in Base64 (44 characters)")
      }
      tls.pins.insert(pin)
    }
    if tls.insecure {
      warnAlways(
        tls.pins.isEmpty
          ? "--insecure: the server's certificate is not checked; anyone in between can read and alter events"
          : "--insecure: only the pinned key of the server's certificate is checked")
    }
    return tls
  }

  /// `--proxy` applies to every server; `--local` ignores the environment.
  private func routing() throws(UsageError) -> Routing {
    var routing = try UsageError.explaining(
      "",
      try Routing(
        proxy: typed.text(.proxy), calledBy: Flag.proxy.spelling,
        environment: typed.isOn(.local) ? [:] : environment.variables))
    if typed.text(.proxy) != nil, routing.secureProxy?.credentials?.password.isEmpty == false {
      throw UsageError(
        "--proxy: a password in the URL would show in ps; put the URL into ALL_PROXY")
    }
    if typed.isOn(.ipv4) { routing.families = .ipv4Only }
    if typed.isOn(.ipv6) { routing.families = .ipv6Only }
    return routing
  }
}
