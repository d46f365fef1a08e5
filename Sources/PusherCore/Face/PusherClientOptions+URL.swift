/// Turns options into the settings of the machines.
extension PusherClientOptions {
  /// What the client calls itself in the socket's URL.
  static let clientName = "swift-pusher-core"
  static let clientVersion = "1.0"

  /// Where and how to connect with `key`.
  func destination(key: String) throws(PusherConfigurationError) -> Destination {
    guard !key.isEmpty else { throw .missingKey }
    let prefix = try checkedPath()
    let url = service.socketURL(
      isSecure: useTLS, host: try checkedHost(), port: try checkedPort(), prefix: prefix, key: key,
      clientName: Self.clientName, version: Self.clientVersion)
    return Destination(
      url: url, routing: try network.routing(), tls: TLSConfiguration(caFile: caFile),
      trust: network.trust)
  }

  private func checkedHost() throws(PusherConfigurationError) -> String {
    let name = PusherHost.name(host, service.host(cluster:))
    // More than one colon is an IPv6 address; a single one would be a port's.
    let colons = name.utf8.count { $0 == UInt8(ascii: ":") }
    let isBare = colons > 1 && !name.begins(with: "[")
    guard colons != 1, !name.begins(with: "[") || name.ends(with: "]") else {
      throw .invalidHost(name, reason: "the port is an option of its own")
    }
    let url: HTTPURL
    do {
      url = try HTTPURL(parsing: isBare ? "ws://[\(name)]" : "ws://\(name)")
    } catch {
      throw .invalidHost(name, reason: "\(error)")
    }
    let isHostAlone =
      url.path == "/" && !name.ends(with: "/") && url.query == nil && url.userInfo == nil
      && !name.contains("#")
    guard isHostAlone else {
      throw .invalidHost(name, reason: "it holds more than a host's name")
    }
    return url.host
  }

  private func checkedPort() throws(PusherConfigurationError) -> Int? {
    guard let port else { return nil }
    guard (1...65_535).contains(port) else { throw .invalidPort(port) }
    return port
  }

  private func checkedPath() throws(PusherConfigurationError) -> String {
    let text = path ?? ""
    guard let path = HTTPURL.prefix(text) else { throw .invalidPath(text) }
    return path
  }

  /// The session's options, with the retry settings of the connection's own properties.
  func sessionOptions(_ retries: RetrySettings) throws(PusherConfigurationError) -> SessionOptions {
    for time in [activityTimeout, connectTimeout, retries.pongTimeout] {
      if let time, time <= .zero { throw .invalidTimeout(time) }
    }
    let mode: ReconnectPolicy.Mode =
      !autoReconnect ? .never : retriesFirstConnection ? .always : .automatic
    let ceiling = retries.maximumGap ?? .seconds(120)
    // A longest gap below the floor asks for quick retries, but the client must still wait.
    let floor = min(retries.floor, max(.milliseconds(10), ceiling))
    var options = SessionOptions(
      service: service, activityTimeout: activityTimeout ?? .seconds(120),
      pongTimeout: retries.pongTimeout, connectTimeout: connectTimeout,
      reconnect: ReconnectPolicy(
        mode: mode, maximumAttempts: retries.maximumAttempts.map { max($0, 0) },
        backoff: Backoff(floor: floor, ceiling: ceiling)))
    options.announcesRetries = true
    return options
  }
}

/// The retry settings of the connection.
struct RetrySettings: Sendable {
  /// The shortest wait before an attempt.
  var floor = Duration.seconds(1)
  /// The longest wait; `nil` for 120 s.
  var maximumGap: Duration? = .seconds(120)
  /// How many attempts in a row may fail; `nil` for no limit.
  var maximumAttempts: Int?
  /// How long the answer to a ping may take.
  var pongTimeout = Duration.seconds(30)
}
