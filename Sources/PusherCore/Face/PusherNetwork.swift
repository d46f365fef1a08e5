/// Proxies, and the location of trusted certificates.
///
/// The library does not read the process's environment. Pass it if the client should use it:
///
/// ```swift
/// let network = PusherNetwork(environment: ProcessInfo.processInfo.environment)
/// let options = PusherClientOptions(network: network)
/// ```
public struct PusherNetwork: Sendable, Equatable {
  /// Proxy for all servers and endpoints: `http://`, `socks5h://` or `socks5://`, then
  /// `[USER[:PASSWORD]@]HOST[:PORT]`.
  ///
  /// An empty string means no proxy; `nil` means the environment's.
  public var proxy: String?
  /// Environment variables by name.
  ///
  /// The library reads `HTTPS_PROXY` or `HTTP_PROXY` by the server's scheme, then `ALL_PROXY`, and
  /// `NO_PROXY`, the lower-case name of each first; and, without a `caFile`, `SSL_CERT_FILE` and
  /// `SSL_CERT_DIR`. If `REQUEST_METHOD` is set, a web client may have set `HTTP_PROXY`, so only
  /// `http_proxy` is used.
  public var environment: [String: String]

  /// Creates a network; by default without a proxy, and with the system's trusted certificates.
  public init(proxy: String? = nil, environment: [String: String] = [:]) {
    (self.proxy, self.environment) = (proxy, environment)
  }

  func routing() throws(PusherConfigurationError) -> Routing {
    do throws(ProxyURLError) {
      return try Routing(proxy: proxy, environment: environment)
    } catch {
      throw .invalidProxy("\(error)")
    }
  }

  var trust: TLSEnvironment { TLSEnvironment(environment) }
}

extension PusherNetwork: CustomStringConvertible, CustomReflectable {
  /// Says whether there is a proxy; its URL may contain a password.
  public var description: String { proxy == nil ? "network" : "network with a proxy" }

  /// Empty, so that no dump shows a password or the environment.
  public var customMirror: Mirror { Mirror(self, children: []) }
}
