/// When a lost connection is made anew; <doc:Reconnecting> has the times of all attempts.
public struct RetrySettings: Sendable, Equatable {
  /// The shortest wait before an attempt, from which the longer ones grow; less than 10 ms counts as that.
  public var reconnectDelay: Duration
  /// The longest wait between two attempts; `nil` for no limit.
  public var maxReconnectGap: Duration?
  /// How many attempts in a row may fail before the client stays disconnected; `nil` for no limit.
  ///
  /// They are counted anew once a connection has lasted five seconds.
  public var reconnectAttemptsMax: Int?
  /// How long the server may take to answer a ping before the connection counts as lost.
  public var pongResponseTimeout: Duration

  /// Settings; without arguments those of ``standard``.
  public init(
    reconnectDelay: Duration = .seconds(1), maxReconnectGap: Duration? = .seconds(120),
    reconnectAttemptsMax: Int? = nil, pongResponseTimeout: Duration = .seconds(30)
  ) {
    (self.reconnectDelay, self.maxReconnectGap) = (reconnectDelay, maxReconnectGap)
    self.reconnectAttemptsMax = reconnectAttemptsMax
    self.pongResponseTimeout = pongResponseTimeout
  }

  /// Any number of attempts, with waits of 1 s to 120 s: what counts unless you set something else.
  public static let standard = RetrySettings()

  /// The defaults in PusherSwift's README: six attempts, and no longest wait.
  public static let pusherSwift = RetrySettings(maxReconnectGap: nil, reconnectAttemptsMax: 6)

  /// The defaults of libPusher 1.6: three attempts, and waits from five seconds.
  public static let libPusher = RetrySettings(
    reconnectDelay: .seconds(5), reconnectAttemptsMax: 3)
}

extension RetrySettings {
  /// A year: the longest wait where there is no limit.
  static let longestGap = Duration.seconds(31_536_000)

  /// The waits and attempts as the machines want them, in this mode.
  func policy(_ mode: ReconnectPolicy.Mode) -> ReconnectPolicy {
    let ceiling = maxReconnectGap ?? Self.longestGap
    // A longest gap below the floor asks for quick retries, but the client must still wait.
    let shortest = Duration.milliseconds(10)
    let floor = min(max(reconnectDelay, shortest), max(shortest, ceiling))
    return ReconnectPolicy(
      mode: mode, maximumAttempts: reconnectAttemptsMax.map { max($0, 0) },
      backoff: Backoff(floor: floor, ceiling: ceiling))
  }
}
