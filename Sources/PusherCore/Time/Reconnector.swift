/// Rules for reconnecting after a lost connection.
public struct ReconnectPolicy: Sendable, Equatable {
  /// Losses that lead to a new attempt.
  public enum Mode: Sendable, Equatable {
    /// The first connection must work; later losses are retried.
    case automatic
    /// The first attempt is also repeated until it works.
    case always
    /// Any loss is final.
    case never
  }

  /// Losses that lead to a new attempt.
  public var mode: Mode
  /// Maximum number of attempts in a row without a stable connection; `nil` for no limit.
  public var maximumAttempts: Int?
  /// The wait before each attempt.
  public var backoff: Backoff
  /// True if a refusal is retried, although the same request seldom succeeds later.
  package var retriesRefusals = false
  /// True if a request whose answer asks for another try is repeated before the first connection,
  /// in any mode.
  package var retriesWhenAsked = false

  /// Makes a policy; without arguments, the program's default.
  public init(mode: Mode = .automatic, maximumAttempts: Int? = nil, backoff: Backoff = Backoff()) {
    (self.mode, self.maximumAttempts, self.backoff) = (mode, maximumAttempts, backoff)
  }
}

enum ReconnectDecision: Equatable {
  case stop
  /// The server refuses; a retry seldom helps.
  case refused
  /// The server has done nothing, and asks for another try after a wait.
  case asked
  case backOff
  /// Retry at once if the lost connection was stable, else wait first.
  case atOnce
}

/// Decides whether and when to reconnect, and records the start of missing events.
struct Reconnector {
  enum Verdict: Equatable {
    case retry(in: Duration)
    /// The loss is permanent, or the mode allows no new attempt.
    case stop
    case giveUp

    var delay: Duration? { if case .retry(let delay) = self { delay } else { nil } }
  }

  /// A connection of this age counts as stable: a quick retry follows, and the attempts are reset.
  static let stableAfter: Duration = .seconds(5)
  /// Minimum wait if the server sets the wait.
  private static let shortestNamedWait: Duration = .milliseconds(10)
  private var policy: ReconnectPolicy
  /// The wait set by an event stream (HTML section 9.2.3), a minimum within the policy's ceiling.
  var namedWait: Duration?
  private(set) var attempts = 0
  /// Attempts after a wait; their number determines the next wait.
  private var waits = 0
  /// True after a stable connection.
  ///
  /// Else a server that crashes during its greeting would get requests without a pause.
  private var isProved = false
  private var wasEverOpen = false
  /// Start of a period in which events may have been lost.
  private(set) var gapStart: Instant?
  private var lastGapEnd: Instant?

  init(_ policy: ReconnectPolicy, namedWait: Duration? = nil) {
    (self.policy, self.namedWait) = (policy, namedWait)
  }

  mutating func noteOpen() { wasEverOpen = true }

  mutating func noteStable() {
    attempts = 0
    waits = 0
    isProved = true
  }

  /// Starts over for another server or other settings; an open gap remains.
  mutating func restart(_ policy: ReconnectPolicy) {
    self.policy = policy
    attempts = 0
    waits = 0
    isProved = false
  }

  /// Handles a loss; `retryAfter` is the wait requested by the server, `random` draws the jitter.
  mutating func lost(
    _ wanted: ReconnectDecision, retryAfter: Duration?, random: inout any RandomNumberGenerator
  ) -> Verdict {
    defer { isProved = false }
    let decision = wanted == .refused ? (policy.retriesRefusals ? .backOff : .stop) : wanted
    guard decision != .stop, allows(decision) else { return .stop }
    guard attempts < policy.maximumAttempts ?? .max else { return .giveUp }
    var delay = Duration.zero
    if decision != .atOnce || !isProved {
      delay = max(wait(&random), min(retryAfter ?? .zero, policy.backoff.ceiling))
      waits += 1
    }
    attempts += 1
    return .retry(in: delay)
  }

  private func allows(_ decision: ReconnectDecision) -> Bool {
    switch policy.mode {
    case .always: true
    case .automatic where wasEverOpen: true
    case .automatic, .never: decision == .asked && policy.retriesWhenAsked && !wasEverOpen
    }
  }

  private func wait(_ random: inout any RandomNumberGenerator) -> Duration {
    guard let namedWait else { return policy.backoff.delay(attempt: waits, random: random.next()) }
    let ceiling = policy.backoff.ceiling
    let floor = max(Self.shortestNamedWait, min(namedWait, ceiling))
    if waits == 0 { return floor }
    return Backoff(floor: floor, ceiling: ceiling).delay(attempt: waits - 1, random: random.next())
  }

  var isGapOpen: Bool { gapStart != nil }

  /// Records that events may be missing from `start` on, or from the start of an open gap.
  mutating func openGap(at start: Instant) {
    gapStart = gapStart ?? max(start, lastGapEnd ?? start)
  }

  mutating func forgetGap() { gapStart = nil }

  /// Ends the gap, since events come again; returns its start, if a gap was open.
  mutating func closeGap(at now: Instant) -> Instant? {
    guard let start = gapStart else { return nil }
    gapStart = nil
    lastGapEnd = now
    return start
  }
}

/// Full-jitter exponential back-off between a floor and a ceiling.
///
/// Attempt n waits a time drawn evenly from `floor` to `floor`·2ⁿ⁺¹, the upper end capped at
/// `ceiling`. So clients that lost the same server reconnect spread out, and none at once.
public struct Backoff: Sendable, Equatable {
  /// The shortest wait.
  public var floor: Duration
  /// The longest wait.
  public var ceiling: Duration

  /// Makes a back-off; raises a negative floor to zero and a ceiling below the floor to the floor.
  public init(floor: Duration = .seconds(1), ceiling: Duration = .seconds(120)) {
    self.floor = max(floor, .zero)
    self.ceiling = max(self.floor, ceiling)
  }

  /// Returns the wait before attempt `attempt`, from 0, at position `random` of its range.
  ///
  /// Takes any value of `random`: 0 gives the floor, the largest value the upper end.
  public func delay(attempt: Int, random: UInt64) -> Duration {
    let doublings = min(max(attempt, 0), 61) + 1
    let floor = max(floor.wholeNanoseconds, 0)
    let (grown, overflow) = floor.multipliedReportingOverflow(by: 1 << doublings)
    let upper = min(overflow ? .max : grown, ceiling.wholeNanoseconds)
    let range = UInt64(max(upper - floor, 0))
    let share = (range &+ 1).multipliedFullWidth(by: random).high
    return .nanoseconds(floor + Int64(clamping: share))
  }
}
