extension Pusher {
  /// Connects, and returns when the task is cancelled and the connection has been closed.
  ///
  /// So a client is a service of swift-service-lifecycle, or of anything that runs tasks. Lost connections are made
  /// again meanwhile, as ``PusherClientOptions/autoReconnect`` and the delegate say. It also returns after
  /// ``disconnect()``.
  ///
  /// - Throws: ``ConnectionLoss`` or ``PusherConfigurationError`` when there is no connection and no further attempt
  ///   follows.
  public func run() async throws {
    connection.connect()
    for await state in connection.states where state == .disconnected {
      if let failure = connection.state.withLock({ $0.failure }) { throw failure }
      return
    }
    connection.disconnect()
    // A task of its own, for this one is cancelled and waits for nothing any more.
    let states = connection.states
    await Task { for await state in states where state == .disconnected { return } }.value
  }
}
