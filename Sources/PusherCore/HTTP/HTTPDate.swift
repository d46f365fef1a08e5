/// The three forms of a date in HTTP fields (RFC 9110 section 5.6.7); the day's name is not
/// checked.
package enum HTTPDate {
  /// Parses a date; a year with two digits is never more than 50 years after `now`.
  package static func parse(_ text: String, now: WallTime) -> WallTime? {
    let words = text.split(whereSeparator: { $0 == " " || $0 == "," || $0 == "-" })
    switch words.count {
    case 6 where words[5] == "GMT" && text.contains(","):
      return moment(day: words[1], month: words[2], year: words[3], time: words[4], now)
    case 5 where !text.contains(","):
      return moment(day: words[2], month: words[1], year: words[4], time: words[3], now)
    default: return nil
    }
  }

  private static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]

  private static func moment(
    day: Substring, month: Substring, year: Substring, time: Substring, _ now: WallTime
  ) -> WallTime? {
    let clock = time.split(separator: ":", omittingEmptySubsequences: false)
    guard let month = months.firstIndex(of: String(month)), let day = number(day, 1...31),
      let shortYear = number(year, 0...9999), year.count == 4 || year.count == 2,
      clock.count == 3, clock.allSatisfy({ $0.count == 2 }), let hour = number(clock[0], 0...23),
      let minute = number(clock[1], 0...59), let second = number(clock[2], 0...60)
    else { return nil }
    func moment(in year: Int64) -> WallTime {
      let days = WallTime.daysSince1970(year: year, month: Int64(month) + 1, day: day)
      let seconds = days * 86_400 + hour * 3600 + minute * 60 + second
      return WallTime(millisecondsSince1970: seconds * 1000)
    }
    guard year.count == 2 else { return moment(in: shortYear) }
    let century = (Int64(now.rfc3339.prefix(4)) ?? 2000) / 100 * 100
    let limit = now.advanced(by: .seconds(50 * 31_557_600))
    let candidates = [century + 100, century, century - 100].map { moment(in: $0 + shortYear) }
    return candidates.first { $0.millisecondsSince1970 <= limit.millisecondsSince1970 }
  }

  private static func number(_ text: Substring, _ range: ClosedRange<Int64>) -> Int64? {
    guard !text.isEmpty, text.utf8.allSatisfy({ $0 &- 0x30 < 10 }), let value = Int64(text),
      range.contains(value)
    else { return nil }
    return value
  }
}

package enum RetryAfter {
  /// Parses a `Retry-After` field (RFC 9110 section 10.2.3): seconds or a date; zero for a past
  /// date.
  package static func parse(_ value: String, now: WallTime) -> Duration? {
    if !value.isEmpty, value.utf8.allSatisfy({ $0 &- 0x30 < 10 }) {
      return .seconds(min(Int64(value) ?? .max, 100 * 365 * 86_400))
    }
    guard let then = HTTPDate.parse(value, now: now) else { return nil }
    return .milliseconds(max(0, then.millisecondsSince1970 - now.millisecondsSince1970))
  }
}
