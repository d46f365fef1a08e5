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
