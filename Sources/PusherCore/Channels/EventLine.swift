/// How a line is written.
package struct EventLineStyle: Sendable {
  /// Leaves `data` the string that was on the wire.
  package var rawData = false
  /// The byte behind each line: LF, or NUL.
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

/// Writes events as JSON lines: `{"received_at"?,"event","channel","user_id"?,"data"}`.
///
/// One writer has one output and belongs to one thread. ``writeFast(_:filter:)`` and the general
/// ``write(_:named:)`` give the same bytes for the same message.
package final class EventLineWriter {
  private let output: ByteBuffer
  private let style: EventLineStyle
  private let transcoder: EventTranscoder
  private let scratch = ByteBuffer()
  /// `{"received_at":"…"` when lines carry the time, else empty.
  private var prefix: [UInt8] = []

  package init(output: ByteBuffer, service: Service, style: EventLineStyle) {
    self.output = output
    self.style = style
    transcoder = EventTranscoder(protocolPrefix: service.commonPrefix)
  }

  /// The time that the lines from here on carry, as RFC 3339 text; `nil` leaves it out.
  package func setReceivedAt(_ time: String?) {
    prefix = time.map { Array(#"{"received_at":"\#($0)""#.utf8) } ?? []
  }

  /// What became of a message that was offered to the fast way.
  package enum FastResult {
    case written
    /// The event is not wanted; nothing was written.
    case filtered
    /// The general way must decide; nothing was written.
    case unusual
  }

  /// Whether lines can be written by the fast way at all.
  package var hasFastWay: Bool {
    !style.rawData && !style.forTerminal && style.palette == nil
  }

  /// Writes an application event of the usual shape in one pass, without an allocation.
  @inline(__always)
  package func writeFast(_ message: ByteView, filter: FilterMemory?) -> FastResult {
    output.reserve(message.count &+ prefix.count &+ EventTranscoder.overhead)
    let start = unsafe output.tail + prefix.count
    guard
      let line = unsafe transcoder.transcode(message, to: start, terminator: style.terminator)
    else { return .unusual }
    if let filter {
      let name = unsafe ByteView(base: start + line.event.lowerBound, count: line.event.count)
      guard filter.passes(name) else { return .filtered }
    }
    if !prefix.isEmpty { unsafe writePrefix(before: start) }
    output.commit(prefix.count &+ line.count)
    return .written
  }

  private func writePrefix(before start: UnsafeMutablePointer<UInt8>) {
    unsafe prefix.withUnsafeBufferPointer { bytes in
      guard let first = bytes.baseAddress else { return }
      unsafe output.tail.update(from: first, count: bytes.count)
    }
    unsafe start.pointee = UInt8(ascii: ",")
  }

  /// Writes any message; with `name` under that event name instead of its own.
  package func write(_ envelope: Envelope, named name: String? = nil) {
    begin()
    if let name {
      writeEvent { JSONString.encode(name, into: $0, forTerminal: style.forTerminal) }
    } else {
      writeEvent {
        JSONCompactor.copyString(envelope.eventToken, into: $0, forTerminal: style.forTerminal)
      }
    }
    writeChannel(envelope.channelToken)
    if let userID = envelope.userIDToken {
      writeKey("user_id")
      JSONCompactor.copyString(userID, into: output, forTerminal: style.forTerminal)
    }
    writeKey("data")
    writeData(envelope)
    if let base64 = envelope.base64Token {
      writeKey("data_base64")
      JSONCompactor.copyString(base64, into: output, forTerminal: style.forTerminal)
    }
    end()
  }

  /// Writes an event that we speak ourselves.
  package func write(event: String, channel: String?, data: JSONValue) {
    begin()
    writeEvent { JSONString.encode(event, into: $0, forTerminal: style.forTerminal) }
    scratch.removeAll()
    if let channel {
      // The name may be one that a server made up: escaped here, it cannot end the string early.
      JSONString.encode(channel, into: scratch)
      writeChannel(scratch.view[1..<(scratch.count - 1)])
    } else {
      writeChannel(nil)
    }
    writeKey("data")
    JSONWriter.write(data, into: output, forTerminal: style.forTerminal)
    end()
  }

  private func begin() {
    if prefix.isEmpty {
      output.append(UInt8(ascii: "{"))
    } else {
      output.append(prefix)
      output.append(UInt8(ascii: ","))
    }
  }

  private func end() {
    output.append(UInt8(ascii: "}"))
    output.append(style.terminator)
  }

  private func writeEvent(_ value: (ByteBuffer) -> Void) {
    writeKey("event", isFirst: true)
    if let palette = style.palette { output.append(palette.event) }
    value(output)
    if let palette = style.palette { output.append(palette.reset) }
  }

  private func writeChannel(_ channel: ByteView?) {
    writeKey("channel")
    guard let channel else {
      output.append("null" as StaticString)
      return
    }
    if let palette = style.palette, !palette.channels.isEmpty {
      let sum = channel.array.reduce(5381) { ($0 &* 33) ^ Int($1) }
      output.append(palette.channels[abs(sum % palette.channels.count)])
    }
    JSONCompactor.copyString(channel, into: output, forTerminal: style.forTerminal)
    if let palette = style.palette { output.append(palette.reset) }
  }

  private func writeKey(_ key: StaticString, isFirst: Bool = false) {
    if !isFirst { output.append(UInt8(ascii: ",")) }
    if let palette = style.palette { output.append(palette.key) }
    output.append(UInt8(ascii: "\""))
    output.append(key)
    output.append(UInt8(ascii: "\""))
    if let palette = style.palette { output.append(palette.reset) }
    output.append(UInt8(ascii: ":"))
  }

  private func writeData(_ envelope: Envelope) {
    guard let token = envelope.dataToken else {
      output.append("null" as StaticString)
      return
    }
    scratch.removeAll()
    if let inner = envelope.dataString {
      JSONString.decode(inner, into: scratch)
    } else {
      scratch.append(token)
    }
    if style.rawData || !copyAsJSON(scratch.view) {
      JSONString.encode(scratch.view, into: output, forTerminal: style.forTerminal)
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
