/// When a lost connection is dialled again.
public struct ReconnectPolicy: Sendable, Equatable {
  /// Which losses are followed by a new attempt.
  public enum Mode: Sendable, Equatable {
    /// The first connection must work; later losses are retried.
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
  /// Whether a refusal counts as a loss, although trying again unchanged seldom helps.
  package var retriesRefusals = false

  /// A policy; without arguments the one of the program.
  public init(
    mode: Mode = .automatic, maximumAttempts: Int? = nil, backoff: Backoff = Backoff()
  ) {
    (self.mode, self.maximumAttempts, self.backoff) = (mode, maximumAttempts, backoff)
  }
}

/// What a loss asks for.
enum ReconnectDecision: Equatable {
  /// Trying again unchanged cannot help.
  case stop
  /// The server refuses; trying again unchanged seldom helps.
  case refused
  /// Wait first, longer each time.
  case backOff
  /// Try again at once if the lost connection was stable, else wait first.
  case atOnce
}

/// Decides whether and when a lost connection is dialled again, and remembers since when events may be missing.
///
/// Both protocols use it: they say what a loss asks for, and this type decides what follows.
struct Reconnector {
  /// What follows from a loss.
  enum Verdict: Equatable {
    case retry(in: Duration)
    /// The loss is the end: it cannot be mended, or the mode allows no new attempt.
    case stop
    /// All allowed attempts failed.
    case giveUp
  }

  /// A connection that lasted this long was stable: a quick retry follows, and attempts are counted anew.
  static let stableAfter: Duration = .seconds(5)
  /// The least time between two attempts when the server names the wait.
  private static let shortestNamedWait: Duration = .milliseconds(10)

  private var policy: ReconnectPolicy
  /// The wait before a new attempt as an event stream names it (HTML section 9.2.3); `nil` where no server can.
  ///
  /// The first attempt then waits exactly so long, within the policy's ceiling, and no later one less.
  var namedWait: Duration?
  /// Attempts in a row that did not lead to a stable connection.
  private(set) var attempts = 0
  /// Those of them that were waited for; the waits grow with their number.
  private var waits = 0
  /// Whether the connection that is lost next was stable.
  ///
  /// One that was not gives no reason for a quick attempt: a server that crashes when it greets would be asked without
  /// a pause.
  private var isProved = false
  private var wasEverOpen = false
  /// Since when events may have been lost.
  private(set) var gapStart: Instant?
  /// Until when the last gap lasted.
  private var lastGapEnd: Instant?

  init(_ policy: ReconnectPolicy, namedWait: Duration? = nil) {
    self.policy = policy
    self.namedWait = namedWait
  }

  /// There is a connection.
  mutating func noteOpen() {
    wasEverOpen = true
  }

  /// The lost connection was stable: attempts are counted anew.
  mutating func noteStable() {
    attempts = 0
    waits = 0
    isProved = true
  }

  /// Another server, or other settings, count from now on: what was learned of the former one is forgotten, the gap is
  /// not.
  mutating func restart(_ policy: ReconnectPolicy) {
    self.policy = policy
    attempts = 0
    waits = 0
    isProved = false
  }

  /// Takes a loss; `retryAfter` is the wait that the server asks for, `random` draws the jitter.
  mutating func lost(
    _ wanted: ReconnectDecision, retryAfter: Duration?, random: inout any RandomNumberGenerator
  ) -> Verdict {
    defer { isProved = false }
    let decision = wanted == .refused ? (policy.retriesRefusals ? .backOff : .stop) : wanted
    guard decision != .stop, policy.mode == .always || policy.mode == .automatic && wasEverOpen
    else { return .stop }
    guard attempts < policy.maximumAttempts ?? .max else { return .giveUp }
    var delay = Duration.zero
    if decision == .backOff || !isProved {
      delay = max(wait(&random), min(retryAfter ?? .zero, policy.backoff.ceiling))
      waits += 1
    }
    attempts += 1
    return .retry(in: delay)
  }

  private func wait(_ random: inout any RandomNumberGenerator) -> Duration {
    guard let namedWait else {
      return policy.backoff.delay(attempt: waits, random: random.next())
    }
    let ceiling = policy.backoff.ceiling
    let floor = max(Self.shortestNamedWait, min(namedWait, ceiling))
    if waits == 0 { return floor }
    return Backoff(floor: floor, ceiling: ceiling)
      .delay(attempt: waits - 1, random: random.next())
  }

  // MARK: The gap

  /// Whether events may have been lost since a connection broke.
  var isGapOpen: Bool { gapStart != nil }

  /// Events may be missing from `start` on; an earlier gap that is still open counts from its own start.
  mutating func openGap(at start: Instant) {
    gapStart = gapStart ?? max(start, lastGapEnd ?? start)
  }

  /// Nothing was lost after all.
  mutating func forgetGap() {
    gapStart = nil
  }

  /// Events come again; answers since when they had not, if a gap was open.
  mutating func closeGap(at now: Instant) -> Instant? {
    guard let start = gapStart else { return nil }
    gapStart = nil
    lastGapEnd = now
    return start
  }
}

/// How long to wait before each new attempt: full-jitter exponential back-off between a floor and a ceiling.
///
/// Attempt n waits a time drawn evenly from `floor` to `floor`·2ⁿ⁺¹, the upper end capped at `ceiling`. So clients that
/// lost the same server come back spread out, and none comes back at once.
public struct Backoff: Sendable, Equatable {
  /// The shortest wait.
  public var floor: Duration
  /// The longest wait.
  public var ceiling: Duration

  /// A back-off between the two; a floor below zero counts as zero, a ceiling below the floor as the floor.
  public init(floor: Duration = .seconds(1), ceiling: Duration = .seconds(120)) {
    self.floor = max(floor, .zero)
    self.ceiling = max(self.floor, ceiling)
  }

  /// The wait before attempt `attempt`, the first being 0; `random` is where in the range it falls.
  ///
  /// Every value of `random` is allowed: 0 gives the floor, the largest gives the upper end.
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
