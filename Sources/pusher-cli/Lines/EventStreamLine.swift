internal import PusherCore

/// Writes events of an event stream as JSON lines: `{"received_at"?,"event","id"?,"data"}`.
///
/// `id` is the last event ID when there is one. `data` is embedded when it is JSON, else a string. One writer has one
/// output and belongs to one thread.
final class EventStreamLineWriter: LineWriter {
  private let output: ByteBuffer
  private let style: EventLineStyle
  private let parts: EventLineParts
  /// That of the parts: held here, it is counted for no line.
  private let leading: LeadingMembers

  /// - Parameter usesFastWay: Whether fast paths are taken where they can be; without them the same bytes come out.
  init(output: ByteBuffer, style: EventLineStyle, usesFastWay: Bool = true) {
    self.output = output
    self.style = style
    parts = EventLineParts(output: output, style: style, usesFastWay: usesFastWay)
    leading = parts.leading
  }

  /// The time that the following lines carry, as RFC 3339 text; `nil` leaves it out.
  func setReceivedAt(_ time: String?) {
    parts.setReceivedAt(time)
  }

  func write(_ event: EventStreamEvent) {
    let isWritten =
      parts.hasFastWay
      && EventStreamTranscoder.append(
        event, to: output, leading: leading, terminator: style.terminator)
    if !isWritten { writeGeneral(event) }
  }

  /// Writes what a template makes of one event's line; `false`, with nothing written, when the general way must.
  func write(_ event: EventStreamEvent, by template: LineTemplate, number: Int) -> Bool {
    parts.hasFastWay
      && EventStreamTranscoder.append(
        event, by: template, number: number, to: output, leading: leading,
        terminator: style.terminator)
  }

  private func writeGeneral(_ event: EventStreamEvent) {
    parts.begin()
    parts.writeEvent { JSONString.encode(event.type, into: $0, forTerminal: style.forTerminal) }
    if !event.lastEventID.isEmpty {
      parts.writeKey("id")
      JSONString.encode(event.lastEventID, into: output, forTerminal: style.forTerminal)
    }
    parts.writeKey("data")
    parts.writeData(event.data)
    parts.end()
  }

  /// Writes an event of our own; a stream has no channels.
  func write(event: String, channel: String? = nil, data: JSONValue) {
    parts.begin()
    parts.writeEvent { JSONString.encode(event, into: $0, forTerminal: style.forTerminal) }
    parts.writeKey("data")
    JSONWriter.write(data, into: output, forTerminal: style.forTerminal)
    parts.end()
  }
}
