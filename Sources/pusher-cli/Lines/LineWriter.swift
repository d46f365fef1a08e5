internal import PusherCore

/// Writes the lines of one protocol.
protocol LineWriter: AnyObject {
  /// Sets the time of the following lines, as RFC 3339 text; `nil` leaves it out.
  func setReceivedAt(_ time: String?)
  /// Writes an event that the program itself made.
  func write(event: String, channel: String?, data: JSONValue)
}
