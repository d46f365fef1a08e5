internal import PusherCore

/// Writes events as JSON lines: `{"received_at"?,"event","channel","user_id"?,"data"}`.
///
/// Use each writer on one thread only. ``writeFast(_:filter:)`` and the general ``write(_:named:)``
/// produce the same bytes for the same message.
final class EventLineWriter: LineWriter {
  private let output: ByteBuffer
  private let style: EventLineStyle
  let parts: EventLineParts
  /// Copied from `parts` to avoid a retain per line.
  private let leading: LeadingMembers
  private let transcoder: EventTranscoder
  private let scratch = ByteBuffer()
  var marksRepaired = false

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

  /// Writes a usual application event, or its `template`, in one pass without allocations.
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

  func write(event: String, channel: String?, data: JSONValue) {
    parts.begin()
    parts.writeEvent { JSONString.encode(event, into: $0, forTerminal: style.forTerminal) }
    scratch.removeAll()
    if let channel {
      // The server may have chosen the name; escaping keeps it inside the string.
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
