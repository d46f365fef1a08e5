internal import PusherCore

/// How a line is written.
struct EventLineStyle: Sendable {
  /// Leaves `data` the string that was on the wire.
  var rawData = false
  /// The byte after each line: LF or NUL.
  var terminator: UInt8 = 0x0A
  /// Escapes DEL and the C1 controls too.
  var forTerminal = false
  /// Colours; `nil` for none.
  var palette: EventLinePalette?
}

/// The escape sequences around the parts of a coloured line.
struct EventLinePalette: Sendable {
  var key: String
  var event: String
  /// A channel keeps one of these by its name.
  var channels: [String]
  var reset: String
  /// What is lost.
  var gap = ""
}

extension EventLinePalette {
  /// The colour that a channel keeps.
  func colour(of channel: some Sequence<UInt8>) -> String? {
    channels.isEmpty ? nil : channels[abs(Self.mark(of: channel) % channels.count)]
  }

  /// A number that stands for a name.
  static func mark(of name: some Sequence<UInt8>) -> Int {
    name.reduce(5381) { ($0 &* 33) ^ Int($1) }
  }
}

/// The parts of which every JSON line is made: its beginning, its keys, the event's name, its end.
///
/// It is a class, so that a line costs no copy of the style.
final class EventLineParts {
  let output: ByteBuffer
  let style: EventLineStyle
  /// The time, when lines carry it.
  let leading = LeadingMembers()
  /// Whether a line can be written by a fast path at all.
  let hasFastWay: Bool

  /// - Parameter usesFastWay: Whether fast paths are taken where they can be; without them the same bytes come out.
  init(output: ByteBuffer, style: EventLineStyle, usesFastWay: Bool) {
    self.output = output
    self.style = style
    hasFastWay = usesFastWay && !style.rawData && !style.forTerminal && style.palette == nil
  }

  /// The time that the following lines carry, as RFC 3339 text; `nil` leaves it out.
  func setReceivedAt(_ time: String?) {
    guard let time else { return leading.removeAll() }
    leading.set("received_at", time)
  }

  func begin() {
    leading.begin(output)
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
    if hasFastWay, JSONCompactor.copyPlain(text, into: output) { return true }
    do {
      try JSONCompactor.copy(text, into: output, forTerminal: style.forTerminal)
      return true
    } catch {
      // Not JSON, or too deep to embed: the text is printed as a string instead, so nothing is lost.
      return false
    }
  }
}
