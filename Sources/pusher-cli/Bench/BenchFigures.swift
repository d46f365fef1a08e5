internal import PusherCore

/// The figures of a run.
struct RunFigures {
  var connections = ConnectionFigures()
  /// Only of runs with events.
  var events: EventFigures?
  var cost = ProcessMeter()
  var errors = ErrorCounts()
  /// A row for each second.
  var rows: [BenchSeconds.Row] = []
  /// Channels of the mode `presence` whose visitor lost its connection.
  var closedVisitors: [String] = []
}

/// Figures of the subscribers' connections.
struct ConnectionFigures {
  var subscribers = 0
  /// Subscribers that were subscribed when the run ended.
  var connected = 0
  /// Subscribers that were subscribed at least once, and the time of the last of them.
  var firstJoins = 0
  var lastFirstJoin: Instant?
  /// One for each of ``BenchFigure/steps``.
  var steps = BenchFigure.steps.map { _ in DelayHistogram() }
  /// From the cut until the subscriber is back.
  var back = DelayHistogram()
  var reconnects = 0
  var gaps = 0
  /// Errors before a subscriber was ever subscribed.
  var refusals = ErrorCounts()
}

/// Figures of the events, from the sending to the delivery.
struct EventFigures {
  var sent = 0
  /// Events of calls that were refused, not answered or not sent.
  var failed = 0
  /// Subscribers that must get the events of their channel.
  var receivers = 0
  /// Deliveries that must come, and those that did not.
  var expected = 0
  var lost = 0
  var losingSubscribers = 0
  /// Losses of the subscriber that lost the most.
  var mostLost = 0
  var delivered = 0
  var doubled = 0
  var outOfOrder = 0
  /// Events with the wrong text, the wrong time or on the wrong channel.
  var wrong = 0
  /// Time of the last call that was accepted, and of the last delivery of an event of the plan.
  var lastAccepted: Instant?
  var lastDelivery: Instant?
  var delays = DelayHistogram()
  /// Time from the intended sending to the sending.
  var late = DelayHistogram()
  /// Errors of the calls.
  var errors = ErrorCounts()
}

/// CPU time and memory of the program itself, which show whether it was the limit.
struct ProcessMeter {
  private var cpuAtBegin = Duration.zero
  private var beganAt: Instant?
  private let memoryAtStart = ProcessMetrics.privateBytes
  /// CPU time as a share of one core, in percent; `nil` before the end of the measured part.
  private(set) var share: Double?
  /// Memory that a socket takes, in bytes; `nil` on systems that do not report memory.
  private(set) var memoryPerSocket: Int?

  /// Above this share of a core, the figures say what the program can do, not the server.
  static let busyShare = 90.0

  /// Begins the measured part of a run; an earlier part no longer counts.
  mutating func begin(at now: Instant) {
    (beganAt, cpuAtBegin) = (now, ProcessMetrics.cpuTime)
    share = nil
  }

  mutating func end(at now: Instant) {
    guard let beganAt, now > beganAt else { return }
    let cpu = ProcessMetrics.cpuTime - cpuAtBegin
    share = cpu.inSeconds / beganAt.duration(to: now).inSeconds * 100
  }

