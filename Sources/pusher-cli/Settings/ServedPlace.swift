/// Where `serve` listens when the source of its app says where clients connect.
extension SettingsReader {
  /// The value of `--listen` by which clients with the same source find the server; `nil` where the source leaves that
  /// open, or names no place of this machine, of which it warns.
  mutating func servedPlace() -> Setting? {
    let isSettled =
      typed.text(.listen) != nil || typed.text(.apps) != nil || typed.isOn(.local)
      || environment["LISTEN_FDS"] != nil
    // A malformed source is told when its app is read.
    guard typed.command == .serve, !isSettled, let source = try? source(.webSocket),
      let named = source.port ?? source.host
    else { return nil }
    guard let host = source.host, let place = Self.loopback(host.value) else {
      warnOfUsualPlace(
        source.host.map { "\($0.origin) is '\($0.value)', which is not this machine" }
          ?? "no host stands beside \(named.origin)")
      return nil
    }
    guard let port = source.port else { return nil }
    guard let number = Quantities.integer(port.value), (1...65_535).contains(number) else {
      warnOfUsualPlace("\(port.origin): '\(port.value)' is not a port from 1 to 65535")
      return nil
    }
    warnOfScheme(source, port)
    return Setting(origin: port.origin, value: "\(place):\(number)")
  }

  private mutating func warnOfUsualPlace(_ reason: String) {
    warn("\(reason); serve listens on \(typed.word(.listen)) (--listen sets another place)")
  }

  /// Warns when clients with the same source would speak TLS to a server without a certificate.
  private mutating func warnOfScheme(_ source: CredentialSource, _ port: Setting) {
    let scheme = source.scheme?.value.lowercased() ?? "https"
    guard scheme == "https" || scheme == "wss", typed.text(.tlsCert) == nil else { return }
    let what =
      source.scheme.map { "\($0.origin) is '\($0.value)'" }
      ?? "beside \(port.origin) no scheme is set, which means https"
    warn("\(what), but serve speaks http: set the scheme to http, or give --tls-cert and --tls-key")
  }

  /// The host part of `--listen` for a host that is this machine alone, or all its addresses; `nil` for any other.
  private static func loopback(_ host: String) -> String? {
    switch host {
    case "localhost", "0.0.0.0": "127.0.0.1"
    case "::1", "[::1]", "::", "[::]": "[::1]"
    default: Loopback.contains(host) ? host : nil
    }
  }
}
