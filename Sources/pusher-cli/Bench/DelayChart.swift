internal import PusherCore

/// The delays of a run in columns of one or more seconds.
///
/// A column shows its worst second: the percentiles of several seconds cannot be added up.
struct DelayColumns {
  struct Column: Equatable {
    var p50: Duration?
    var p99: Duration?
    var largest: Duration?
    var lost = 0

    mutating func add(_ row: BenchSeconds.Row) {
      p50 = .largest(p50, row.p50)
      p99 = .largest(p99, row.p99)
      largest = .largest(largest, row.largest)
      lost += row.lost
    }
  }

  let columns: [Column]
  /// Seconds of a column.
  let width: Int

  init(_ rows: [BenchSeconds.Row], atMost limit: Int) {
    let width = max(1, (rows.count + limit - 1) / max(limit, 1))
    columns = stride(from: 0, to: rows.count, by: width).map { start in
      rows[start..<min(start + width, rows.count)].reduce(into: Column()) { $0.add($1) }
    }
    self.width = width
  }
}

/// The delays over the time, as bars for a terminal.
struct DelayChart {
  private let columns: [DelayColumns.Column]
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
    let grouped = DelayColumns(rows, atMost: room)
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
    return Self.padded("delays") + bars + (hasLosses ? ", x lost" : "") + "; " + column
  }

  private func line(_ label: String, _ edge: Character, _ cells: [Character]) -> String {
    let blanks = String(repeating: " ", count: max(0, Self.margin - 2 - label.count))
    var line = blanks + label + " " + String(edge) + String(cells)
    while line.utf8.last == UInt8(ascii: " ") { line.removeLast() }
    return line
  }

  private static func padded(_ text: String) -> String {
    text + String(repeating: " ", count: max(1, margin - text.count))
  }

  private func cell(_ column: DelayColumns.Column, _ row: Int) -> Character {
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

extension Optional where Wrapped: Comparable {
  /// Returns the larger value; a missing one does not count.
  fileprivate static func largest(_ left: Wrapped?, _ right: Wrapped?) -> Wrapped? {
    guard let left, let right else { return left ?? right }
    return max(left, right)
  }
}
