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
