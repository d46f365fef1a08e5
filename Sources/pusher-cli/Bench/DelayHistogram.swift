internal import PusherCore

/// Counts of delays in buckets of equal relative width, as HdrHistogram has them.
///
/// Each value is known to three significant digits. The size is fixed: about 270 KiB.
/// Source: hdrhistogram.org, `recordValue` and `getValueAtPercentile`.
struct DelayHistogram: Equatable {
  /// Buckets of one power of two: enough for three digits.
  private static let half = 1024
  private static let bits = 11
  /// The largest value that is told apart; larger ones count as this one.
  static let limit = Duration.seconds(3600)
  private static let size = index(of: limit.wholeNanoseconds) + 1

  private var counts = [Int](repeating: 0, count: size)
  private(set) var count = 0
  private(set) var largest = Duration.zero
  private var sum = 0.0

  /// Counts a delay; a negative one counts as zero.
  mutating func record(_ delay: Duration) {
    let value = max(delay.wholeNanoseconds, 0)
    counts[Self.index(of: min(value, Self.limit.wholeNanoseconds))] += 1
    count += 1
    sum += Double(value)
    largest = max(largest, .nanoseconds(value))
  }

  mutating func removeAll() {
    for index in counts.indices { counts[index] = 0 }
    (count, largest, sum) = (0, .zero, 0)
  }

  var mean: Duration? { count == 0 ? nil : .nanoseconds(Int64(sum / Double(count))) }

  /// Returns the delay that `percent` of all delays do not exceed; `nil` without delays.
  func percentile(_ percent: Double) -> Duration? {
    guard count > 0 else { return nil }
    let rank = max(1, min(count, Int((percent * Double(count) / 100 - 1e-6).rounded(.up))))
    var seen = 0
    for (index, number) in counts.enumerated() where number > 0 {
      seen += number
      if seen >= rank { return min(Self.highest(of: index), largest) }
    }
    return largest
  }

  /// The filled buckets with their largest value, and the number of delays up to there.
  var steps: [(value: Duration, seen: Int)] {
    var steps: [(value: Duration, seen: Int)] = []
    var seen = 0
    for (index, number) in counts.enumerated() where number > 0 {
      seen += number
      steps.append((min(Self.highest(of: index), largest), seen))
    }
    return steps
  }

  // MARK: Buckets

  /// Values below 2048 have a bucket each; above, 1024 buckets share each power of two.
  private static func index(of value: Int64) -> Int {
    let power = max(0, 64 - (value | 2047).leadingZeroBitCount - bits)
    return power * half + Int(value >> Int64(power))
  }

  private static func highest(of index: Int) -> Duration {
    guard index >= 2 * half else { return .nanoseconds(index) }
    let power = index / half - 1
    let low = Int64(index % half + half) << Int64(power)
    return .nanoseconds(low + (1 << Int64(power)) - 1)
  }
}
