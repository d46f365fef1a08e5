internal import PusherCore

/// The progress of one process of a run; the sum over all processes is the progress of the run.
struct PartState: Equatable, Codable {
  /// Orders that the process has followed.
  var orders = 0
  var connected = 0
  /// Subscribers whose first attempt has an outcome.
  var settled = 0
  var sent = 0
  /// Deliveries of the events that this process sent, to all subscribers of all processes.
  var expected = 0
  var delivered = 0
  /// True if every call of the plan was handed to the network.
  var isDone = false
  /// True if no call waits for an answer.
  var isIdle = false
  /// True if all is sent, and every subscriber has every event.
  var hasAll = false
  /// Rows before this second are complete.
  var second = 0
  /// Time of the last outcome of an attempt.
  var lastChange: Nanoseconds?
  var lastDelivery: Nanoseconds?
  var lastAccepted: Nanoseconds?
  /// The longest delay, in nanoseconds.
  var longest: Nanoseconds = 0

  /// Deliveries that are under way or lost.
  var missing: Int { max(expected - delivered, 0) }

  mutating func add(_ other: PartState) {
    connected += other.connected
    settled += other.settled
    sent += other.sent
    expected += other.expected
    delivered += other.delivered
    isDone = isDone && other.isDone
    isIdle = isIdle && other.isIdle
    hasAll = hasAll && other.hasAll
    second = min(second, other.second)
    lastChange = .largest(lastChange, other.lastChange)
    lastDelivery = .largest(lastDelivery, other.lastDelivery)
    lastAccepted = .largest(lastAccepted, other.lastAccepted)
    longest = max(longest, other.longest)
  }
}
