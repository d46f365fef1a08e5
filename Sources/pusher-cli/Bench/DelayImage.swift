internal import PusherCore
internal import PusherPlatform

/// Divides the delays of a run into columns of one or more seconds.
///
/// A column shows its worst second: the percentiles of several seconds cannot be added up.
///
/// Returns the columns, and the number of seconds of one.
private func delayColumns(
  _ rows: [BenchSeconds.Row], atMost limit: Int
) -> (columns: [BenchSeconds.Row], width: Int) {
  let width = max(1, (rows.count + limit - 1) / max(limit, 1))
  let columns = stride(from: 0, to: rows.count, by: width).map { start in
    rows[start..<min(start + width, rows.count)].reduce(into: BenchSeconds.Row()) { worst, row in
      worst.p50 = [worst.p50, row.p50].compactMap(\.self).max()
      worst.p99 = [worst.p99, row.p99].compactMap(\.self).max()
      worst.largest = [worst.largest, row.largest].compactMap(\.self).max()
      worst.lost += row.lost
    }
  }
  return (columns, width)
}

/// The delays over the time, as bars for a terminal.
struct DelayChart {
  private let columns: [BenchSeconds.Row]
  private let width: Int
  private let seconds: Int
  /// The value of a whole bar, in milliseconds.
  private let top: Double
  private let isUnicode: Bool

  /// Lines of a whole bar.
  private static let height = 6
  /// Number of columns before the bars, so that these begin where the texts of ``BenchTable`` do.
  private static let margin = 14
  /// Fewer columns make no chart.
  private static let narrowest = 10
  /// Parts of a character: the lowest eighths.
  private static let eighths = Array("▁▂▃▄▅▆▇█")

  /// Returns `nil` for a run without two seconds to compare, and for a narrow terminal.
  init?(_ rows: [BenchSeconds.Row], columns: Int, isUnicode: Bool) {
    let room = columns - Self.margin - 1
    guard room >= Self.narrowest, rows.count(where: { $0.p99 != nil }) > 1 else { return nil }
    let grouped = delayColumns(rows, atMost: room)
    let longest = grouped.columns.compactMap(\.p99).max() ?? .zero
    (self.columns, width, seconds) = (grouped.columns, grouped.width, rows.count)
    top = max(longest.inSeconds * 1000, 0.001)
    self.isUnicode = isUnicode
  }

  var text: String {
    var lines = [heading]
    for row in (0..<Self.height).reversed() {
      let label =
        row == Self.height - 1 ? BenchTable.time(top) : row == 0 ? BenchTable.time(0) : ""
      lines.append(line(label, isUnicode ? "│" : "|", columns.map { cell($0, row) }))
    }
    lines.append(line("", isUnicode ? "└" : "+", columns.map { _ in isUnicode ? "─" : "-" }))
    if hasLosses { lines.append(line("", " ", columns.map { $0.lost > 0 ? "x" : " " })) }
    let end = "\(seconds) s"
    let gap = max(1, columns.count - "0 s".count - end.count)
    lines.append(line("", " ", Array("0 s" + String(repeating: " ", count: gap) + end)))
    return lines.map { $0 + "\n" }.joined()
  }

  private var hasLosses: Bool { columns.contains { $0.lost > 0 } }

  private var heading: String {
    let bars = isUnicode ? "█ p50, ░ p99" : "# p50, : p99"
    let column = width == 1 ? "a column is 1 s" : "a column is the worst second of \(width)"
    let label = "delays" + String(repeating: " ", count: Self.margin - "delays".count)
    return label + bars + (hasLosses ? ", x lost" : "") + "; " + column
  }

  private func line(_ label: String, _ edge: Character, _ cells: [Character]) -> String {
    let blanks = String(repeating: " ", count: max(0, Self.margin - 2 - label.count))
    var line = blanks + label + " " + String(edge) + String(cells)
    while line.utf8.last == UInt8(ascii: " ") { line.removeLast() }
    return line
  }

  private func cell(_ column: BenchSeconds.Row, _ row: Int) -> Character {
    guard let p50 = column.p50, let p99 = column.p99 else { return " " }
    // A short delay is more than none.
    let filled = max(1, parts(p50))
    if filled >= (row + 1) * Self.eighths.count { return isUnicode ? "█" : "#" }
    let rest = filled - row * Self.eighths.count
    if rest > 0 { return isUnicode ? Self.eighths[rest - 1] : "#" }
    return parts(p99) > row * Self.eighths.count ? (isUnicode ? "░" : ":") : " "
  }

