internal import PusherCore

@dynamicMemberLookup struct ConnectionSettings: Equatable, Sendable {
  var service: PusherService
  /// Name or address; IPv6 without brackets.
  var host: String
  var port: Int
  /// True for wss and https, false for ws and http.
  var isSecure: Bool
  /// Path before `/app` and `/apps`: empty, or `/prefix` without a slash at the end.
  var path: String
  var key: String
  /// Its members can be read as if they were here.
  var network: NetworkSettings
  /// True for the server that `serve` starts, which may still be starting.
  var isLocal: Bool
  /// Path that a proxy strips from calls of the HTTP API: empty, or `/prefix` without a slash at
  /// the end.
  var strippedPath = ""

  subscript<Value>(dynamicMember path: KeyPath<NetworkSettings, Value>) -> Value {
    network[keyPath: path]
  }

  /// TLS settings for the application's endpoint, which has another key.
  var endpointTLS: TLSConfiguration { network.tls.forAnotherServer }
  /// The server of the HTTP API, with the path that a proxy strips.
  var apiURL: HTTPURL {
    HTTPURL(scheme: isSecure ? .https : .http, host: host, port: port, path: strippedPath)
  }

  /// Returns the proxy to the server or to the target of a redirect; `nil` for none.
  func proxy(to host: String) -> Proxy? {
    network.routing.route(to: HTTPURL(scheme: isSecure ? .wss : .ws, host: host, port: port)).proxy
  }
}

extension SettingsReader {
  /// The two sides of a service; pusher.com has a host name for each.
  enum Face {
    case webSocket, api

    fileprivate func host(_ service: PusherService, cluster: String?) -> String {
      self == .api ? service.apiHost(cluster: cluster) : service.host(cluster: cluster)
    }
  }

  var service: PusherService {
    PusherService.named.first { $0.name == typed.value(.service) }?.service ?? .pusher
  }

  /// Returns the server: the source's, with single members replaced by options.
  mutating func connection(
    _ face: Face, _ source: CredentialSource
  ) throws(UsageError) -> ConnectionSettings {
    let key = try key(source)
    let server = try server(face, source)
    let isSecure = server.scheme == "https" || server.scheme == "wss"
    return ConnectionSettings(
      service: service, host: server.host, port: server.port ?? (isSecure ? 443 : 80),
      isSecure: isSecure,
      // A stripped path takes the place of the path that the server sees itself.
      path: server.strippedPath.isEmpty ? try prefix(source, server.path) : "", key: key.value,
      network: try network(), isLocal: typed.isOn(.local), strippedPath: server.strippedPath)
  }

  private struct Server {
    var host: String
    var port: Int?
    var scheme: String
    /// The path before `/app`, unless an option or the source names one.
    var path = ""
    var strippedPath = ""
  }

  /// Returns the address of the HTTP API, if it has one of its own.
  private func apiURL() throws(UsageError) -> HTTPURL? {
    guard let text = typed.text(.apiURL) else { return nil }
    var url = try UsageError.explaining("--api-url: ", try APIClient.address(text))
    url.host = Loopback.reachable(url.host)
    return url
  }

  private func server(
    _ face: Face, _ source: CredentialSource
  ) throws(UsageError) -> Server {
    let url = try apiURL()
    if face == .api, let url {
      return Server(
        host: url.host, port: url.port, scheme: url.scheme.rawValue, strippedPath: url.path)
    }
    let typedCluster = typed.setting(.cluster)
    let typedHost = typed.setting(.host)
    let host = try (typedHost ?? (typedCluster == nil ? source.host : nil)).map(Self.checkedHost)
    var cluster = typedCluster ?? (host == nil ? source.cluster : nil)
    if let host, let named = Self.cluster(of: host) {
      cluster = Setting(origin: "host", value: named)
    }
    if let cluster { try Self.checkCluster(cluster) }
    if host == nil, cluster == nil, let url {
      // Nothing else names the server: a proxy for the API has the WebSocket below the same path.
      return Server(
        host: url.host, port: typed.integer(.port) ?? url.port,
        scheme: typed.text(.scheme) ?? url.scheme.rawValue, path: url.path)
    }
    if host == nil, cluster == nil, let variable = source.requiredHost {
      throw UsageError(
        "the app key is for a Reverb server, but no host is set: give --host or \(variable)")
    }
    // Port and scheme of another service do not apply to the typed cluster.
    let inherited = typedCluster == nil ? source : CredentialSource()
    let name = cluster.map { face.host(service, cluster: $0.value) }
    let typedPort = typed.integer(.port)
    let port = typedPort == nil ? inherited.port : nil
    let scheme = typed.text(.scheme) == nil ? inherited.scheme : nil
    return Server(
      host: name ?? host ?? face.host(service, cluster: nil),
      port: try port.map(Self.checkedPort) ?? typedPort,
      scheme: try scheme.map(Self.checkedScheme) ?? typed.word(.scheme))
  }

  /// Checks a host, and removes brackets; "any address" becomes this machine.
  private static func checkedHost(_ setting: Setting) throws(UsageError) -> String {
    var host = setting.value
    if host.hasPrefix("["), host.hasSuffix("]") { host = String(host.dropFirst().dropLast()) }
    let colons = host.filter { $0 == ":" }.count
    guard host.isVisible(without: "/?#@[]\\\"<>"), !host.isEmpty, colons != 1 else {
      throw UsageError(
        "\(setting.origin): '\(setting.value)' is not a host name; "
          + "give scheme, port and path separately")
    }
    return Loopback.reachable(host)
  }

  /// Returns the cluster in a host name of pusher.com: Laravel's PUSHER_HOST is that of the API.
  private static func cluster(of host: String) -> String? {
    let host = host.lowercased()
    if ["api.pusherapp.com", "ws.pusherapp.com"].contains(host) { return "mt1" }
    for prefix in ["api-", "ws-", "sockjs-"] where host.hasPrefix(prefix) {
      guard host.hasSuffix(".pusher.com") else { continue }
      return String(host.dropFirst(prefix.count).dropLast(".pusher.com".count))
    }
    return nil
  }

  private static func checkCluster(_ setting: Setting) throws(UsageError) {
    let isName = setting.value.utf8.allSatisfy {
      $0 == UInt8(ascii: "-") || (0x30...0x39).contains($0) || (0x61...0x7A).contains($0 | 0x20)
    }
    guard isName, !setting.value.isEmpty else {
      throw UsageError(
        "\(setting.origin): '\(setting.value)' is not a cluster name such as eu or mt1")
    }
  }

  private static func checkedPort(_ setting: Setting) throws(UsageError) -> Int {
    guard let port = Quantities.integer(setting.value), (1...65_535).contains(port) else {
      throw UsageError("\(setting.origin): '\(setting.value)' is not a port from 1 to 65535")
    }
    return port
  }

  private static func checkedScheme(_ setting: Setting) throws(UsageError) -> String {
    let scheme = setting.value.lowercased()
    guard ["https", "http", "wss", "ws"].contains(scheme) else {
      throw UsageError("\(setting.origin): '\(setting.value)' is not one of https, http, wss, ws")
    }
    return scheme
  }

  private func prefix(
    _ source: CredentialSource, _ byDefault: String
  ) throws(UsageError) -> String {
    let inherited = typed.text(.cluster) == nil ? source.path : nil
    guard let setting = typed.setting(.path) ?? inherited else { return byDefault }
    guard let path = HTTPURL.prefix(setting.value) else {
      throw UsageError("\(setting.origin): '\(setting.value)' is not a path such as /realtime")
    }
    return path
  }
}
