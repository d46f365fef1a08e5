internal import PusherCore

/// Writes the lines of one protocol.
protocol LineWriter: AnyObject {
  /// The time that the following lines carry, as RFC 3339 text; `nil` leaves it out.
  func setReceivedAt(_ time: String?)
  /// Writes an event of our own.
  func write(event: String, channel: String?, data: JSONValue)
}
