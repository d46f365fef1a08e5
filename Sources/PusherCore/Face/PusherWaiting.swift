/// Error of ``Pusher/connected(within:)`` and ``PusherChannel/subscribed(within:)``.
public enum PusherWaitError: Error, Sendable, Equatable, CustomStringConvertible {
  /// `disconnect()` was called, or the delegate prevented the connection.
  case disconnected
  /// The channel was unsubscribed, or its client is gone.
  case ended
  /// The limit expired; with what is missing or what failed last, in words.
  case timeout(Duration, reason: String)

  /// Description in words.
  public var description: String {
    switch self {
    case .disconnected: "the client was disconnected"
    case .ended: "the channel was unsubscribed, or the client is gone"
    case .timeout(let limit, let reason): "timed out after \(limit.inWords): \(reason)"
    }
  }
}

extension Pusher {
  /// Connects if necessary, and returns after the server's greeting.
  ///
  /// With ``PusherClientOptions/autoReconnect`` the client retries a failed first connection
  /// without end, so set a limit or cancel the task. Cancelling ends the wait immediately; the
  /// client continues.
  ///
  /// - Parameter limit: Maximum wait; `nil` for none.
  /// - Throws: ``ConnectionLoss`` or ``PusherConfigurationError`` when no further attempt follows,
  ///   ``PusherWaitError`` and `CancellationError`. ``PusherWaitError/timeout(_:reason:)`` names
  ///   the failure of the last attempt.
  public func connected(within limit: Duration? = nil) async throws {
    connection.connect()
    let connection = connection
    try await PusherWaitError.limit(limit) {
      for await state in connection.states {
        switch state {
        case .connected: return
        case .disconnected:
          throw connection.failure ?? PusherWaitError.disconnected
        case .connecting, .disconnecting, .reconnecting: continue
        }
      }
      try Task.checkCancellation()
      throw PusherWaitError.ended
    } reason: {
      connection.obstacle ?? "the connection was made too late"
    }
  }

  /// Current state and every change; see ``PusherConnection/states``.
  public var states: AsyncStream<ConnectionState> { connection.states }
}

extension PusherBuffering {
  /// For states and the like, of which a slow reader needs the latest.
  fileprivate static let latest = newest(64)
}

extension PusherConnection {
  /// The reason why there is no connection, in words; `nil` if there is one.
  fileprivate var obstacle: String? {
    let (state, failure) = state.withLock { ($0.connectionState, $0.failure) }
    if let failure { return "\(failure)" }
    return switch state {
    case .connected: nil
    case .connecting, .reconnecting: "the server has not answered yet"
    case .disconnecting, .disconnected: "the client is not connected; call connect()"
    }
  }

  /// Current state, then every change, until the client is gone; each call makes a sequence.
  ///
  /// A reader more than 64 changes behind gets the latest.
  public var states: AsyncStream<ConnectionState> {
    let queue = EventQueue<ConnectionState>(.latest) { [weak self] key, _ in
      self?.state.withLock { $0.observers[key] = nil }
    }
    let reader = StreamReader(queue)
    let isOver = state.withLock { state in
      queue.add(state.connectionState)
      if !state.isShutDown { state.observers[ObjectIdentifier(queue)] = queue }
      return state.isShutDown
    }
    if isOver { queue.finish() }
    return reader.events
  }
}

extension PusherChannel {
  enum News: Sendable {
    case subscribed
    case failed(SubscriptionFailure)
    /// The client makes no further attempt to connect.
    case gaveUp(any Error)
  }

  /// Returns after the server has confirmed the channel; immediately if it already has.
  ///
  /// The method does not connect: call `connect()` too. Cancelling ends the wait immediately; the
  /// channel stays wanted.
  ///
  /// - Parameter limit: Maximum wait; `nil` for none.
  /// - Throws: ``SubscriptionFailure`` if the last or the next attempt failed, and if a delay took
  ///   longer, with type `RateLimit` for a rate limit and `Unavailable` for a signer;
  ///   ``ConnectionLoss`` or ``PusherConfigurationError`` if the client makes no further attempt to
  ///   connect; ``PusherWaitError`` and `CancellationError`. ``PusherWaitError/timeout(_:reason:)``
  ///   names what is missing.
  public func subscribed(within limit: Duration? = nil) async throws {
    do {
      try await awaitSubscription(within: limit)
    } catch let error as PusherWaitError {
      if case .timeout = error, let delay { throw delay }
      throw error
    }
  }

  private func awaitSubscription(within limit: Duration?) async throws {
    try await PusherWaitError.limit(limit) { [self] in
      for await news in news(beginningNow: true).events {
        switch news {
        case .subscribed: return
        case .failed(let failure): throw failure
        case .gaveUp(let error): throw error
        }
      }
      try Task.checkCancellation()
      throw PusherWaitError.ended
    } reason: { [self] in
      connection.obstacle ?? "no confirmation of \(name) has come"
    }
  }

  /// Every later failure of a subscription; each call makes a sequence, for one reader.
  ///
  /// A reader more than 64 failures behind gets the latest.
  public var failures: AsyncStream<SubscriptionFailure> {
    let reader = news(beginningNow: false)
    return AsyncStream {
      while let element = await reader.queue.next() {
        if case .event(.failed(let failure)) = element { return failure }
      }
      return nil
    }
  }

  /// - Parameter beginningNow: True if the current state comes first, if it ends a wait.
  private func news(beginningNow: Bool) -> StreamReader<News> {
    let queue = EventQueue<News>(.latest) { [weak self] key, _ in
      self?.removeObserver(key)
    }
    if !add(queue, beginningNow: beginningNow) { queue.finish() }
    return StreamReader(queue)
  }
}

extension PusherWaitError {
  /// Runs `body` for at most `limit`, then cancels it and throws the reason.
  static func limit(
    _ limit: Duration?, _ body: @escaping @Sendable () async throws -> Void,
    reason: () -> String
  ) async throws {
    guard let limit else { return try await body() }
    let isInTime = try await withThrowingTaskGroup(of: Bool.self) { group in
      group.addTask {
        try await body()
        return true
      }
      group.addTask {
        try await Task.sleep(for: limit)
        return false
      }
      defer { group.cancelAll() }
      return try await group.next() ?? false
    }
    guard isInTime else { throw Self.timeout(limit, reason: reason()) }
  }
}
