/// What stands between a client and its servers: proxies, and where the system keeps its authorities.
///
/// Nothing of the process's environment is read by the library itself; whoever wants it to count hands it over:
///
/// ```swift
/// let network = PusherNetwork(environment: ProcessInfo.processInfo.environment)
/// let options = PusherClientOptions(network: network)
/// ```
public struct PusherNetwork: Sendable, Equatable {
  /// The proxy for every server, authorisation endpoints included: `http://`, `socks5h://` or `socks5://`, then
  /// `[USER[:PASSWORD]@]HOST[:PORT]`; empty for none, whatever the environment says, and `nil` to leave it to that.
  public var proxy: String?
  /// Variables by their names.
  ///
  /// Those that count are `HTTPS_PROXY`, `HTTP_PROXY` by the server's scheme, else `ALL_PROXY`, and `NO_PROXY`, each in
  /// lower case first; `SSL_CERT_FILE` and `SSL_CERT_DIR`, unless a `caFile` is set. Beside `REQUEST_METHOD`, where a
  /// stranger may have written `HTTP_PROXY`, only `http_proxy` counts.
  public var environment: [String: String]

  /// Without arguments: no proxy, and the system's authorities where they usually are.
  public init(proxy: String? = nil, environment: [String: String] = [:]) {
    self.proxy = proxy
    self.environment = environment
  }

  /// The ways to servers.
  ///
  /// - Throws: ``PusherConfigurationError/invalidProxy(_:)`` for what is no proxy's URL; no part of the text is repeated.
  func routing() throws(PusherConfigurationError) -> Routing {
    var routing = Routing(exceptions: ProxyExceptions(variable("NO_PROXY") ?? ""))
    if let proxy {
      guard !proxy.isEmpty else { return routing }
      let parsed = try Self.parse(proxy, "proxy")
      routing.secureProxy = parsed
      routing.plainProxy = parsed
      return routing
    }
    let general = try proxy("ALL_PROXY")
    routing.secureProxy = try proxy("HTTPS_PROXY") ?? general
    let isCGI = environment["REQUEST_METHOD"] != nil
    routing.plainProxy = try proxy(isCGI ? "http_proxy" : "HTTP_PROXY") ?? general
    return routing
  }

  /// Where authorities are found.
  var trust: TLSEnvironment {
    TLSEnvironment(
      certificateFile: environment["SSL_CERT_FILE"],
      certificateDirectories: environment["SSL_CERT_DIR"])
  }

  private func variable(_ name: String) -> String? {
    [name.lowercased(), name].compactMap { environment[$0] }.first { !$0.isEmpty }
  }

  private func proxy(_ name: String) throws(PusherConfigurationError) -> Proxy? {
    guard let text = variable(name) else { return nil }
    return try Self.parse(text, name)
  }

  private static func parse(
    _ text: String, _ origin: String
  ) throws(PusherConfigurationError) -> Proxy {
    do throws(ProxyURLError) {
      return try Proxy(parsing: text)
    } catch {
      throw .invalidProxy("\(origin) is not a proxy's URL: \(error)")
    }
  }
}

extension PusherNetwork: CustomStringConvertible, CustomReflectable {
  /// Whether there is a proxy; not which, since its URL may hold a password.
  public var description: String { proxy == nil ? "network" : "network with a proxy" }

  /// Nothing, so that no dump shows a password or the environment.
  public var customMirror: Mirror { Mirror(self, children: []) }
}