  /// The height of a delay, in eighths of a character.
  private func parts(_ delay: Duration) -> Int {
    let whole = Double(Self.height * Self.eighths.count)
    return Int((min(delay.inSeconds * 1000 / top, 1) * whole).rounded())
  }
}

/// The delays over the time, as an SVG image without scripts and without other files.
struct DelayImage {
  private let report: BenchReport
  private let grouped: (columns: [BenchSeconds.Row], width: Int)
  private let seconds: Int
  /// Powers of ten of a millisecond at both ends of the axis.
  private let low: Int
  private let high: Int

  /// Maximum number of points of a line.
  static let pointLimit = 1000
  private static let width = 900.0
  private static let height = 420.0
  private static let left = 84.0
  private static let right = 876.0
  private static let top = 80.0
  private static let bottom = 356.0
  /// Maximum number of labels below the axis of the time.
  private static let labelLimit = 12
  /// Shortest delay of the axis, in milliseconds.
  private static let shortest = 0.001

  init(_ report: BenchReport) {
    self.report = report
    seconds = report.figures.rows.count
    grouped = delayColumns(report.figures.rows, atMost: Self.pointLimit)
    let columns = grouped.columns
    let least = columns.compactMap(\.p50).min() ?? .milliseconds(1)
    let most = columns.compactMap(\.largest).max() ?? .milliseconds(1)
    low = Int(log10(Self.milliseconds(least)).rounded(.down))
    high = max(Int(log10(Self.milliseconds(most)).rounded(.up)), low + 1)
  }

  var text: String {
    let size = "\(Int(Self.width)) \(Int(Self.height))"
    let left = Self.number(Self.left)
    return """
      <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(size)" role="img">
      <title>\(Self.escaped(title))</title>
      <desc>\(Self.escaped(summary))</desc>
      \(Self.style)
      <rect class="back" width="100%" height="100%"/>
      <text class="title" x="\(left)" y="28">\(Self.escaped(title))</text>
      <text x="\(left)" y="50">\(Self.escaped(summary))</text>
      \(delayAxis)
      \(timeAxis)
      \(lines)
      \(losses)
      </svg>

      """
  }

  // MARK: Texts

  private var title: String { "Delays of bench \(report.mode.rawValue) on \(report.host)" }

  private var summary: String {
    let delays = ["p50", "p99", "max"].compactMap { name in
      report.values[name].map { "\(name) \(BenchTable.time($0))" }
    }
    let counts = ["sent", "delivered", "lost"].compactMap { name in
      report.values[name].map { "\(Quantities.grouped(Int($0))) \(name)" }
    }
    let each = grouped.width > 1 ? ["each point is the worst second of \(grouped.width)"] : []
    return (delays + counts + each).joined(separator: ", ")
  }

  private static func escaped(_ text: String) -> String {
    var escaped = ""
    for scalar in Diagnostics.escaped(text).unicodeScalars {
      switch scalar {
      case "&": escaped += "&amp;"
      case "<": escaped += "&lt;"
      case ">": escaped += "&gt;"
      default: escaped.unicodeScalars.append(scalar)
      }
    }
    return escaped
  }

  private static let style = """
    <style>
    svg { color-scheme: light dark; font: 13px system-ui, sans-serif; }
    text { fill: #1f2328; } .title { font-weight: 600; font-size: 16px; }
    .back { fill: #ffffff; } .grid { stroke: #d1d9e0; }
    path { fill: none; stroke-width: 2; stroke-linecap: round; stroke-linejoin: round; }
    .p50 { stroke: #0969da; } .p99 { stroke: #bc4c00; stroke-dasharray: 7 4; }
    .max { stroke: #59636e; stroke-dasharray: 1 4; } .lost { stroke: #cf222e; }
    @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; } .back { fill: #0d1117; } .grid { stroke: #3d444d; }
    .p50 { stroke: #58a6ff; } .p99 { stroke: #ffa657; } .max { stroke: #9198a1; }
    .lost { stroke: #ff7b72; }
    }
    </style>
    """

  // MARK: Axes

