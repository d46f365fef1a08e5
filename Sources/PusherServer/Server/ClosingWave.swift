internal import PusherCore

/// Connections of a stopping server in closing order, spread evenly over a period.
final class ClosingWave {
  private var connections: [ServerConnection]
  private let begin: Instant
  private let total: Duration
  private var count = 0

  init(_ connections: [ServerConnection], from begin: Instant, over total: Duration) {
    (self.connections, self.begin, self.total) = (connections, begin, total)
  }

  /// The last connection closes at the end of the period.
  private func turn(of number: Int) -> Instant {
    let share = total.wholeNanoseconds / Int64(max(connections.count, 1))
    return begin.advanced(by: .nanoseconds(share * Int64(number + 1)))
  }

  /// Returns the connections that became due since the last call.
  func due(at now: Instant) -> ArraySlice<ServerConnection> {
    let first = count
    while count < connections.count, turn(of: count) <= now { count += 1 }
    return connections[first..<count]
  }

  var next: Instant? { count < connections.count ? turn(of: count) : nil }
}
