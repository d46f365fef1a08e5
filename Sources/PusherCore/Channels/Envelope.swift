/// The outer object of one Pusher message, with the place of each member's value.
///
/// `{"event": String, "channel"?: String, "data"?: any, "user_id"?: String}`, in Protocol V2 also
/// `{"message_id": String, "stream_id": String, "serial": Integer}`; other members are skipped. The
/// last of repeated members counts, as in JavaScript. Source: the protocol page, section "Message
/// format".
package struct Envelope {
  package let message: ByteView
  package let isDecrypted: Bool
  /// The event's name between its quotes, escapes untouched.
  package private(set) var eventToken: ByteView
  /// The channel's name between its quotes; `nil` if absent or not a string.
  package private(set) var channelToken: ByteView?
  /// The user ID: the text between its quotes or the digits of a number; `nil` for any other kind.
  package private(set) var userIDToken: ByteView?
  /// The value of `data` as in the message, with its quotes; `nil` if absent or `null`.
  package private(set) var dataToken: ByteView?
  /// The message's ID between its quotes, for Protocol V2.
  package private(set) var messageIDToken: ByteView?
  package private(set) var streamIDToken: ByteView?
  /// The value of `serial` as in the message; any JSON.
  package private(set) var serialToken: ByteView?
  /// Decrypted content that is not text, as base64 between its quotes.
  package private(set) var base64Token: ByteView?
  /// Decrypted data as text; the message is still encrypted then.
  package private(set) var plainData: ByteView?

  init(_ message: ByteView, event: ByteView, channel: ByteView, plainData: ByteView) {
    self.message = message
    isDecrypted = true
    eventToken = event
    channelToken = channel
    self.plainData = plainData
  }

  /// - Parameter isDecrypted: True if ``decrypted(_:into:)`` made the message.
  /// - Throws: ``JSONError`` if the bytes are not one JSON object with a string `event`.
  package init(_ message: ByteView, isDecrypted: Bool = false) throws(JSONError) {
    (self.message, self.isDecrypted) = (message, isDecrypted)
    var cursor = JSONCursor(message)
    var event: ByteView?
    cursor.skipWhitespace()
    guard cursor.byte == UInt8(ascii: "{") else { throw cursor.failure }
    eventToken = message[0..<0]
    try cursor.eachPart { name, value in
      if let name { store(value, name: name, event: &event) }
    }
    try cursor.requireEnd()
    guard let event else { throw .missing(member: "event") }
    eventToken = event
  }

  private mutating func store(_ value: ByteView, name: ByteView, event: inout ByteView?) {
    if name.isEscaped {
      let unescaped = ByteBuffer(capacity: name.count)
      JSONString.decode(name, into: unescaped)
      withExtendedLifetime(unescaped) { store(value, plainName: $0.view, event: &event) }
    } else {
      store(value, plainName: name, event: &event)
    }
  }

  private mutating func store(_ value: ByteView, plainName name: ByteView, event: inout ByteView?) {
    if name.equals("event") {
      event = value.unquoted
    } else if name.equals("channel") {
      channelToken = value.unquoted
    } else if name.equals("data") {
      dataToken = value.equals("null") ? nil : value
    } else if name.equals("user_id") {
      userIDToken = value.unquoted ?? (value.isNumber ? value : nil)
    } else if name.equals("serial") {
      serialToken = value.equals("null") ? nil : value
    } else if name.equals("message_id") {
      messageIDToken = value.unquoted
    } else if name.equals("stream_id") {
      streamIDToken = value.unquoted
    } else if isDecrypted, name.equals("data_base64") {
      base64Token = value.unquoted
    }
  }
}

extension Envelope {
  /// Calls `body` with a message that was an envelope before.
  package static func with(
    _ message: [UInt8], isDecrypted: Bool = false, _ body: (Envelope) -> Void
  ) {
    let buffer = ByteBuffer(capacity: message.count)
    buffer.append(message)
    withExtendedLifetime(buffer) {
      if let envelope = try? Envelope(buffer.view, isDecrypted: isDecrypted) { body(envelope) }
    }
  }

  /// Returns the same event with `plain` as its data, written into `buffer`, which must outlive it.
  ///
  /// Bytes that are not UTF-8 become `data_base64`, and `data` is `null`.
  func decrypted(_ plain: [UInt8], into buffer: ByteBuffer) -> Envelope {
    let content = ByteBuffer(capacity: plain.count)
    content.append(plain)
    buffer.removeAll()
    buffer.append(#"{"event":""# as StaticString)
    buffer.append(eventToken)
    for (name, token) in [
      ("channel", channelToken), ("user_id", userIDToken), ("message_id", messageIDToken),
      ("stream_id", streamIDToken),
    ] {
      guard let token else { continue }
      buffer.append("\",\"\(name)\":\"")
      buffer.append(token)
    }
    buffer.append(UInt8(ascii: "\""))
    if let serialToken {
      buffer.append(#","serial":"# as StaticString)
      buffer.append(serialToken)
    }
    buffer.append(#","data":"# as StaticString)
    withExtendedLifetime(content) {
      if UTF8Validator.isValid(content.view) {
        JSONString.encode(content.view, into: buffer)
      } else {
        buffer.append(#"null,"data_base64":"\#(Base64.encode(plain))""#)
      }
    }
    buffer.append(UInt8(ascii: "}"))
    // This text always parses; otherwise the event would go out unchanged.
    return (try? Envelope(buffer.view, isDecrypted: true)) ?? self
  }

  package var eventName: String { JSONString.decode(eventToken) }
  package var channelName: String? { channelToken.map(JSONString.decode) }

  /// The text between the quotes of `data` if it is a string, as nearly every server sends it.
  package var dataString: ByteView? { dataToken?.unquoted }

  /// The data, decrypted: a string's text, or JSON; `nil` without data.
  package var dataText: String? {
    plainData?.text ?? dataString.map(JSONString.decode) ?? dataToken?.text
  }

  /// Size of the message with decrypted data, in bytes.
  package var byteCount: Int { plainData == nil ? message.count : text.utf8.count }

  package var text: String {
    guard let plainData else { return message.text }
    let buffer = ByteBuffer(capacity: message.count)
    return withExtendedLifetime(buffer) { decrypted(plainData.array, into: buffer).message.text }
  }

  /// `data` as a value: JSON inside a string is parsed, any other string stays a string.
  ///
  /// Missing data is ``JSONValue/null``; data that is nested too deep is a string of its JSON.
  package var data: JSONValue {
    if let plainData { return (try? JSONParser.parse(plainData)) ?? .string(plainData.text) }
    guard let dataToken else { return .null }
    guard let inner = dataString else {
      return (try? JSONParser.parse(dataToken)) ?? .string(dataToken.text)
    }
    let text = JSONString.decode(inner)
    return (try? JSONParser.parse(text)) ?? .string(text)
  }
}
