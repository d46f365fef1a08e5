internal import PusherCore

/// Writes events of an event stream as JSON lines: `{"received_at"?,"event","id"?,"data"}`.
///
/// `id` is the last event ID, if any. `data` is embedded if it is JSON, else a string.
final class EventStreamLineWriter: LineWriter {
  private let output: ByteBuffer
  private let style: EventLineStyle
  let parts: EventLineParts
  /// Copied from `parts` to avoid a retain per line.
  private let leading: LeadingMembers

  init(output: ByteBuffer, style: EventLineStyle, usesFastWay: Bool = true) {
    self.output = output
    self.style = style
    parts = EventLineParts(output: output, style: style, usesFastWay: usesFastWay)
    leading = parts.leading
  }

  func write(_ event: EventStreamEvent) {
    let isWritten =
      parts.hasFastWay
      && EventStreamTranscoder.append(
        event, to: output, leading: leading, terminator: style.terminator)
    if !isWritten { writeGeneral(event) }
  }

  /// Writes an event by a template; returns false and writes nothing if it needs the general path.
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

  func write(event: String, channel: String? = nil, data: JSONValue) {
    parts.begin()
    parts.writeEvent { JSONString.encode(event, into: $0, forTerminal: style.forTerminal) }
    parts.writeKey("data")
    JSONWriter.write(data, into: output, forTerminal: style.forTerminal)
    parts.end()
  }
}
