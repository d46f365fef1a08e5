/// Reads an event stream (HTML Living Standard section 9.2, server-sent events): bytes in, events out.
///
/// It does no I/O and knows no time. The owner writes received bytes into ``input`` and asks for events until there is
/// none. Lines are walked in place, and the data of a one-line event is never copied. Only passing a limit is an error;
/// bytes that are not UTF-8 become U+FFFD, as in the standard's decoder.
package final class EventStreamParser {
  /// Where the stream's bytes go.
  package let input: ByteBuffer
  private var reader: EventStreamReader

  /// A parser at the beginning of a stream.
  ///
  /// - Parameters:
  ///   - limits: What one line and one event may take.
  ///   - lastEventID: The last event ID before the stream.
  package init(limits: EventStreamLimits = EventStreamLimits(), lastEventID: String = "") {
    input = ByteBuffer(capacity: 65_536)
    // A value of its own, so that one check of exclusive access serves a whole event.
    reader = EventStreamReader(input: input, limits: limits, lastEventID: lastEventID)
  }

  /// Called with each comment, the colon and one space left out; the view lasts for the call.
  package var onComment: ((ByteView) -> Void)? {
    get { reader.onComment }
    set { reader.onComment = newValue }
  }

  /// The reconnection time that the stream has named last, in milliseconds; `nil` when it has named none.
  package var reconnectionTime: Int? { reader.reconnectionTime }

  /// The last event ID, for a reconnection; empty when there is none.
  ///
  /// The last complete event set it. In the standard a new stream begins with an empty ID, so a lost connection could
  /// lose the place in the stream. As in browsers, it is kept until an event changes it.
  package var lastEventID: String { lastEventIDView.text }

  /// The same in place, until the next event.
  package var lastEventIDView: ByteView { reader.lastID.view }

  /// Whether the input ends inside an event, which would be lost if the stream ended now (section 9.2.6).
  package var isInsideEvent: Bool { reader.isInsideEvent }

  /// Drops the rest of a stream that has ended, including an incomplete last event; a new stream may begin.
  package func reset() {
    reader.reset()
  }

  /// The next event that is complete; `nil` when more bytes are needed.
  ///
  /// - Throws: ``EventStreamError`` for a line or an event past its limit; the parser then needs a ``reset()``.
  package func next() throws(EventStreamError) -> EventStreamEvent? {
    try reader.next()
  }
}

/// One event of an event stream; the views last until the parser is asked for the next one.
package struct EventStreamEvent {
  /// The event's type, `message` when the stream names none; UTF-8.
  package let type: ByteView
  /// The data lines with a line feed between them; UTF-8.
  ///
  /// It lies in a ``ByteBuffer``, and the byte after it may be overwritten for a moment.
  package let data: ByteView
  /// The last event ID after this event, set by this event or an earlier one; UTF-8, may be empty.
  package let lastEventID: ByteView

  /// The same event under another type.
  package func named(_ type: ByteView) -> EventStreamEvent {
    EventStreamEvent(type: type, data: data, lastEventID: lastEventID)
  }
}

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
