internal import PusherCore

/// Counts the events of each name, and their bytes.
///
/// A name is that of a channel, or of the events themselves. The peer chooses the names, so their
/// number is limited, and all others share one count.
final class NameCounts {
  struct Count {
    private(set) var events = 0
    private(set) var bytes = 0

    fileprivate mutating func add(_ events: Int, _ bytes: Int) {
      self.events &+= events
      self.bytes &+= bytes
    }
  }

  private let limit: Int
  private let longest: Int
  private let others: String?
  private var rows: [(name: [UInt8], count: Count)] = []
  private var places: [UInt64: Int] = [:]
  private var rest = Count()
  /// The row of the last event, whose name had no escapes; consecutive events often share a name.
  private var latest = -1

  /// - Parameters:
  ///   - longest: Maximum length of a name with a count of its own, in bytes.
  ///   - others: The name of the shared count, if ``counts`` has one.
  init(limit: Int, longest: Int = .max, others: String? = nil) {
    (self.limit, self.longest, self.others) = (limit, longest, others)
  }

  /// - Parameter name: The content of a JSON string.
  func note(_ name: ByteView, bytes: Int) {
    if latest >= 0, name.equals(rows[latest].name) { return rows[latest].count.add(1, bytes) }
    guard name.holds(UInt8(ascii: "\\")) else { return note(plain: name, bytes) }
    let plain = ByteBuffer(capacity: name.count)
    JSONString.decode(name, into: plain)
    withExtendedLifetime(plain) { note(plain: plain.view, bytes) }
    // Its text may look like another name with escapes.
    latest = -1
  }

  private func note(plain name: ByteView, _ bytes: Int) {
    let hash = name.shortHash
    // Only an attacker finds two names with the same hash: the second is counted under `others`.
    guard let place = places[hash] ?? add(name, hash), name.equals(rows[place].name) else {
      return rest.add(1, bytes)
    }
    latest = place
    rows[place].count.add(1, bytes)
  }

  /// Adds a row, unless there is no room.
  private func add(_ name: ByteView, _ hash: UInt64) -> Int? {
    guard rows.count < limit, name.count <= longest, name.text != others else {
      return nil
    }
    places[hash] = rows.count
    rows.append((name.array, Count()))
    return rows.count - 1
  }

  /// The counts sorted by name, then the shared count if it has a name and is not zero.
  var counts: [(name: String, count: Count)] {
    var counts = rows.map { (String(decoding: $0.name, as: UTF8.self), $0.count) }
    counts.sort { $0.0 < $1.0 }
    if let others, rest.events > 0 { counts.append((others, rest)) }
    return counts
  }

  /// A table for `--summary`: the names with most bytes first, then the sums.
  var lines: [String] {
    var shown = counts
    shown.sort { ($1.count.bytes, $0.name) < ($0.count.bytes, $1.name) }
    if rest.events > 0 { shown.append(("(all other names)", rest)) }
    var total = Count()
    for row in shown { total.add(row.count.events, row.count.bytes) }
    shown.append(("(all)", total))
    let events = Self.column("events", shown.map(\.count.events))
    let bytes = Self.column("bytes", shown.map(\.count.bytes))
    let names = ["event"] + shown.map(\.name)
    return zip(zip(events, bytes), names).map { "\($0.0)  \($0.1)  \($1)" }
  }

  private static func column(_ heading: String, _ numbers: [Int]) -> [String] {
    let cells = [heading] + numbers.map(String.init)
    let width = cells.map(\.count).max() ?? 0
    return cells.map { String(repeating: " ", count: width - $0.count) + $0 }
  }
}
