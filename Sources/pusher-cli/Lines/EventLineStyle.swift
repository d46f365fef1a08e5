internal import PusherCore

struct EventLineStyle: Sendable {
  var terminator: UInt8 = 0x0A
  /// Escapes DEL and C1 controls too.
  var forTerminal = false
  var palette: EventLinePalette?
}

struct EventLinePalette: Sendable {
  var key: String
  var event: String
  /// Each channel keeps one of these colours, chosen by its name.
  var channels: [String]
  var reset: String
  var gap = ""

  func colour(of channel: some Sequence<UInt8>) -> String? {
    channels.isEmpty ? nil : channels[abs(Self.mark(of: channel) % channels.count)]
  }

  /// Hash of a name, equal in every run.
  static func mark(of name: some Sequence<UInt8>) -> Int {
    name.reduce(5381) { ($0 &* 33) ^ Int($1) }
  }
}

/// Writes the parts common to all JSON lines: start, keys, event name, end.
///
/// A class, so that a line costs no copy of the style.
final class EventLineParts {
  let output: ByteBuffer
  let style: EventLineStyle
  let leading = LeadingMembers()
  let hasFastWay: Bool

  /// - Parameter usesFastWay: Permits fast paths, which never change the output.
  init(output: ByteBuffer, style: EventLineStyle, usesFastWay: Bool) {
    self.output = output
    self.style = style
    hasFastWay = usesFastWay && !style.forTerminal && style.palette == nil
  }

  func begin() { leading.begin(output) }

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

  func writeData(_ text: ByteView) {
    if !copyAsJSON(text) {
      JSONString.encode(text, into: output, forTerminal: style.forTerminal)
    }
  }

  private func copyAsJSON(_ text: ByteView) -> Bool {
    if hasFastWay, JSONCompactor.copyPlain(text, into: output) { return true }
    do {
      try JSONCompactor.copy(text, into: output, forTerminal: style.forTerminal)
      return true
    } catch {
      // Not JSON, or too deep to embed: the caller prints a string instead.
      return false
    }
  }
}

/// Writes the lines of one protocol.
protocol LineWriter: AnyObject {
  var parts: EventLineParts { get }
  /// Writes an event that the program itself made.
  func write(event: String, channel: String?, data: JSONValue)
}

extension LineWriter {
  var hasFastWay: Bool { parts.hasFastWay }

  /// Sets the time of the following lines, as RFC 3339 text; `nil` leaves it out.
  func setReceivedAt(_ time: String?) {
    guard let time else { return parts.leading.removeAll() }
    parts.leading.set("received_at", time)
  }
}
