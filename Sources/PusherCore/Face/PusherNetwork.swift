/// The way to servers: proxies, and where the system keeps its authorities.
///
/// The library itself does not read the process's environment. Hand it over if you want it to count:
///
/// ```swift
/// let network = PusherNetwork(environment: ProcessInfo.processInfo.environment)
/// let options = PusherClientOptions(network: network)
/// ```
public struct PusherNetwork: Sendable, Equatable {
  /// The proxy for every server, authorisation endpoints included: `http://`, `socks5h://` or `socks5://`, then
  /// `[USER[:PASSWORD]@]HOST[:PORT]`; empty for none, whatever the environment says, and `nil` to use the environment.
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

  /// The routes to servers.
  ///
  /// - Throws: ``PusherConfigurationError/invalidProxy(_:)`` for an invalid proxy URL; the message repeats no part of
  ///   it.
  func routing() throws(PusherConfigurationError) -> Routing {
    do throws(RoutingError) {
      return try Routing(proxy: proxy, environment: environment)
    } catch {
      throw .invalidProxy("\(error)")
    }
  }

  /// Where authorities are found.
  var trust: TLSEnvironment { TLSEnvironment(environment) }
}

extension PusherNetwork: CustomStringConvertible, CustomReflectable {
  /// Whether there is a proxy; not which, since its URL may hold a password.
  public var description: String { proxy == nil ? "network" : "network with a proxy" }

  /// Empty, so that no dump shows a password or the environment.
  public var customMirror: Mirror { Mirror(self, children: []) }
}
