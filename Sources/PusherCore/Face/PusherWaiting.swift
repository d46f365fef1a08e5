/// Why ``Pusher/connected(within:)`` or ``PusherChannel/subscribed(within:)`` waits no longer, when nothing has failed.
public enum PusherWaitError: Error, Sendable, Equatable, CustomStringConvertible {
  /// `disconnect()` was called, or the delegate did not let the client connect.
  case disconnected
  /// The channel was unsubscribed, or its client is gone.
  case ended
  /// It took longer than this.
  case timeout(Duration)

  /// What happened, in words.
  public var description: String {
    switch self {
    case .disconnected: "the client was disconnected"
    case .ended: "the channel was unsubscribed, or the client is gone"
    case .timeout(let limit): "it took longer than \(limit.inWords)"
    }
  }
}

extension Pusher {
  /// Connects unless it is connected, and returns once the server has greeted the socket.
  ///
  /// With ``PusherClientOptions/autoReconnect`` a first connection that fails is tried again and again, so give a limit
  /// or cancel the task. Cancelling ends the wait at once; the client goes on.
  ///
  /// - Parameter limit: The longest wait; `nil` for none.
  /// - Throws: ``ConnectionLoss`` or ``PusherConfigurationError`` when no further attempt follows, ``PusherWaitError``,
  ///   and `CancellationError`.
  public func connected(within limit: Duration? = nil) async throws {
    connection.connect()
    let connection = connection
    try await TimeLimit.run(within: limit) {
      for await state in connection.states {
        switch state {
        case .connected: return
        case .disconnected:
          throw connection.state.withLock { $0.failure } ?? PusherWaitError.disconnected
        case .connecting, .disconnecting, .reconnecting: continue
        }
      }
      try Task.checkCancellation()
      throw PusherWaitError.ended
    }
  }

  /// The state of the connection, now and after each change; see ``PusherConnection/states``.
  public var states: AsyncStream<ConnectionState> { connection.states }
}

extension PusherConnection {
  /// How many changes a reader of ``states`` may be late.
  private static let lateness = 64

  /// The present state, then every change, until the client is gone.
  ///
  /// Each call makes a sequence of its own, for one reader. One that is more than 64 changes late gets the latest.
  public var states: AsyncStream<ConnectionState> {
    let queue = EventQueue<ConnectionState>(.newest(Self.lateness)) { [weak self] key in
      _ = self?.state.withLock { $0.observers.removeValue(forKey: key) != nil }
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
  /// Something that ends a wait for the subscription.
  enum News: Sendable {
    case subscribed
    case failed(SubscriptionFailure)
  }

  /// How many failures a reader of ``failures`` may be late.
  private static let lateness = 64

  /// Returns once the server has confirmed the channel; at once while it is subscribed.
  ///
  /// It does not connect: call `connect()` too. Cancelling ends the wait at once; the channel stays wanted.
  ///
  /// - Parameter limit: The longest wait; `nil` for none.
  /// - Throws: ``SubscriptionFailure`` when the last attempt failed or the next one does, and of type `RateLimit` when
  ///   the server's rate limit took longer; ``PusherWaitError``, and `CancellationError`.
  public func subscribed(within limit: Duration? = nil) async throws {
    do {
      try await awaitSubscription(within: limit)
    } catch let error as PusherWaitError {
      if case .timeout = error, let delay { throw delay }
      throw error
    }
  }

  private func awaitSubscription(within limit: Duration?) async throws {
    try await TimeLimit.run(within: limit) { [self] in
      for await news in news(beginningNow: true).events {
        switch news {
        case .subscribed: return
        case .failed(let failure): throw failure
        }
      }
      try Task.checkCancellation()
      throw PusherWaitError.ended
    }
  }

  /// Each failure of a subscription from now on, until the channel is unsubscribed or the client is gone.
  ///
  /// Each call makes a sequence of its own, for one reader. One that is more than 64 failures late gets the latest.
  public var failures: AsyncStream<SubscriptionFailure> {
    let reader = news(beginningNow: false)
    return AsyncStream {
      while let element = await reader.queue.next() {
        if case .event(.failed(let failure)) = element { return failure }
      }
      return nil
    }
  }

  /// What happens to the subscription.
  ///
  /// - Parameter beginningNow: Whether the present state comes first, if it is one that ends a wait.
  private func news(beginningNow: Bool) -> StreamReader<News> {
    let queue = EventQueue<News>(.newest(Self.lateness)) { [weak self] key in
      self?.removeObserver(key)
    }
    if !add(queue, beginningNow: beginningNow) { queue.finish() }
    return StreamReader(queue)
  }
}

extension TimeLimit {
  /// Runs `body`, and gives it up after `limit`.
  fileprivate static func run(
    within limit: Duration?, _ body: @escaping @Sendable () async throws -> Void
  ) async throws {
    guard let limit else { return try await body() }
    guard try await finishes(body, within: limit) else { throw PusherWaitError.timeout(limit) }
  }
}
