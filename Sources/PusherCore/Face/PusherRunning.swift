extension Pusher {
  /// Connects, and returns after the task is cancelled and the connection is closed.
  ///
  /// So a client can be a service of swift-service-lifecycle. Lost connections are retried as
  /// ``PusherClientOptions/autoReconnect`` and the delegate decide. The method also returns after
  /// ``disconnect()``.
  ///
  /// - Throws: ``ConnectionLoss`` or ``PusherConfigurationError`` when no further attempt follows.
  public func run() async throws {
    connection.connect()
    for await state in connection.states where state == .disconnected {
      if let failure = connection.state.withLock({ $0.failure }) { throw failure }
      return
    }
    connection.disconnect()
    // A separate task, since this cancelled one cannot wait.
    let states = connection.states
    await Task { for await state in states where state == .disconnected { return } }.value
  }
}
