/// The limits of an event stream in memory.
package struct EventStreamLimits: Sendable, Equatable {
  /// Bytes of one line, its end not counted.
  package var line: Int
  /// Bytes of one event's data, the line feeds between its lines counted.
  package var event: Int

  package init(line: Int = 16 << 20, event: Int = 16 << 20) {
    self.line = line
    self.event = event
  }
}

/// Why reading an event stream ends; the standard itself has no errors.
package enum EventStreamError: Error, Equatable, CustomStringConvertible {
  /// A line has more bytes than the limit.
  case lineTooLong(limit: Int)
  /// An event's data has more bytes than the limit.
  case eventTooLarge(limit: Int)

  package var description: String {
    switch self {
    case .lineTooLong(let limit): "a line of the event stream is longer than \(limit) bytes"
    case .eventTooLarge(let limit): "an event's data is larger than \(limit) bytes"
    }
  }
}
