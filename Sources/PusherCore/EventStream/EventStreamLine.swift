/// Writes events of an event stream as JSON lines: `{"received_at"?,"event","id"?,"data"}`.
///
/// `id` is the last event ID when there is one. `data` is embedded when it is JSON, else a string. One writer has one
/// output and belongs to one thread.
package final class EventStreamLineWriter {
  private let output: ByteBuffer
  private let style: EventLineStyle
  private let parts: EventLineParts
  private let terminator: UInt8

  /// The bytes that a line needs beyond those of its event, including what copying may write past its end.
  private static let overhead = 96

  package init(output: ByteBuffer, style: EventLineStyle) {
    self.output = output
    self.style = style
    parts = EventLineParts(output: output, style: style)
    terminator = style.terminator
  }

  /// The time that the following lines carry, as RFC 3339 text; `nil` leaves it out.
  package func setReceivedAt(_ time: String?) {
    parts.setReceivedAt(time)
  }

  /// Writes one event.
  package func write(_ event: EventStreamEvent) {
    if parts.hasFastWay && writeFast(event) { return }
    writeGeneral(event)
  }

  /// Writes one event by the general path; ``write(_:)`` gives the same bytes.
  package func writeGeneral(_ event: EventStreamEvent) {
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

  /// Writes an event of our own.
  package func write(event: String, data: JSONValue) {
    parts.begin()
    parts.writeEvent { JSONString.encode(event, into: $0, forTerminal: style.forTerminal) }
    parts.writeKey("data")
    JSONWriter.write(data, into: output, forTerminal: style.forTerminal)
    parts.end()
  }

  /// Writes an event of the usual shape, data that is JSON above all, in one pass; `false` when it is another.
  @inline(__always)
  private func writeFast(_ event: EventStreamEvent) -> Bool {
    let prefix = parts.prefix.count
    output.reserve(
      prefix &+ event.type.count &+ event.lastEventID.count &+ event.data.count &+ Self.overhead)
    let start = unsafe output.tail + prefix
    var end = unsafe start
    unsafe Self.put(#"{"event":""#, to: &end)
    guard unsafe Self.copyPlain(event.type, to: &end) else { return false }
    if !event.lastEventID.isEmpty {
      unsafe Self.put(#"","id":""#, to: &end)
      guard unsafe Self.copyPlain(event.lastEventID, to: &end) else { return false }
    }
    unsafe Self.put(#"","data":"#, to: &end)
    guard unsafe Self.copyJSON(event.data, to: &end) else { return false }
    unsafe end[0] = UInt8(ascii: "}")
    unsafe end[1] = terminator
    let length = unsafe end + 2 - start
    unsafe parts.writePrefix(before: start)
    output.commit(prefix &+ length)
    return true
  }

  @inline(__always)
  private static func put(_ literal: StaticString, to end: inout UnsafeMutablePointer<UInt8>) {
    unsafe end.update(from: literal.utf8Start, count: literal.utf8CodeUnitCount)
    unsafe end += literal.utf8CodeUnitCount
  }

  /// Copies text that needs no escape.
  @inline(__always)
  private static func copyPlain(
    _ text: ByteView, to end: inout UnsafeMutablePointer<UInt8>
  ) -> Bool {
    unsafe copy(text, to: &end) { cursor in
      cursor.copyUnescaped()
      return true
    }
  }

  @inline(__always)
  private static func copyJSON(
    _ text: ByteView, to end: inout UnsafeMutablePointer<UInt8>
  ) -> Bool {
    unsafe copy(text, to: &end) { $0.copyPlainValue() }
  }

  /// Copies with a NUL after the text, which stops every scan; the scan must have reached that end.
  @inline(__always)
  private static func copy(
    _ text: ByteView, to end: inout UnsafeMutablePointer<UInt8>,
    _ body: (inout FusedCursor) -> Bool
  ) -> Bool {
    let behind = unsafe text.base + text.count
    let byte = unsafe behind.pointee
    unsafe behind.pointee = 0
    defer { unsafe behind.pointee = byte }
    var cursor = unsafe FusedCursor(input: text.base, output: end)
    guard body(&cursor), unsafe cursor.input == UnsafePointer(behind) else { return false }
    unsafe end = cursor.output
    return true
  }
}
