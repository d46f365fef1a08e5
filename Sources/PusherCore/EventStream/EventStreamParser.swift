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
