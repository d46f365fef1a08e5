internal import PusherCore

/// How servers are reached, whatever they speak.
struct NetworkSettings: Equatable, Sendable {
  /// How the server's certificate is checked, and what is shown to it.
  var tls: TLSConfiguration
  /// Where the environment says that certificate authorities are found.
  var trust: TLSEnvironment
  /// Which way leads to which server: proxies, exceptions, kinds of address.
  var routing: Routing
  /// From look-up to the server's welcome or answer; of a stream to the request.
  var connectTimeout: Duration
}

extension SettingsReader {
  /// Reads certificates, proxies and addresses from options and environment.
  ///
  /// - Throws: ``UsageError`` for a file that cannot be read, for an invalid proxy URL, and for a password that would
  ///   show in `ps`.
  mutating func network() throws(UsageError) -> NetworkSettings {
    NetworkSettings(
      tls: try tls(), trust: TLSEnvironment(environment.variables), routing: try routing(),
      connectTimeout: typed.time(.connectTimeout))
  }

  /// The file that an option names.
  func readable(_ flag: Flag) throws(UsageError) -> String? {
    guard let path = typed.text(flag) else { return nil }
    guard files.permissions(path) != nil else {
      throw UsageError("\(flag.spelling): '\(path)' is not a file that can be read")
    }
    return path
  }

  private mutating func tls() throws(UsageError) -> TLSConfiguration {
    var tls = TLSConfiguration(caFile: try readable(.cacert), insecure: typed.isOn(.insecure))
    for text in typed.texts(.pinSHA256) {
      guard let pin = PublicKeyPin(text) else {
        throw UsageError("--pin-sha256: '\(text)' is not the Base64 of a SHA-256 (44 characters)")
      }
      tls.pins.insert(pin)
    }
    if tls.insecure {
      warnAlways(
        tls.pins.isEmpty
          ? "--insecure: the server's certificate is not checked; anyone in between can read and alter events"
          : "--insecure: of the server's certificate nothing but the pinned key is checked")
    }
    tls.certificateFile = try readable(.tlsCert)
    tls.keyFile = try readable(.tlsKey)
    return tls
  }

  /// `--proxy` is for every server; `--local` leaves the environment out.
  private func routing() throws(UsageError) -> Routing {
    var routing: Routing
    do throws(RoutingError) {
      routing = try Routing(
        proxy: typed.text(.proxy), calledBy: Flag.proxy.spelling,
        environment: typed.isOn(.local) ? [:] : environment.variables)
    } catch {
      throw UsageError("\(error)")
    }
    if typed.text(.proxy) != nil, routing.secureProxy?.credentials?.password.isEmpty == false {
      throw UsageError(
        "--proxy: a password in the URL would show in ps; put the URL into ALL_PROXY")
    }
    if typed.isOn(.ipv4) { routing.families = .ipv4Only }
    if typed.isOn(.ipv6) { routing.families = .ipv6Only }
    return routing
  }
}
