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
  /// Delays that workers report, by second, until all workers have ended the second.
  private var unended: [Int: DelayHistogram] = [:]
  /// The last row that all workers have ended.
  private var lastEnded: Latest?
  /// Called with the delays of each second when it ends.
  var onSecond: ((_ second: Int, _ delays: DelayHistogram) -> Void)?

  /// The latest deliveries, for the line of progress.
  typealias Latest = (delivered: Int, p99: Duration?)

  /// The second so far; with workers, the last second that all of them have ended.
  var latest: Latest {
    lastEnded ?? (rows[rows.count - 1].delivered, delays.percentile(99))
  }

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
    makeRows(to: second)
  }

  private mutating func makeRows(to second: Int) {
    rows += Array(repeating: Row(), count: max(0, second + 1 - rows.count))
  }

  /// Takes the delays of the last row into it.
  mutating func finish() {
    guard delays.count > 0 else { return }
    rows[rows.count - 1].note(delays)
    onSecond?(rows.count - 1, delays)
    delays.removeAll()
  }

  /// Adds the delays that one worker measured in a second.
  mutating func add(_ delays: DelayHistogram, of second: Int) {
    unended[min(max(second, 0), Self.limit - 1), default: DelayHistogram()].add(delays)
  }

  /// Takes the workers' delays into the rows before `second`, which all workers have ended.
  mutating func end(before second: Int) {
    for ended in unended.keys.sorted() where ended < second {
      guard let delays = unended.removeValue(forKey: ended) else { continue }
      makeRows(to: ended)
      rows[ended].note(delays)
      lastEnded = (delays.count, delays.percentile(99))
    }
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

  /// Adds the counts of the same second in another process.
  ///
  /// Its delays are not added: workers report them separately.
  mutating func add(_ other: Self) {
    sent += other.sent
    failed += other.failed
    delivered += other.delivered
    lost += other.lost
    connected += other.connected
    errors += other.errors
  }

  var isEmpty: Bool { self == Self() }
}

/// A coded row is its counts; a percentile of two processes cannot be made from theirs.
extension BenchSeconds.Row: Codable {
  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode([sent, failed, delivered, lost, connected, errors])
  }

  /// - Throws: `DecodingError` for another number of counts.
  init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    let counts = try container.decode([Int].self)
    guard counts.count == 6 else {
      throw DecodingError.dataCorruptedError(in: container, debugDescription: "no row")
    }
    (sent, failed, delivered) = (counts[0], counts[1], counts[2])
    (lost, connected, errors) = (counts[3], counts[4], counts[5])
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
