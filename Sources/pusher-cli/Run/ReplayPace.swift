internal import PusherCore

/// When each line of a recording is due, by the times at which its events came, for `--speed`.
///
/// It is pure: time is an argument.
struct ReplayPace {
  /// 1 is as it was.
  let speed: Double
  /// When the first line was due, and the time that it carries.
  private var start: (due: Instant, time: WallTime)?
  private var last: Instant?
  /// The longest wait, a century.
  private static let longest = 100.0 * 365 * 86_400

  init(speed: Double) {
    self.speed = speed
  }

  /// When a line is due: never before the line before it; `nil` for at once.
  mutating func time(of line: [UInt8], at now: Instant) -> Instant? {
    let text = String(decoding: line, as: UTF8.self)
    guard let value = try? JSONParser.parse(text), let stamp = value["received_at"]?.text,
      let time = WallTime(rfc3339: stamp)
    else { return last }
    guard let start else {
      start = (now, time)
      last = now
      return now
    }
    let milliseconds = time.millisecondsSince1970 - start.time.millisecondsSince1970
    let seconds = min(max(Double(milliseconds) / 1000 / speed, 0), Self.longest)
    let due = max(start.due.advanced(by: .seconds(seconds)), last ?? start.due)
    last = due
    return due
  }
}
