extension PusherConnection {
  /// Moves to another cluster or host; channels, bindings and other options stay.
  ///
  /// Replaces port (1 to 65535; `nil` for 443 with TLS and 80 without) and path too, which belong
  /// to the host. See ``switch(to:key:)``.
  public func `switch`(
    to host: PusherHost, port: Int? = nil, path: String? = nil
  ) throws(PusherConfigurationError) {
    var options = options
    options.host = host
    options.port = port
    options.path = path
    try self.switch(to: options)
  }

  /// Replaces the options, and the app if a key is given; channels and bindings stay.
  ///
  /// ```swift
  /// var options = pusher.connection.options
  /// options.authMethod = .endpoint(authEndpoint: "https://example.com/pusher/auth")
  /// try pusher.connection.switch(to: options, key: "ANOTHER_KEY")
  /// ```
  ///
  /// Returns immediately. A connected client goes to ``ConnectionState/reconnecting`` and connects
  /// to the new place. It authorises and subscribes all channels there, signs the user in, and
  /// reports the gap to the delegate. A connecting or waiting client makes its next attempt there
  /// immediately, a disconnected client at its next `connect()`. If the new place cannot be
  /// reached, retries follow as after any loss; the client does not return to the former place.
  /// `connectionWillReconnect` is not called, since you have decided already.
  /// ``PusherClientOptions/runtime`` cannot change.
  ///
  /// - Throws: ``PusherConfigurationError`` for settings that cannot work; nothing changes then.
  public func `switch`(
    to options: PusherClientOptions, key: String? = nil
  ) throws(PusherConfigurationError) {
    try options.check(key: key ?? self.key)
    state.withLock { state in
      let runtime = state.place.options.runtime
      state.place.options = options
      state.place.options.runtime = runtime
      if let key { state.place.key = key }
      state.place.number += 1
    }
    post(.move)
  }
}

extension PusherClientOptions {
  /// Rejects options that cannot work, including unreadable files.
  fileprivate func check(key: String) throws(PusherConfigurationError) {
    let destination = try destination(key: key)
    _ = try sessionOptions()
    guard destination.url.isSecure else { return }
    do throws(TLSError) {
      _ = try TLSContext.client(destination.tls, environment: destination.trust)
    } catch { throw .tls("\(error)") }
  }
}
