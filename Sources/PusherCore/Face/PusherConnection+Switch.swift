/// Another cluster, host or app on a living client.
extension PusherConnection {
  /// Goes to another cluster or host; everything else stays, channels and bindings too.
  ///
  /// ```swift
  /// try pusher.connection.switch(to: .cluster("us2"))
  /// ```
  ///
  /// Port and path belong to a host, so the former ones do not stay. For the rest see ``switch(to:key:)``.
  ///
  /// - Parameters:
  ///   - host: Where the service is from now on.
  ///   - port: 1 to 65535; `nil` for 443 with TLS and 80 without.
  ///   - path: The URL's path before `/app/KEY`.
  /// - Throws: ``PusherConfigurationError`` for settings that cannot work; then nothing has changed.
  public func `switch`(
    to host: PusherHost, port: Int? = nil, path: String? = nil
  ) throws(PusherConfigurationError) {
    var options = options
    options.host = host
    options.port = port
    options.path = path
    try self.switch(to: options)
  }

  /// Goes on with other options, and as another app if a key is given; channels and bindings stay.
  ///
  /// ```swift
  /// var options = pusher.connection.options
  /// options.authMethod = .endpoint(authEndpoint: "https://example.com/pusher/auth")
  /// try pusher.connection.switch(to: options, key: "ANOTHER_KEY")
  /// ```
  ///
  /// It returns at once. A client that is connected says goodbye and connects to the new place: its state goes to
  /// ``ConnectionState/reconnecting`` and back to ``ConnectionState/connected``, all channels are authorised and
  /// subscribed there, the user is signed in, and the delegate is told for how long events may have been missed. A
  /// client that is connecting or waits to reconnect makes its next attempt there and at once. A client that is
  /// disconnected goes there with its next `connect()`.
  ///
  /// When the new place cannot be reached attempts follow as after any loss; the former place is not asked again. A
  /// delegate is not asked by `connectionWillReconnect`, for you have decided already. ``PusherClientOptions/runtime``
  /// cannot be changed: the client keeps its thread.
  ///
  /// - Parameters:
  ///   - options: What counts from now on, in place of ``options``.
  ///   - key: The app's key; `nil` for the same as before.
  /// - Throws: ``PusherConfigurationError`` for settings that cannot work; then nothing has changed, and the present
  ///   connection stays.
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
  /// Refuses what cannot work, files that cannot be read among it.
  fileprivate func check(key: String) throws(PusherConfigurationError) {
    let destination = try destination(key: key)
    _ = try sessionOptions()
    guard destination.url.isSecure else { return }
    do throws(TLSError) {
      _ = try TLSContext.client(destination.tls, environment: destination.trust)
    } catch {
      throw .tls("\(error)")
    }
  }
}