  private var delayAxis: String {
    var parts = [
      """
      <text x="20" y="218" text-anchor="middle" transform="rotate(-90 20 218)">\
      delay, logarithmic</text>
      """
    ]
    let (left, right) = (Self.number(Self.left), Self.number(Self.right))
    let beside = Self.number(Self.left - 8)
    for power in low...high {
      let value = pow(10, Double(power))
      let place = Self.number(y(value))
      let label = BenchTable.time(value)
      parts.append(
        """
        <line class="grid" x1="\(left)" x2="\(right)" y1="\(place)" y2="\(place)"/>
        <text x="\(beside)" y="\(place)" dy="4" text-anchor="end">\(label)</text>
        """)
    }
    return parts.joined(separator: "\n")
  }

  private var timeAxis: String {
    let middle = Self.number((Self.left + Self.right) / 2)
    var parts = [
      """
      <text x="\(middle)" y="\(Self.number(Self.bottom + 50))" text-anchor="middle">time in seconds</text>
      """
    ]
    let (edge, end) = (Self.number(Self.bottom), Self.number(Self.bottom + 5))
    for second in stride(from: 0, through: seconds, by: step) {
      let place = Self.number(x(Double(second)))
      parts.append(
        """
        <line class="grid" x1="\(place)" x2="\(place)" y1="\(edge)" y2="\(end)"/>
        <text x="\(place)" y="\(Self.number(Self.bottom + 24))" text-anchor="middle">\(second)</text>
        """)
    }
    return parts.joined(separator: "\n")
  }

  /// Seconds between two labels: 1, 2 or 5 times a power of ten.
  private var step: Int {
    var power = 1
    while true {
      for factor in [1, 2, 5] where seconds / (factor * power) < Self.labelLimit {
        return factor * power
      }
      power *= 10
    }
  }

  private func x(_ second: Double) -> Double {
    Self.left + (Self.right - Self.left) * second / Double(max(seconds, 1))
  }

  /// The middle of a column.
  private func x(column: Int) -> Double {
    let first = column * grouped.width
    let end = min(first + grouped.width, seconds)
    return x(Double(first + end) / 2)
  }

  private func y(_ milliseconds: Double) -> Double {
    let share = (log10(milliseconds) - Double(low)) / Double(high - low)
    return Self.bottom - (Self.bottom - Self.top) * min(max(share, 0), 1)
  }

  private static func milliseconds(_ delay: Duration) -> Double {
    max(delay.inSeconds * 1000, shortest)
  }

  private static func number(_ value: Double) -> String { Quantities.text(value, places: 1) }

  // MARK: Data

  private var lines: String {
    let all: [(name: String, value: (BenchSeconds.Row) -> Duration?)] = [
      ("max", \.largest), ("p99", \.p99), ("p50", \.p50),
    ]
    return all.enumerated().map { index, line in
      let start = Self.right - 80 * Double(index + 1)
      return """
        <path class="\(line.name)" d="M\(Self.number(start)) 64h30"/>
        <text x="\(Self.number(start + 36))" y="68">\(line.name)</text>
        <path class="\(line.name)" id="\(line.name)" d="\(path(line.value))"/>
        """
    }.joined(separator: "\n")
  }

  /// Returns a path with one point for each column that has a value, and a gap for the others.
  private func path(_ value: (BenchSeconds.Row) -> Duration?) -> String {
    var path = ""
    var isConnected = false
    for (index, column) in grouped.columns.enumerated() {
      guard let delay = value(column) else {
        isConnected = false
        continue
      }
      let point = "\(Self.number(x(column: index))) \(Self.number(y(Self.milliseconds(delay))))"
      // The line of no length shows a point without neighbours.
      path += isConnected ? "L\(point)" : "M\(point)h0"
      isConnected = true
    }
    return path
  }

  private var losses: String {
    let marks = grouped.columns.enumerated().filter { $0.element.lost > 0 }
    let drawn = marks.map { index, column in
      let place = "\(Self.number(x(column: index) - 4)) \(Self.number(Self.bottom - 4))"
      let title = "\(column.lost) lost in second \(index * grouped.width)"
      return """
        <path class="lost" d="M\(place)l8 8m0 -8l-8 8"><title>\(title)</title></path>
        """
    }
    let legend =
      marks.isEmpty
      ? []
      : ["<text x=\"\(Self.number(Self.left + 14))\" y=\"68\">lost events</text>"]
        + ["<path class=\"lost\" d=\"M\(Self.number(Self.left)) 60l8 8m0 -8l-8 8\"/>"]
    return (legend + drawn).joined(separator: "\n")
  }
}
