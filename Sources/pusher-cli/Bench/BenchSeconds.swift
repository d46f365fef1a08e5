internal import PusherCore

/// A row a second: what was sent, what came and how late.
///
/// Events and losses belong to the second in which the event was meant to be sent; deliveries and
/// delays belong to the second in which the event came.
struct BenchSeconds {
  struct Row: Equatable {
    var sent = 0
    var failed = 0
    var delivered = 0
    var lost = 0
    var connected = 0
    var errors = 0
    var p50: Duration?
    var p99: Duration?
    var largest: Duration?
  }

  /// Rows before the last one are complete, except for losses.
  private(set) var rows: [Row] = [Row()]
  private var delays = DelayHistogram()
  /// The latest deliveries, for the line of progress.
  typealias Latest = (delivered: Int, p99: Duration?)

  /// The second so far.
  var latest: Latest { (rows[rows.count - 1].delivered, delays.percentile(99)) }

  /// Maximum number of rows; later events count in the last one.
  private static let limit = 100_000

  private static func second(_ time: Duration) -> Int {
    min(max(Int(time.inSeconds.rounded(.down)), 0), limit - 1)
  }

  /// Ends the rows before the second of `time`.
  mutating func advance(to time: Duration) {
    let second = Self.second(time)
    guard second >= rows.count else { return }
    finish()
    rows += Array(repeating: Row(), count: second + 1 - rows.count)
  }

  /// Takes the delays of the last row into it.
  mutating func finish() {
    guard delays.count > 0 else { return }
    rows[rows.count - 1].note(delays)
    delays.removeAll()
  }

  mutating func noteDelivery(at time: Duration, after delay: Duration) {
    advance(to: time)
    rows[rows.count - 1].delivered += 1
    delays.record(delay)
  }

  mutating func noteConnected(at time: Duration) {
    advance(to: time)
    rows[rows.count - 1].connected += 1
  }

  mutating func noteError(at time: Duration) {
    advance(to: time)
    rows[rows.count - 1].errors += 1
  }

  mutating func noteSent(_ count: Int, intended time: Duration) {
    rows[row(of: time)].sent += count
  }

  mutating func noteFailed(_ count: Int, intended time: Duration) {
    rows[row(of: time)].failed += count
  }

  mutating func noteLost(intended time: Duration) { rows[row(of: time)].lost += 1 }

  private mutating func row(of time: Duration) -> Int {
    advance(to: time)
    return Self.second(time)
  }

  var csv: String { Self.csv(rows) }

  /// Returns the rows as CSV (RFC 4180) with a heading; times are in milliseconds.
  static func csv(_ rows: [Row]) -> String {
    var text = "second,sent,failed,delivered,lost,p50_ms,p99_ms,max_ms,connected,errors\n"
    for (second, row) in rows.enumerated() {
      let times = [row.p50, row.p99, row.largest].map { time in
        time.map { BenchNumber.text($0.inSeconds * 1000) } ?? ""
      }
      let counts = [second, row.sent, row.failed, row.delivered, row.lost].map(String.init)
      let ends = [row.connected, row.errors].map(String.init)
      text += (counts + times + ends).joined(separator: ",") + "\n"
    }
    return text
  }
}

extension BenchSeconds.Row {
  mutating func note(_ delays: DelayHistogram) {
    p50 = delays.percentile(50)
    p99 = delays.percentile(99)
    largest = delays.largest
  }
}

/// Numbers for figures: at most three decimal places.
enum BenchNumber {
  static func text(_ value: Double, places: Int = 3) -> String {
    guard value.isFinite, value.magnitude < 1e15 else { return value.isFinite ? "\(value)" : "0" }
    var factor = 1.0
    for _ in 0..<places { factor *= 10 }
    let scaled = Int((value.magnitude * factor).rounded())
    let sign = value < 0 && scaled > 0 ? "-" : ""
    let (whole, rest) = scaled.quotientAndRemainder(dividingBy: Int(factor))
    guard rest > 0 else { return "\(sign)\(whole)" }
    var digits = String(rest + Int(factor)).dropFirst()
    while digits.utf8.last == UInt8(ascii: "0") { digits = digits.dropLast() }
    return "\(sign)\(whole).\(digits)"
  }

  /// Writes a whole number with commas between its thousands.
  static func grouped(_ value: Int) -> String {
    var groups: [String] = []
    var rest = value.magnitude
    while rest >= 1000 {
      groups.append(String(String(rest % 1000 + 1000).dropFirst()))
      rest /= 1000
    }
    groups.append(String(rest))
    return (value < 0 ? "-" : "") + groups.reversed().joined(separator: ",")
  }
}
