/// Parses an event stream (HTML Living Standard section 9.2, server-sent events), or a body of
/// another ``BodyFormat``.
///
/// The owner writes received bytes into ``input`` and calls ``next()`` until there are no more
/// events. Lines are scanned in place, and the data of a one-line event is never copied. Only an
/// exceeded limit is an error; invalid UTF-8 becomes U+FFFD, as in the standard's decoder.
package final class EventStreamParser {
  package let input: ByteBuffer
  private var reader: EventStreamReader
  private var records: RecordReader
  package private(set) var format = BodyFormat.eventStream

  package init(limits: EventStreamLimits = EventStreamLimits(), lastEventID: String = "") {
    input = ByteBuffer(capacity: 65_536)
    // A separate value, so that one check of exclusive access serves a whole event.
    reader = EventStreamReader(input: input, limits: limits, lastEventID: lastEventID)
    records = RecordReader(input: input, limit: limits.event)
  }

  /// In milliseconds, as the stream named it last.
  package var reconnectionTime: Int? { reader.reconnectionTime }

  /// The last event ID; may be empty.
  ///
  /// In the standard, a new stream begins with an empty ID, so a lost connection could lose the
  /// place in the stream. As in browsers, the ID is kept until an event changes it.
  package var lastEventID: String { lastEventIDView.text }

  /// The same in place, valid until the next event.
  package var lastEventIDView: ByteView { reader.lastID.view }

  /// The ID for a reconnection: the last one that a request can name; may be empty.
  package var resumeID: String { reader.resumeID.view.text }

  /// True if the input ends inside an event, which is lost if the stream ends now (section 9.2.6).
  package var isInsideEvent: Bool {
    format == .eventStream ? reader.isInsideEvent : records.isInsideRecord
  }

  /// Drops an incomplete last event too; a new event stream may begin.
  package func reset() {
    reader.reset()
    format = .eventStream
  }

  /// Drops the same, and begins a body of this format.
  package func begin(_ format: BodyFormat) {
    reset()
    self.format = format
    records.begin(format)
  }

  /// Returns `nil` if more bytes are needed; the parser needs a ``reset()`` after an error.
  package func next() throws(EventStreamError) -> EventStreamEvent? {
    guard format == .eventStream else {
      return try records.next(lastEventID: reader.lastID.view)
    }
    return try reader.next()
  }

  /// Ends the body, and returns whether that completes an event, which ``next()`` returns then.
  ///
  /// An event stream's events end with their empty line only. `isMarked` is false for a connection
  /// that was closed without a mark of the body's end.
  package func endBody(isMarked: Bool) -> Bool {
    format != .eventStream && records.end(isMarked: isMarked)
  }
}

/// The views are valid until the parser returns the next event.
package struct EventStreamEvent {
  /// UTF-8; `message` if the stream names none.
  package let type: ByteView
  /// Data lines with a line feed between them, as UTF-8 in a ``ByteBuffer``.
  package let data: ByteView
  /// Set by this event or an earlier one; UTF-8, may be empty.
  package let lastEventID: ByteView

  package func named(_ type: ByteView) -> EventStreamEvent {
    EventStreamEvent(type: type, data: data, lastEventID: lastEventID)
  }
}

package struct EventStreamLimits: Sendable, Equatable {
  /// Without the line's end, in bytes.
  package var line: Int
  /// With the line feeds between the data lines, in bytes.
  package var event: Int

  package init(line: Int = 16 << 20, event: Int = 16 << 20) {
    (self.line, self.event) = (line, event)
  }
}

package enum EventStreamError: Error, Equatable, CustomStringConvertible {
  case lineTooLong(limit: Int)
  case eventTooLarge(limit: Int)

  package var description: String {
    switch self {
    case .lineTooLong(let limit): "a line of the event stream is longer than \(limit) bytes"
    case .eventTooLarge(let limit): "an event's data is larger than \(limit) bytes"
    }
  }
}
