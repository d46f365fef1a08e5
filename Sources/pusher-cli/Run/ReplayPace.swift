internal import PusherCore

/// Computes the time to send each line of a recording, for `--speed`; a pure machine.
struct ReplayPace {
  let speed: Double
  /// The time to send the first line, and its recorded time.
  private var start: (due: Instant, time: WallTime)?
  private var last: Instant?
  /// Maximum wait in seconds, a century.
  private static let longest = 100.0 * 365 * 86_400

  init(speed: Double) { self.speed = speed }

  /// Returns the time to send a line, never earlier than the line before it; `nil` for now.
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
