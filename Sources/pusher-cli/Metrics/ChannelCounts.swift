internal import PusherCore

/// How many events came on each channel, for a limited number of channels.
///
/// A peer chooses the names: the events of further channels are counted together.
final class ChannelCounts {
  private struct ChannelRow {
    let name: [UInt8]
    var events = 0
  }

  /// The channel that stands for all further ones; no channel can have that name, since it has parentheses.
  static let others = "(other)"

  /// Longer names, which no known server allows, are not kept.
  private static let longestName = 256

  private let limit: Int
  private var rows: [ChannelRow] = []
  private var places: [UInt64: Int] = [:]
  private var otherEvents = 0
  /// The row of the last event: events come in runs.
  private var latest = -1

  /// - Parameter limit: As many channels are counted by name.
  init(limit: Int) {
    self.limit = limit
  }

  /// Counts an event of a channel.
  func note(_ channel: ByteView) {
    if latest >= 0, channel.equals(rows[latest].name) {
      rows[latest].events &+= 1
      return
    }
    noteAnother(channel)
  }

  /// Counts an event of a channel.
  func note(_ channel: String) {
    let buffer = ByteBuffer(capacity: channel.utf8.count)
    buffer.append(Array(channel.utf8))
    withExtendedLifetime(buffer) { note(buffer.view) }
  }

  private func noteAnother(_ channel: ByteView) {
    let hash = channel.shortHash
    if let place = places[hash] {
      // Two names of the same hash are a peer's work: the second is one of the others.
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
      rows.append(ChannelRow(name: channel.array))
    }
    rows[latest].events &+= 1
  }

  /// The channels by name with their events, and at the end all others, where there were any.
  var counts: [(channel: String, events: Int)] {
    var counts = rows.map { (String(decoding: $0.name, as: UTF8.self), $0.events) }
    counts.sort { $0.0 < $1.0 }
    if otherEvents > 0 { counts.append((Self.others, otherEvents)) }
    return counts
  }
}
