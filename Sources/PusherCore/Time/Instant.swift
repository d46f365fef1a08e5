/// A point in time on a monotonic clock, in nanoseconds since an arbitrary start.
///
/// The arithmetic saturates instead of trapping, so that a deadline of "never" is possible.
public struct Instant: InstantProtocol, Hashable, Sendable {
  /// Nanoseconds since the clock's arbitrary start.
  public var nanoseconds: Int64

  /// Makes an instant from the nanoseconds since the clock's start.
  public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

  /// Returns the instant `duration` later; a negative duration goes back.
  public func advanced(by duration: Duration) -> Instant {
    let (sum, overflow) = nanoseconds.addingReportingOverflow(duration.wholeNanoseconds)
    guard overflow else { return Instant(nanoseconds: sum) }
    return Instant(nanoseconds: duration.wholeNanoseconds > 0 ? .max : .min)
  }

  /// Returns the time from this instant to `other`; negative if `other` is earlier.
  public func duration(to other: Instant) -> Duration {
    let (difference, overflow) = other.nanoseconds.subtractingReportingOverflow(nanoseconds)
    guard overflow else { return .nanoseconds(difference) }
    return .nanoseconds(other > self ? Int64.max : Int64.min)
  }

  /// Orders instants by time.
  public static func < (left: Instant, right: Instant) -> Bool {
    left.nanoseconds < right.nanoseconds
  }
}

extension Instant {
  /// Returns the earlier of two deadlines; `nil` means "never".
  @inlinable package static func earliest(_ left: Instant?, _ right: Instant?) -> Instant? {
    guard let left else { return right }
    guard let right else { return left }
    return min(left, right)
  }
}

extension Duration {
  /// The duration in nanoseconds, clamped to 64 bits (292 years).
  package var wholeNanoseconds: Int64 {
    let (seconds, attoseconds) = components
    let (scaled, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    let (sum, carry) = scaled.addingReportingOverflow(attoseconds / 1_000_000_000)
    guard !overflow, !carry else { return seconds > 0 ? .max : .min }
    return sum
  }

  /// The duration in seconds, for people to read.
  package var inSeconds: Double {
    let (seconds, attoseconds) = components
    return Double(seconds) + Double(attoseconds) / 1e18
  }
}
