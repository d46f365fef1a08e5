internal import PusherCore

/// The progress of a run.
struct BenchState: Equatable {
  var connected = 0
  /// Subscribers whose first attempt has an outcome.
  var settled = 0
  var sent = 0
  /// Deliveries of the sent events to all subscribers.
  var expected = 0
  var delivered = 0
  /// True if every call of the plan was handed to the network.
  var isDone = false
  /// True if no call waits for an answer.
  var isIdle = false
  /// True if all is sent, and every subscriber has every event.
  var hasAll = false
  /// Time of the last outcome of an attempt.
  var lastChange: Instant?
  var lastDelivery: Instant?
  var lastAccepted: Instant?
  var longestDelay = Duration.zero

  /// Deliveries that are under way or lost.
  var missing: Int { max(expected - delivered, 0) }
}
