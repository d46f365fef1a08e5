/// When a lost connection is dialled again.
public struct ReconnectPolicy: Sendable, Equatable {
  /// Which losses are followed by a new attempt.
  public enum Mode: Sendable, Equatable {
    /// The first connection must come about; later losses are mended.
    case automatic
    /// The first attempt, too, is repeated until it works.
    case always
    /// Any loss is the end.
    case never
  }

  /// Which losses are followed by a new attempt.
  public var mode: Mode
  /// How many attempts in a row may fail, counted anew once a connection has proved stable; `nil` for no limit.
  public var maximumAttempts: Int?
  /// The wait before each attempt.
  public var backoff: Backoff

  /// A policy; without arguments the one of the program.
  public init(
    mode: Mode = .automatic, maximumAttempts: Int? = nil, backoff: Backoff = Backoff()
  ) {
    self.mode = mode
    self.maximumAttempts = maximumAttempts
    self.backoff = backoff
  }
}

extension ReconnectPolicy {
  /// The wait after `loss`: the back-off's, or what the server asked for if that is longer, up to the ceiling.
  func delay(attempt: Int, random: UInt64, _ loss: ConnectionLoss) -> Duration {
    let own = backoff.delay(attempt: attempt, random: random)
    guard case .refused(_, _, let asked?) = loss else { return own }
    return max(own, min(asked, backoff.ceiling))
  }
}

/// What a session needs to know before it begins.
public struct SessionOptions: Sendable {
  /// What the service calls things.
  public var service: Service
  /// Silence after which a ping is sent; the server's own value counts when it is shorter.
  public var activityTimeout: Duration
  /// How long the answer to a ping may take.
  public var pongTimeout: Duration
  /// From the name's resolution to `connection_established`; and from each subscription to its answer.
  public var connectTimeout: Duration
  /// When a lost connection is dialled again.
  public var reconnect: ReconnectPolicy
  /// How much of each presence channel's list is kept.
  public var presence = PresenceLimits()
  /// Whether even an attempt that follows at once is first waited for, so that the owner can still move or stop it.
  package var announcesRetries = false

  /// Options; without arguments those of the protocol page.
  public init(
    service: Service = .pusher, activityTimeout: Duration = .seconds(120),
    pongTimeout: Duration = .seconds(30), connectTimeout: Duration = .seconds(10),
    reconnect: ReconnectPolicy = ReconnectPolicy()
  ) {
    self.service = service
    self.activityTimeout = activityTimeout
    self.pongTimeout = pongTimeout
    self.connectTimeout = connectTimeout
    self.reconnect = reconnect
  }
}
