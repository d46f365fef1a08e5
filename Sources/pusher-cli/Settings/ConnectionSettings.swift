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

  /// The two sides of a service; pusher.com has a host name for each.
  enum Face {
    case webSocket, api

    fileprivate func host(_ service: PusherService, cluster: String?) -> String {
      self == .api ? service.apiHost(cluster: cluster) : service.host(cluster: cluster)
    }
  }

  /// Takes one side of the app's server.
  init(
    _ resolved: inout Resolved, _ face: Face, _ app: CredentialSource
  ) throws(UsageError) {
    key = try resolved.key(app).value
    service = resolved.service(of: app)
    let url = try Self.apiURL(resolved)
    let port: Int?
    let scheme: String
    path = ""
    if face == .api, let url {
      (host, port, scheme) = (url.host, url.port, url.scheme.rawValue)
      strippedPath = url.path
    } else {
      let named = try app[.host].map(Self.checkedHost)
      var cluster = resolved[.cluster].isGiven || named == nil ? app[.cluster] : nil
      if let named, let name = Self.cluster(of: named) {
        cluster = Setting(origin: "host", value: name)
      }
      if let cluster { try Self.checkCluster(cluster) }
      if named == nil, cluster == nil, let url {
        // Nothing else names the server: a proxy for the API has the WebSocket below the same path.
        (host, port) = (url.host, resolved[.port].integer ?? url.port)
        scheme = resolved[.scheme].text ?? url.scheme.rawValue
        path = url.path
      } else {
        if named == nil, cluster == nil, let variable = app.requiredHost {
          throw UsageError(
            "the app key is for a Reverb server, but no host is set: give --host or \(variable)")
        }
        host =
          cluster.map { [service] in face.host(service, cluster: $0.value) }
          ?? named ?? face.host(service, cluster: nil)
        port = try app[.port].map(Self.checkedPort)
        scheme = try app[.scheme].map(Self.checkedScheme) ?? resolved[.scheme].word
      }
    }
    isSecure = scheme == "https" || scheme == "wss"
    self.port = port ?? (isSecure ? 443 : 80)
    // A stripped path takes the place of the path that the server sees itself.
    if strippedPath.isEmpty, let prefix = app[.path] {
      guard let checked = HTTPURL.prefix(prefix.value) else {
        throw UsageError("\(prefix.origin): '\(prefix.value)' is not a path such as /realtime")
      }
      path = checked
    }
    network = try NetworkSettings(&resolved)
    isLocal = resolved[.local].isOn
  }

  /// Returns the address of the HTTP API, if it has one of its own.
  private static func apiURL(_ resolved: Resolved) throws(UsageError) -> HTTPURL? {
    guard let text = resolved[.apiURL].text else { return nil }
    var url = try UsageError.explaining("--api-url: ", try APIClient.address(text))
    url.host = Loopback.reachable(url.host)
    return url
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
}

struct NetworkSettings: Equatable, Sendable {
  var tls: TLSConfiguration
  /// Certificate authorities from the environment.
  var trust: TLSEnvironment
  /// Proxies, exceptions and kinds of address.
  var routing: Routing
  /// Time from look-up to the server's welcome or answer; for a stream, to the request.
  var connectTimeout: Duration

  /// - Parameter others: The TLS settings of another server than that of the settings.
  func destination(
    _ url: HTTPURL, _ headers: [NamedValue], tls others: TLSConfiguration? = nil
  ) -> Destination {
    Destination(
      url: url, headers: HTTPHeaders(headers.map { ($0.name, $0.value) }), routing: routing,
      tls: others ?? tls, trust: trust)
  }

  /// Returns what checks the certificates of other servers at these URLs; `nil` if none uses TLS.
  func tls(forOthersAt urls: [HTTPURL]) throws(TLSError) -> TLSContext? {
    guard urls.contains(where: \.isSecure) else { return nil }
    return try TLSContext.client(tls.forAnotherServer, environment: trust)
  }

  init(_ resolved: inout Resolved) throws(UsageError) {
    tls = try Self.tls(&resolved)
    trust = TLSEnvironment(resolved.environment.variables)
    routing = try Self.routing(resolved)
    connectTimeout = resolved[.connectTimeout].time
  }

  private static func tls(_ resolved: inout Resolved) throws(UsageError) -> TLSConfiguration {
    var tls = TLSConfiguration(insecure: resolved[.insecure].isOn)
    tls.caFile = try resolved.pemFile(.cacert, &tls.kept)
    tls.certificateFile = try resolved.pemFile(.tlsCert, &tls.kept)
    tls.keyFile = try resolved.pemFile(.tlsKey, &tls.kept)
    for text in resolved[.pinSHA256].texts {
      guard let pin = PublicKeyPin(text) else {
        throw UsageError("--pin-sha256: '\(text)' is not a SHA-256 in Base64 (44 characters)")
      }
      tls.pins.insert(pin)
    }
    if tls.insecure {
      resolved.warn(
        tls.pins.isEmpty
          ? "--insecure: the server's certificate is not checked; anyone in between can read and alter events"
          : "--insecure: only the pinned key of the server's certificate is checked",
        isSilenced: false)
    }
    return tls
  }

  /// `--proxy` applies to every server; `--local` ignores the environment.
  private static func routing(_ resolved: Resolved) throws(UsageError) -> Routing {
    var routing = try UsageError.explaining(
      "",
      try Routing(
        proxy: resolved[.proxy].text, calledBy: Flag.proxy.spelling,
        environment: resolved[.local].isOn ? [:] : resolved.environment.variables))
    if resolved[.proxy].text != nil, routing.secureProxy?.credentials?.password.isEmpty == false {
      throw UsageError(
        "--proxy: a password in the URL would show in ps; put the URL into ALL_PROXY")
    }
    if resolved[.ipv4].isOn { routing.families = [.ipv4] }
    if resolved[.ipv6].isOn { routing.families = [.ipv6] }
    return routing
  }
}

struct APIAccess: Equatable, Sendable {
  var connection: ConnectionSettings
  var appID: String
  var secret: Secret
  var headers: [NamedValue] = []

  /// The app's API, which signs the calls and reads the answers.
  var client: APIClient { client(nil) }

  /// - Parameter newer: The secret in place of the one of the start; `nil` for that one.
  func client(_ newer: Secret?) -> APIClient {
    APIClient(
      appID: appID, key: connection.key, secret: (newer ?? secret).revealed, url: connection.apiURL,
      prefix: connection.path, headers: HTTPHeaders(headers.map { ($0.name, $0.value) }))
  }

  init(_ resolved: inout Resolved) throws(UsageError) {
    let app = try resolved.app(.api)
    connection = try ConnectionSettings(&resolved, .api, app)
    guard let appID = app[.appID] else {
      throw UsageError("no app id: give --app-id or PUSHER_APP_ID")
    }
    try Resolved.requireWord(appID, what: "app id")
    self.appID = appID.value
    secret = try resolved.signer(app).secret
    headers = try resolved.headers(.header)
  }
}
