internal import PusherCore

/// Writes the lines of one protocol.
protocol LineWriter: AnyObject {
  var parts: EventLineParts { get }
  /// Writes an event that the program itself made.
  func write(event: String, channel: String?, data: JSONValue)
}

extension LineWriter {
  var hasFastWay: Bool { parts.hasFastWay }

  /// Sets the time of the following lines, as RFC 3339 text; `nil` leaves it out.
  func setReceivedAt(_ time: String?) {
    guard let time else { return parts.leading.removeAll() }
    parts.leading.set("received_at", time)
  }
}
