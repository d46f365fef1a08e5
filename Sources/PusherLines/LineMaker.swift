package import PusherCore

/// Writes events as canonical JSON lines:
/// `{"received_at"?,"event","channel"?,"user_id"?,"id"?,"serial"?,"repaired"?,"data",
/// "data_base64"?}`.
///
/// Each event has one such line, and every output takes it as an ``EventLine``. Use each maker on
/// one thread only. The fast paths and the general ones write the same bytes for the same event.
package final class LineMaker {
  private let output: ByteBuffer
  private let terminator: UInt8
  private let usesFastWay: Bool
  private let leading = LeadingMembers()
  /// `nil` for event streams, whose lines have no channel.
  private let transcoder: EventTranscoder?
  /// True if events have IDs and serials.
  private let hasSerials: Bool
  private let scratch = ByteBuffer()
  /// Of data that is not inside a JSON string.
  private let joins = JoinMemory()
  package var marksRepaired = false

  /// - Parameters:
  ///   - service: `nil` for an event stream.
  ///   - usesFastWay: Permits fast paths, which never change the output.
  package init(
    output: ByteBuffer, service: PusherService?, terminator: UInt8 = 0x0A, usesFastWay: Bool = true
  ) {
    (self.output, self.terminator, self.usesFastWay) = (output, terminator, usesFastWay)
    hasSerials = service?.replaysEvents == true
    transcoder = service.map {
      EventTranscoder(
        protocolPrefix: $0.commonPrefix, reservedPrefix: "\(ForeignEventName.reserved)")
    }
  }

  /// Sets the time of the following lines, as RFC 3339 text.
  package func setReceivedAt(_ time: String) { leading.set("received_at", time) }

  /// Writes a usual application event in one pass without allocations.
  package func writeFast(_ message: ByteView, filter: FilterMemory?) -> EventTranscoder.Outcome {
    transcoder?.append(
      message, to: output, leading: leading, terminator: terminator, filter: filter) ?? .unusual
  }

  package func write(_ envelope: Envelope, named name: String? = nil) {
    begin()
    if let name {
      JSONString.encode(name, into: output)
    } else {
      JSONCompactor.copyString(envelope.eventToken, into: output)
    }
    write(#","channel":"#, envelope.channelToken)
    if envelope.channelToken == nil { output.append(#","channel":null"# as StaticString) }
    write(#","user_id":"#, envelope.userIDToken)
    if hasSerials { writePlace(envelope) }
    if marksRepaired { output.append(#","repaired":true"# as StaticString) }
    output.append(#","data":"# as StaticString)
    writeData(envelope)
    write(#","data_base64":"#, envelope.base64Token)
    end()
  }

  /// Writes an event of a stream; its ID is the last event ID, if any.
  package func write(_ event: EventStreamEvent) {
    if usesFastWay,
      EventStreamTranscoder.append(
        event, to: output, leading: leading, terminator: terminator, joins: joins)
    {
      return
    }
    begin()
    JSONString.encode(event.type, into: output)
    if !event.lastEventID.isEmpty {
      output.append(#","id":"# as StaticString)
      JSONString.encode(event.lastEventID, into: output)
    }
    output.append(#","data":"# as StaticString)
    writeData(event.data)
    end()
  }

  /// Writes an event that the program itself made.
  package func write(event: String, channel: String?, userID: String? = nil, data: JSONValue) {
    begin()
    JSONString.encode(event, into: output)
    if transcoder != nil {
      output.append(#","channel":"# as StaticString)
      JSONWriter.write(channel.map(JSONValue.string) ?? .null, into: output)
    }
    if let userID {
      output.append(#","user_id":"# as StaticString)
      JSONString.encode(userID, into: output)
    }
    output.append(#","data":"# as StaticString)
    JSONWriter.write(data, into: output)
    end()
  }

  private func begin() {
    leading.begin(output)
    output.append(#""event":"# as StaticString)
  }

  private func end() {
    output.append(UInt8(ascii: "}"))
    output.append(terminator)
  }

  /// Writes a member whose value is a string, if there is one.
  private func write(_ key: StaticString, _ token: ByteView?) {
    guard let token else { return }
    output.append(key)
    JSONCompactor.copyString(token, into: output)
  }

  private func writePlace(_ envelope: Envelope) {
    write(#","id":"#, envelope.messageIDToken)
    guard let serial = envelope.serialToken, serial.isNumber else { return }
    output.append(#","serial":"# as StaticString)
    output.append(serial)
  }

  private func writeData(_ envelope: Envelope) {
    if let plain = envelope.plainData { return writeData(plain) }
    guard let token = envelope.dataToken else { return output.append("null" as StaticString) }
    scratch.removeAll()
    if let inner = envelope.dataString {
      JSONString.decode(inner, into: scratch)
    } else {
      scratch.append(token)
    }
    writeData(scratch.view)
  }

  /// Embeds JSON; any other text, also JSON too deep to embed, becomes a string.
  private func writeData(_ text: ByteView) {
    if usesFastWay, JSONCompactor.copyPlain(text, into: output, joins: joins) { return }
    do throws(JSONError) {
      try JSONCompactor.copy(text, into: output)
    } catch { JSONString.encode(text, into: output) }
  }
}

/// Distinguishes the program's own lines: only their names begin with `pusher-cli:`.
///
/// A server may send any name; one with this prefix is printed with `foreign:` before it.
package enum ForeignEventName {
  static let reserved: StaticString = "pusher-cli:"
  package static let mark = "foreign:"

  /// Returns true if an unescaped name has the reserved prefix.
  package static func needsMark(_ name: ByteView) -> Bool {
    // The second byte excludes most names without a call.
    unsafe name.count >= reserved.utf8CodeUnitCount && name.base[1] == reserved.utf8Start[1]
      && name.begins(with: reserved)
  }

  /// Returns the marked name of a foreign event, given as a JSON token; `nil` if it needs no mark.
  package static func marked(token: ByteView) -> String? {
    guard let first = token.isEmpty ? nil : token[0], first == 0x70 || first == 0x5C else {
      return nil
    }
    guard !needsMark(token) else { return mark + JSONString.decode(token) }
    // Escapes may spell the reserved prefix; the check of a long name costs one copy.
    guard token.holds(UInt8(ascii: "\\")) else { return nil }
    let name = JSONString.decode(token)
    return name.utf8.starts(with: "\(reserved)".utf8) ? mark + name : nil
  }

  package static func unmarked(_ name: String) -> String {
    let isMarked = name.utf8.starts(with: "\(mark)\(reserved)".utf8)
    return isMarked ? String(name.dropFirst(mark.count)) : name
  }
}
