/// Times of retries; see <doc:Reconnecting>.
public struct RetrySettings: Sendable, Equatable {
  /// Minimum delay before an attempt, from which longer delays grow; at least 10 ms.
  public var reconnectDelay: Duration
  /// Maximum delay between two attempts; `nil` for no limit.
  public var maxReconnectGap: Duration?
  /// Maximum number of failed attempts in a row, counted until a connection lasts 5 s; `nil` for no
  /// limit.
  public var reconnectAttemptsMax: Int?
  /// Maximum time for the answer to a ping before the connection counts as lost.
  public var pongResponseTimeout: Duration

  /// Creates settings; the defaults are those of ``standard``.
  public init(
    reconnectDelay: Duration = .seconds(1), maxReconnectGap: Duration? = .seconds(120),
    reconnectAttemptsMax: Int? = nil, pongResponseTimeout: Duration = .seconds(30)
  ) {
    (self.reconnectDelay, self.maxReconnectGap) = (reconnectDelay, maxReconnectGap)
    self.reconnectAttemptsMax = reconnectAttemptsMax
    self.pongResponseTimeout = pongResponseTimeout
  }

  /// Default: any number of attempts, with delays from 1 s to 120 s.
  public static let standard = RetrySettings()

  /// Defaults in PusherSwift's README: six attempts, no maximum delay.
  public static let pusherSwift = RetrySettings(maxReconnectGap: nil, reconnectAttemptsMax: 6)

  /// Defaults of libPusher 1.6: three attempts, delays from 5 s.
  public static let libPusher = RetrySettings(reconnectDelay: .seconds(5), reconnectAttemptsMax: 3)
}

extension RetrySettings {
  static let longestGap = Duration.seconds(31_536_000)

  func policy(_ mode: ReconnectPolicy.Mode) -> ReconnectPolicy {
    let ceiling = maxReconnectGap ?? Self.longestGap
    // A maximum below the minimum means quick retries, but the client must still wait.
    let shortest = Duration.milliseconds(10)
    let floor = min(max(reconnectDelay, shortest), max(shortest, ceiling))
    return ReconnectPolicy(
      mode: mode, maximumAttempts: reconnectAttemptsMax.map { max($0, 0) },
      backoff: Backoff(floor: floor, ceiling: ceiling))
  }
}
