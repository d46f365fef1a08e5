internal import PusherCore

/// Counts printed events and their bytes by name, for `--summary`.
final class EventTally {
  private struct NameCount {
    var events = 0
    var bytes = 0
  }

  private var rows = NameTable<NameCount>()
  private var others = NameCount()
  private var total = NameCount()
  /// Maximum number of names, which a peer chooses; further events are counted together.
  static let mostNames = 1000

  func note(_ name: String, bytes: Int) {
    Self.count(bytes, &total)
    if rows[name] == nil, rows.count >= Self.mostNames {
      Self.count(bytes, &others)
    } else {
      Self.count(bytes, &rows[name, default: NameCount()])
    }
  }

  private static func count(_ bytes: Int, _ row: inout NameCount) {
    row.events += 1
    row.bytes += bytes
  }

  var lines: [String] {
    var shown = rows.names.map { ($0, rows[$0] ?? NameCount()) }
    shown.sort { ($1.1.bytes, $0.0) < ($0.1.bytes, $1.0) }
    if others.events > 0 { shown.append(("(all other names)", others)) }
    shown.append(("(all)", total))
    let events = Self.column("events", shown.map(\.1.events))
    let bytes = Self.column("bytes", shown.map(\.1.bytes))
    let names = ["event"] + shown.map(\.0)
    return zip(zip(events, bytes), names).map { "\($0.0)  \($0.1)  \($1)" }
  }

  private static func column(_ heading: String, _ numbers: [Int]) -> [String] {
    let cells = [heading] + numbers.map(String.init)
    let width = cells.map(\.count).max() ?? 0
    return cells.map { String(repeating: " ", count: width - $0.count) + $0 }
  }
}
