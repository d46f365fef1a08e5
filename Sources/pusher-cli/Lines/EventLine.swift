internal import PusherCore

/// Writes events as JSON lines: `{"received_at"?,"event","channel","user_id"?,"data"}`.
///
/// One writer has one output and belongs to one thread. ``writeFast(_:filter:)`` and the general
/// ``write(_:named:)`` give the same bytes for the same message.
final class EventLineWriter: LineWriter {
  private let output: ByteBuffer
  private let style: EventLineStyle
  private let parts: EventLineParts
  /// That of the parts: held here, it is counted for no line.
  private let leading: LeadingMembers
  private let transcoder: EventTranscoder
  private let scratch = ByteBuffer()
  /// Whether the lines say that their events stand for missed ones.
  var marksRepaired = false

  /// - Parameter usesFastWay: Whether fast paths are taken where they can be; without them the same bytes come out.
  init(
    output: ByteBuffer, service: PusherService, style: EventLineStyle, usesFastWay: Bool = true
  ) {
    self.output = output
    self.style = style
    parts = EventLineParts(output: output, style: style, usesFastWay: usesFastWay)
    leading = parts.leading
    transcoder = EventTranscoder(
      protocolPrefix: service.commonPrefix, reservedPrefix: "\(ForeignEventName.reserved)")
  }

  /// The time that the following lines carry, as RFC 3339 text; `nil` leaves it out.
  func setReceivedAt(_ time: String?) {
    parts.setReceivedAt(time)
  }

  /// Whether lines can be written by the fast path at all.
  var hasFastWay: Bool {
    parts.hasFastWay
  }

  /// Writes an application event of the usual shape in one pass, without an allocation.
  ///
  /// - Parameters:
  ///   - template: What is printed in place of the line, if anything.
  ///   - number: The event's number, for the template.
  func writeFast(
    _ message: ByteView, by template: LineTemplate? = nil, number: Int = 0, filter: FilterMemory?
  ) -> EventTranscoder.Outcome {
    guard let template else {
      return transcoder.append(
        message, to: output, leading: leading, terminator: style.terminator, filter: filter)
    }
    return transcoder.append(
      message, by: template, number: number, to: output, leading: leading,
      terminator: style.terminator, filter: filter)
  }

  /// Writes any message; with `name` under that event name instead of its own.
  func write(_ envelope: Envelope, named name: String? = nil) {
    parts.begin()
    if let name {
      parts.writeEvent { JSONString.encode(name, into: $0, forTerminal: style.forTerminal) }
    } else {
      parts.writeEvent {
        JSONCompactor.copyString(envelope.eventToken, into: $0, forTerminal: style.forTerminal)
      }
    }
    writeChannel(envelope.channelToken)
    if let userID = envelope.userIDToken {
      parts.writeKey("user_id")
      JSONCompactor.copyString(userID, into: output, forTerminal: style.forTerminal)
    }
    if marksRepaired {
      parts.writeKey("repaired")
      output.append("true" as StaticString)
    }
    parts.writeKey("data")
    writeData(envelope)
    if let base64 = envelope.base64Token {
      parts.writeKey("data_base64")
      JSONCompactor.copyString(base64, into: output, forTerminal: style.forTerminal)
    }
    parts.end()
  }

  /// Writes an event of our own.
  func write(event: String, channel: String?, data: JSONValue) {
    parts.begin()
    parts.writeEvent { JSONString.encode(event, into: $0, forTerminal: style.forTerminal) }
    scratch.removeAll()
    if let channel {
      // A server may have chosen the name: escaped here, it cannot end the string early.
      JSONString.encode(channel, into: scratch)
      writeChannel(scratch.view[1..<(scratch.count - 1)])
    } else {
      writeChannel(nil)
    }
    parts.writeKey("data")
    JSONWriter.write(data, into: output, forTerminal: style.forTerminal)
    parts.end()
  }

  private func writeChannel(_ channel: ByteView?) {
    parts.writeKey("channel")
    guard let channel else {
      output.append("null" as StaticString)
      return
    }
    if let colour = style.palette?.colour(of: channel.array) { output.append(colour) }
    JSONCompactor.copyString(channel, into: output, forTerminal: style.forTerminal)
    if let palette = style.palette { output.append(palette.reset) }
  }

  private func writeData(_ envelope: Envelope) {
    if let plain = envelope.plainData { return parts.writeData(plain) }
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
    parts.writeData(scratch.view)
  }
}
