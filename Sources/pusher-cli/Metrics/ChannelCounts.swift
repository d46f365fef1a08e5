internal import PusherCore

/// Event counts by channel, for a limited number of channels.
///
/// The peer chooses the names, so all channels above the limit share one count.
final class ChannelCounts {
  /// The name of the shared count; no channel can have it, because of the parentheses.
  static let others = "(other)"

  /// Maximum length of a name, in bytes; no known server allows longer ones.
  private static let longestName = 256

  private let limit: Int
  private var rows: [(name: [UInt8], events: Int)] = []
  private var places: [UInt64: Int] = [:]
  private var otherEvents = 0
  /// The row of the last event; consecutive events often share a channel.
  private var latest = -1

  init(limit: Int = 100) { self.limit = limit }

  func note(_ channel: ByteView) {
    if latest >= 0, channel.equals(rows[latest].name) {
      rows[latest].events &+= 1
      return
    }
    noteAnother(channel)
  }

  func note(_ channel: String) {
    let buffer = ByteBuffer(capacity: channel.utf8.count)
    buffer.append(Array(channel.utf8))
    withExtendedLifetime(buffer) { note(buffer.view) }
  }

  private func noteAnother(_ channel: ByteView) {
    let hash = channel.shortHash
    if let place = places[hash] {
      // Only an attacker finds two names with the same hash: the second is counted under `others`.
      guard channel.equals(rows[place].name) else {
        otherEvents &+= 1
        return
      }
      latest = place
    } else {
      guard rows.count < limit, channel.count <= Self.longestName, channel.text != Self.others
      else {
        otherEvents &+= 1
        return
      }
      latest = rows.count
      places[hash] = latest
      rows.append((channel.array, 0))
    }
    rows[latest].events &+= 1
  }

  /// The counts sorted by channel, then the shared count if it is not zero.
  var counts: [(channel: String, events: Int)] {
    var counts = rows.map { (String(decoding: $0.name, as: UTF8.self), $0.events) }
    counts.sort { $0.0 < $1.0 }
    if otherEvents > 0 { counts.append((Self.others, otherEvents)) }
    return counts
  }
}
