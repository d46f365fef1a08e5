internal import PusherCore

extension SettingsReader {
  /// The proxies and kinds of address that options and environment ask for.
  ///
  /// `--proxy` is for every server, else `HTTPS_PROXY` or `HTTP_PROXY` by the server's scheme, else `ALL_PROXY`; lower
  /// case comes first. `NO_PROXY` counts for all of them, as with curl. `--local` leaves the environment out.
  ///
  /// - Throws: ``UsageError`` for what is no proxy's URL, and for a password that would show in `ps`.
  func routing() throws(UsageError) -> Routing {
    let isLocal = typed.isOn(.local)
    let exceptions = isLocal ? nil : variable("NO_PROXY")
    var routing = Routing(exceptions: ProxyExceptions(exceptions?.value ?? ""))
    if typed.isOn(.ipv4) { routing.families = .ipv4Only }
    if typed.isOn(.ipv6) { routing.families = .ipv6Only }
    if let text = typed.text(.proxy) {
      guard !text.isEmpty else { return routing }
      let proxy = try proxy(Setting(origin: "--proxy", value: text))
      if proxy.credentials?.password.isEmpty == false {
        throw UsageError(
          "--proxy: a password in the URL would show in ps; put the URL into ALL_PROXY")
      }
      routing.secureProxy = proxy
      routing.plainProxy = proxy
      return routing
    }
    guard !isLocal else { return routing }
    let general = try variable("ALL_PROXY").map(proxy)
    routing.secureProxy = try variable("HTTPS_PROXY").map(proxy) ?? general
    // A CGI server puts a request's field "Proxy" into HTTP_PROXY, where a stranger has written it.
    let isCGI = environment["REQUEST_METHOD"] != nil
    let plain = isCGI ? environment.first("http_proxy") : variable("HTTP_PROXY")
    routing.plainProxy = try plain.map(proxy) ?? general
    return routing
  }

  private func variable(_ name: String) -> Setting? {
    environment.first(name.lowercased(), name)
  }

  /// The proxy that a setting names; the message leaves the text out, since it may hold a password.
  private func proxy(_ setting: Setting) throws(UsageError) -> Proxy {
    do throws(ProxyURLError) {
      return try Proxy(parsing: setting.value)
    } catch {
      throw UsageError("\(setting.origin) is not a proxy's URL: \(error)")
    }
  }
}
