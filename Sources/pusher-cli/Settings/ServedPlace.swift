/// Derives the address of `serve` from the source of its app.
extension SettingsReader {
  /// Returns the value of `--listen` at which clients with the same source find the server.
  ///
  /// Returns `nil` if the source does not say, and, with a warning, if it names another machine.
  mutating func servedPlace() -> Setting? {
    let isSettled =
      typed.text(.listen) != nil || typed.text(.apps) != nil || typed.isOn(.local)
      || environment["LISTEN_FDS"] != nil
    // The app's own look-up reports a malformed source.
    guard typed.command == .serve, !isSettled, let source = try? source(.webSocket),
      let named = source.port ?? source.host
    else { return nil }
    guard let host = source.host, let place = Self.loopback(host.value) else {
      warnOfUsualPlace(
        source.host.map { "\($0.origin) is '\($0.value)', which is not this machine" }
          ?? "\(named.origin) sets a port, but no host is set")
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
    warn("\(reason); serve listens on \(typed.word(.listen)) (--listen sets another address)")
  }

  /// Warns if clients with the same source would use TLS, but the server has no certificate.
  private mutating func warnOfScheme(_ source: CredentialSource, _ port: Setting) {
    let scheme = source.scheme?.value.lowercased() ?? "https"
    guard scheme == "https" || scheme == "wss", typed.text(.tlsCert) == nil else { return }
    let what =
      source.scheme.map { "\($0.origin) is '\($0.value)'" }
      ?? "\(port.origin) sets a port without a scheme, which means https"
    warn("\(what), but serve speaks http: set the scheme to http, or give --tls-cert and --tls-key")
  }

  /// Returns the host for `--listen` if `host` is this machine or all its addresses; else `nil`.
  private static func loopback(_ host: String) -> String? {
    switch host {
    case "localhost", "0.0.0.0": "127.0.0.1"
    case "::1", "[::1]", "::", "[::]": "[::1]"
    default: Loopback.contains(host) ? host : nil
    }
  }
}
