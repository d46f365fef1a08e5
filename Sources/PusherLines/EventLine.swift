package import PusherCore

/// A canonical JSON line and its parts, which ``LineMaker`` wrote in a known order.
///
/// No copies: a copy would cost more than the parts.
package struct EventLine: ~Copyable {
  /// The line without its end.
  package let text: ByteView
  /// The line's first bytes, before the key of the event.
  let head: ByteView
  /// Names and IDs between their quotes.
  package let event: ByteView
  package let channel: ByteView?
  /// False for lines of an event stream; a channel may still be `null`.
  package let hasChannel: Bool
  package let userID: ByteView?
  package let id: ByteView?
  /// The number of the event in its channel's stream.
  package let serial: ByteView?
  package let isRepaired: Bool
  package let data: ByteView
  /// Decrypted content that is not text, as base64.
  package let base64: ByteView?

  /// - Parameter line: The line with its end.
  package init(_ line: ByteView) {
    let text = line[0..<(line.count - 1)]
    self.text = text
    var offset = 1
    _ = Self.string(#""received_at":""#, in: text, &offset)
    head = text[0..<offset]
    event = Self.string(#""event":""#, in: text, &offset) ?? text[0..<0]
    channel = Self.string(#""channel":""#, in: text, &offset)
    hasChannel = channel != nil || Self.skip(#""channel":null,"#, in: text, &offset)
    // Usually next.
    if Self.skip(#""data":"#, in: text, &offset) {
      (userID, id, serial, isRepaired) = (nil, nil, nil, false)
    } else {
      userID = Self.string(#""user_id":""#, in: text, &offset)
      id = Self.string(#""id":""#, in: text, &offset)
      serial = Self.number(#""serial":"#, in: text, &offset)
      isRepaired = Self.skip(#""repaired":true,"#, in: text, &offset)
      _ = Self.skip(#""data":"#, in: text, &offset)
    }
    var behind = offset
    if unsafe text.base[offset] == UInt8(ascii: "n"),
      Self.skip(#"null,"data_base64":""#, in: text, &behind)
    {
      data = text[offset..<(offset + 4)]
      base64 = text[behind..<(text.count - 2)]
    } else {
      data = text[offset..<(text.count - 1)]
      base64 = nil
    }
  }

  /// Steps over `key`, which its second and its last byte tell from all that may stand here.
  @inline(__always) private static func skip(
    _ key: StaticString, in text: ByteView, _ offset: inout Int
  ) -> Bool {
    let last = key.utf8CodeUnitCount &- 1
    let (start, bytes) = unsafe (text.base + offset, key.utf8Start)
    guard offset &+ last < text.count,
      unsafe start[1] == bytes[1] && start[last] == bytes[last]
    else { return false }
    offset &+= last &+ 1
    return true
  }

  /// Steps over a member with a string, and over the comma after it.
  @inline(__always) private static func string(
    _ key: StaticString, in text: ByteView, _ offset: inout Int
  ) -> ByteView? {
    guard skip(key, in: text, &offset) else { return nil }
    let body = text.stringBody(from: offset)
    offset &+= body.count &+ 2
    return body
  }

  /// Steps over a member with a number, and over the comma after it.
  @inline(__always) private static func number(
    _ key: StaticString, in text: ByteView, _ offset: inout Int
  ) -> ByteView? {
    guard skip(key, in: text, &offset) else { return nil }
    let start = offset
    offset = (text.firstIndex(of: UInt8(ascii: ","), from: start) ?? start) &+ 1
    return text[start..<(offset &- 1)]
  }

  /// Returns a field's value, a string with its quotes.
  func token(_ field: WhereClause.Field) -> ByteView? {
    let body: ByteView?
    switch field {
    case .event: body = event
    case .channel:
      if channel == nil, hasChannel {
        // It follows the event.
        let start = #"","channel":"#.utf8.count
        return unsafe ByteView(base: event.base + event.count + start, count: 4)
      }
      body = channel
    case .userID: body = userID
    case .id: body = id
    case .data: return data
    }
    return body.map { unsafe ByteView(base: $0.base - 1, count: $0.count + 2) }
  }

  package var name: String { JSONString.decode(event) }

  package func passes(_ filter: FilterMemory) -> Bool {
    event.holds(UInt8(ascii: "\\")) ? filter.passes(name) : filter.passes(event)
  }

  /// The data as people see it.
  package var shownData: JSONValue {
    if let base64 { return .string(base64.text) }
    return (try? JSONParser.parse(data)) ?? .null
  }

  /// Appends the data as text: a string without its quotes and escapes, anything else as JSON.
  func writeText(into output: ByteBuffer) {
    if let text = data.unquoted {
      JSONString.decode(text, into: output)
    } else if data.holds(UInt8(ascii: "\\")) {
      JSONWriter.write(shownData, into: output)
    } else {
      output.append(data)
    }
  }

  /// Appends only the data, for `-o raw`.
  package func writeRaw(to output: ByteBuffer, _ style: EventLineStyle) {
    if let base64 {
      output.append(base64)
    } else if !style.forTerminal {
      writeText(into: output)
    } else {
      let shown = shownData
      if case .string(let text) = shown {
        output.append(TerminalText.escaped(text))
      } else {
        JSONWriter.write(shown, into: output, forTerminal: true)
      }
    }
    output.append(style.terminator)
  }
}

/// How a line looks on standard output.
package struct EventLineStyle: Sendable {
  package var terminator: UInt8
  /// Escapes DEL and C1 controls too.
  package var forTerminal: Bool
  package var palette: EventLinePalette?

  package init(
    terminator: UInt8 = 0x0A, forTerminal: Bool = false, palette: EventLinePalette? = nil
  ) {
    (self.terminator, self.forTerminal, self.palette) = (terminator, forTerminal, palette)
  }

  package var isPlain: Bool { !forTerminal && palette == nil }

  package func write(_ line: borrowing EventLine, to output: ByteBuffer) {
    defer { output.append(terminator) }
    if isPlain { return output.append(line.text) }
    output.append(line.head)
    writeKey("event", to: output, isFirst: true)
    write(line.event, in: palette?.event, to: output)
    if let channel = line.channel {
      writeKey("channel", to: output)
      write(channel, in: palette?.colour(of: channel.array) ?? "", to: output)
    } else if line.hasChannel {
      writeKey("channel", to: output)
      output.append("null" as StaticString)
    }
    write("user_id", line.userID, to: output)
    write("id", line.id, to: output)
    if let serial = line.serial {
      writeKey("serial", to: output)
      output.append(serial)
    }
    if line.isRepaired {
      writeKey("repaired", to: output)
      output.append("true" as StaticString)
    }
    writeKey("data", to: output)
    // The data of a line is valid.
    try? JSONCompactor.copy(line.data, into: output, forTerminal: forTerminal)
    write("data_base64", line.base64, to: output)
    output.append(UInt8(ascii: "}"))
  }

  private func write(_ key: StaticString, _ token: ByteView?, to output: ByteBuffer) {
    guard let token else { return }
    writeKey(key, to: output)
    JSONCompactor.copyString(token, into: output, forTerminal: forTerminal)
  }

  private func write(_ token: ByteView, in colour: String?, to output: ByteBuffer) {
    if let colour { output.append(colour) }
    JSONCompactor.copyString(token, into: output, forTerminal: forTerminal)
    if let palette { output.append(palette.reset) }
  }

  private func writeKey(_ key: StaticString, to output: ByteBuffer, isFirst: Bool = false) {
    if !isFirst { output.append(UInt8(ascii: ",")) }
    if let palette { output.append(palette.key) }
    output.append(UInt8(ascii: "\""))
    output.append(key)
    output.append(UInt8(ascii: "\""))
    if let palette { output.append(palette.reset) }
    output.append(UInt8(ascii: ":"))
  }
}

package struct EventLinePalette: Sendable {
  package var key: String
  package var event: String
  /// Each channel keeps one of these colours, chosen by its name.
  package var channels: [String]
  package var reset: String
  package var gap: String

  package init(
    key: String, event: String, channels: [String], reset: String, gap: String = ""
  ) {
    (self.key, self.event, self.channels, self.reset, self.gap) = (key, event, channels, reset, gap)
  }

  /// Dim keys, bold events, one colour per channel.
  package static let standard = EventLinePalette(
    key: "\u{1B}[2m", event: "\u{1B}[1m",
    channels: [36, 32, 33, 35, 34, 31].map { "\u{1B}[\($0)m" }, reset: "\u{1B}[0m",
    gap: "\u{1B}[1;33m")

  func colour(of channel: some Sequence<UInt8>) -> String? {
    channels.isEmpty ? nil : channels[abs(Self.mark(of: channel) % channels.count)]
  }

  /// Hash of a name, equal in every run.
  static func mark(of name: some Sequence<UInt8>) -> Int {
    name.reduce(5381) { ($0 &* 33) ^ Int($1) }
  }
}
