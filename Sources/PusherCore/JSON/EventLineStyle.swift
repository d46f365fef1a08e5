/// How a line is written.
package struct EventLineStyle: Sendable {
  /// Leaves `data` the string that was on the wire.
  package var rawData = false
  /// The byte after each line: LF or NUL.
  package var terminator: UInt8 = 0x0A
  /// Escapes DEL and the C1 controls too.
  package var forTerminal = false
  /// Colours; `nil` for none.
  package var palette: EventLinePalette?

  package init() {}
}

/// The escape sequences around the parts of a coloured line.
package struct EventLinePalette: Sendable {
  package var key: String
  package var event: String
  /// A channel keeps one of these by its name.
  package var channels: [String]
  package var reset: String

  package init(key: String, event: String, channels: [String], reset: String) {
    self.key = key
    self.event = event
    self.channels = channels
    self.reset = reset
  }
}

/// The parts of which every JSON line is made: its beginning, its keys, the event's name, its end.
///
/// It is a class, so that a line costs no copy of the style.
final class EventLineParts {
  let output: ByteBuffer
  let style: EventLineStyle
  /// `{"received_at":"…"` when lines carry the time, else empty.
  private(set) var prefix: [UInt8] = []
  /// Whether a line can be written by a fast path at all.
  let hasFastWay: Bool

  init(output: ByteBuffer, style: EventLineStyle) {
    self.output = output
    self.style = style
    hasFastWay = !style.rawData && !style.forTerminal && style.palette == nil
  }

  /// The time that the following lines carry, as RFC 3339 text; `nil` leaves it out.
  func setReceivedAt(_ time: String?) {
    prefix = time.map { Array(#"{"received_at":"\#($0)""#.utf8) } ?? []
  }

  /// Puts the prefix before a line that was written at a distance of ``prefix`` after the output's tail; its `{`
  /// becomes `,`.
  func writePrefix(before start: UnsafeMutablePointer<UInt8>) {
    guard !prefix.isEmpty else { return }
    unsafe prefix.withUnsafeBufferPointer { bytes in
      guard let first = bytes.baseAddress else { return }
      unsafe output.tail.update(from: first, count: bytes.count)
    }
    unsafe start.pointee = UInt8(ascii: ",")
  }

  func begin() {
    if prefix.isEmpty {
      output.append(UInt8(ascii: "{"))
    } else {
      output.append(prefix)
      output.append(UInt8(ascii: ","))
    }
  }

  func end() {
    output.append(UInt8(ascii: "}"))
    output.append(style.terminator)
  }

  func writeEvent(_ value: (ByteBuffer) -> Void) {
    writeKey("event", isFirst: true)
    if let palette = style.palette { output.append(palette.event) }
    value(output)
    if let palette = style.palette { output.append(palette.reset) }
  }

  func writeKey(_ key: StaticString, isFirst: Bool = false) {
    if !isFirst { output.append(UInt8(ascii: ",")) }
    if let palette = style.palette { output.append(palette.key) }
    output.append(UInt8(ascii: "\""))
    output.append(key)
    output.append(UInt8(ascii: "\""))
    if let palette = style.palette { output.append(palette.reset) }
    output.append(UInt8(ascii: ":"))
  }

  /// Writes text as the data: as the JSON that it is, or as a string.
  func writeData(_ text: ByteView) {
    if style.rawData || !copyAsJSON(text) {
      JSONString.encode(text, into: output, forTerminal: style.forTerminal)
    }
  }

  private func copyAsJSON(_ text: ByteView) -> Bool {
    do {
      try JSONCompactor.copy(text, into: output, forTerminal: style.forTerminal)
      return true
    } catch {
      // Not JSON, or too deep to embed: the text is printed as a string instead, so nothing is lost.
      return false
    }
  }
}
