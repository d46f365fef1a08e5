internal import PusherCore

/// The connections of a server that stops, in the order in which they are closed, spread evenly over a time.
final class ClosingWave {
  private var connections: [ServerConnection]
  private let begin: Instant
  private let total: Duration
  private var count = 0

  init(_ connections: [ServerConnection], from begin: Instant, over total: Duration) {
    (self.connections, self.begin, self.total) = (connections, begin, total)
  }

  /// When the connection of a number has its turn; the last one at the end.
  private func turn(of number: Int) -> Instant {
    let share = total.wholeNanoseconds / Int64(max(connections.count, 1))
    return begin.advanced(by: .nanoseconds(share * Int64(number + 1)))
  }

  /// The connections whose turn has come since the last call.
  func due(at now: Instant) -> ArraySlice<ServerConnection> {
    let first = count
    while count < connections.count, turn(of: count) <= now { count += 1 }
    return connections[first..<count]
  }

  /// The next one's turn; `nil` after the last.
  var next: Instant? { count < connections.count ? turn(of: count) : nil }
}