  mutating func noteMemory(sockets: Int) {
    guard sockets > 0, let before = memoryAtStart, let now = ProcessMetrics.privateBytes else {
      return
    }
    memoryPerSocket = max(now - before, 0) / sockets
  }
}

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

  /// The deliveries of the second so far, for the line of progress.
  var latest: (delivered: Int, p99: Duration?) {
    (rows[rows.count - 1].delivered, delays.percentile(99))
  }

  /// Maximum number of rows; later events count in the last one.
  private static let limit = 100_000

  private static func second(_ time: Duration) -> Int {
    min(max(Int(time.inSeconds.rounded(.down)), 0), limit - 1)
  }

  /// Ends the rows before the second of `time`.
  private mutating func advance(to time: Duration) {
    let second = Self.second(time)
    guard second >= rows.count else { return }
    finish()
    rows += Array(repeating: Row(), count: second + 1 - rows.count)
  }

  /// Takes the delays of the last row into it.
  mutating func finish() {
    guard delays.count > 0 else { return }
    let last = rows.count - 1
    (rows[last].p50, rows[last].p99) = (delays.percentile(50), delays.percentile(99))
    rows[last].largest = delays.largest
    delays.removeAll()
  }

  mutating func noteDelivery(at time: Duration, after delay: Duration) {
    count(\.delivered, at: time)
    delays.record(delay)
  }

  /// Counts in the row of a time: of the intended one for an event, of the present for a change.
  mutating func count(
    _ member: WritableKeyPath<Row, Int>, _ number: Int = 1, at time: Duration
  ) {
    advance(to: time)
    rows[Self.second(time)][keyPath: member] += number
  }

  /// Returns the rows as CSV (RFC 4180) with a heading; times are in milliseconds.
  static func csv(_ rows: [Row]) -> String {
    var text = "second,sent,failed,delivered,lost,p50_ms,p99_ms,max_ms,connected,errors\n"
    for (second, row) in rows.enumerated() {
      let times = [row.p50, row.p99, row.largest].map { time in
        time.map { Quantities.text($0.inSeconds * 1000) } ?? ""
      }
      let counts = [second, row.sent, row.failed, row.delivered, row.lost].map(String.init)
      let ends = [row.connected, row.errors].map(String.init)
      text += (counts + times + ends).joined(separator: ",") + "\n"
    }
    return text
  }
}

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
    var (index, seen) = (0, counts[0])
    while seen < rank {
      index += 1
      seen += counts[index]
    }
    return min(Self.highest(of: index), largest)
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

  /// The table of HdrHistogram's `outputPercentileDistribution`, in milliseconds.
  var table: String {
    var text = "       Value     Percentile TotalCount 1/(1-Percentile)\n\n"
    for (value, seen) in steps {
      let share = Double(seen) / Double(max(count, 1))
      let inverse = seen == count ? "" : " " + Quantities.text(1 / (1 - share), places: 2)
      let cells = [
        Quantities.text(value.inSeconds * 1000), Quantities.text(share, places: 12), "\(seen)",
      ]
      text += cells.joined(separator: " ") + inverse + "\n"
    }
    let mean = Quantities.text((mean ?? .zero).inSeconds * 1000)
    let largest = Quantities.text(largest.inSeconds * 1000)
    text += "#[Mean    = \(mean), Max = \(largest)]\n#[Total count = \(count)]\n"
    return text
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

/// Errors of a run by code, each with the words of the first.
struct ErrorCounts: Equatable {
  struct CodeCount: Equatable {
    let code: String
    /// The message of the first error.
    let example: String
    /// Cause of the first error; `nil` if it kept nothing away.
    let cause: Cause?
    var count: Int
  }

  private(set) var entries: [CodeCount] = []
  private(set) var total = 0

  /// Maximum number of codes, which a server could make up; a message has 4 KiB at most.
  private static let limit = 50
  private static let others = "other"

  mutating func note(_ code: String, _ example: String, _ cause: Cause? = nil) {
    note(CodeCount(code: code, example: Diagnostics.shortened(example), cause: cause, count: 1))
  }

  mutating func add(_ other: ErrorCounts) {
    for entry in other.entries { note(entry) }
  }

  private mutating func note(_ new: CodeCount) {
    total += new.count
    let known = place(of: new.code)
    let code = known == nil && entries.count >= Self.limit ? Self.others : new.code
    if let place = known ?? place(of: code) {
      entries[place].count += new.count
    } else {
      entries.append(
        CodeCount(code: code, example: new.example, cause: new.cause, count: new.count))
    }
  }

  /// The most frequent errors with a cause; the earlier code of two equal ones.
  var main: (entry: CodeCount, cause: Cause)? {
    var found: (entry: CodeCount, cause: Cause)?
    for entry in entries {
      if let cause = entry.cause, entry.count > found?.entry.count ?? 0 { found = (entry, cause) }
    }
    return found
  }

  func entry(of code: String) -> CodeCount? { place(of: code).map { entries[$0] } }

  private func place(of code: String) -> Int? {
    entries.firstIndex { $0.code.isSame(as: code) }
  }
}

extension ConnectionLoss {
  /// The code of the protocol, of the close frame or of HTTP, or a word for the kind of failure.
  func code(_ code: Int?) -> String {
    if let code { return "\(code)" }
    switch self {
    case .closed(let code?, _): return "\(code)"
    case .refused(let status, _, _): return "http \(status)"
    case .handshakeTimeout: return "timeout"
    case .noPong, .silent: return "no pong"
    case .untrusted: return "tls"
    case .violation, .limit, .notAnEventStream: return "protocol"
    case .closed, .ended, .endedUnmarked, .network, .dropped, .invalidRequest: return "network"
    }
  }
}
