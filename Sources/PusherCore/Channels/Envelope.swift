/// The outer object of one Pusher message, found in place: where each member's value stands.
///
/// `{"event": String, "channel"?: String, "data"?: any, "user_id"?: String}`; other members are skipped, and of a
/// repeated one the last counts, as in JavaScript. Source: the protocol page, section "Message format".
package struct Envelope {
  /// The whole message.
  package let message: ByteView
  /// Whether the data was encrypted on the wire.
  package let isDecrypted: Bool
  /// The event's name between its quotes, escapes untouched.
  package private(set) var eventToken: ByteView
  /// The channel's name between its quotes; `nil` when absent or not a string.
  package private(set) var channelToken: ByteView?
  /// The user id: between its quotes when it is a string, else the number's characters; `nil` for any other kind.
  package private(set) var userIDToken: ByteView?
  /// The value of `data` as it stands in the message, quotes included; `nil` when absent or `null`.
  package private(set) var dataToken: ByteView?
  /// The content of a decrypted event that is not text, as base64 between its quotes.
  package private(set) var base64Token: ByteView?
  /// The text of the data of an event that was decrypted; the message is the encrypted one then.
  package private(set) var plainData: ByteView?

  /// An event of the usual shape whose data was decrypted to the text `plainData`, UTF-8.
  init(_ message: ByteView, event: ByteView, channel: ByteView, plainData: ByteView) {
    self.message = message
    isDecrypted = true
    eventToken = event
    channelToken = channel
    self.plainData = plainData
  }

  /// Reads the message.
  ///
  /// - Parameter isDecrypted: Whether the message was made by ``decrypted(_:into:)``; only then does `data_base64` come
  ///   from us.
  ///
  /// - Throws: ``JSONError`` when the bytes are not one JSON object with an `event` that is a string.
  package init(_ message: ByteView, isDecrypted: Bool = false) throws(JSONError) {
    self.message = message
    self.isDecrypted = isDecrypted
    var cursor = JSONCursor(message)
    var event: ByteView?
    cursor.skipWhitespace()
    guard cursor.byte == UInt8(ascii: "{") else { throw cursor.failure }
    eventToken = message[0..<0]
    try JSONSkipper.eachPart(&cursor) { name, value in
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
      event = Self.unquoted(value)
    } else if name.equals("channel") {
      channelToken = Self.unquoted(value)
    } else if name.equals("data") {
      dataToken = value.equals("null") ? nil : value
    } else if name.equals("user_id") {
      userIDToken = Self.unquoted(value) ?? (Self.isNumber(value) ? value : nil)
    } else if isDecrypted, name.equals("data_base64") {
      base64Token = Self.unquoted(value)
    }
  }

  private static func isNumber(_ value: ByteView) -> Bool {
    value[0] == UInt8(ascii: "-") || value[0] &- 0x30 < 10
  }

  private static func unquoted(_ value: ByteView) -> ByteView? {
    guard value.count >= 2, value[0] == UInt8(ascii: "\"") else { return nil }
    return value[1..<(value.count - 1)]
  }
}

extension Envelope {
  /// The same event with `plain` as its data, written into `buffer`, which must outlive it.
  ///
  /// Bytes that are not UTF-8 become `data_base64`, and `data` is `null`.
  func decrypted(_ plain: [UInt8], into buffer: ByteBuffer) -> Envelope {
    let content = ByteBuffer(capacity: plain.count)
    content.append(plain)
    buffer.removeAll()
    buffer.append(#"{"event":""# as StaticString)
    buffer.append(eventToken)
    for (name, token) in [("channel", channelToken), ("user_id", userIDToken)] {
      guard let token else { continue }
      buffer.append("\",\"\(name)\":\"")
      buffer.append(token)
    }
    buffer.append(#"","data":"# as StaticString)
    withExtendedLifetime(content) {
      if UTF8Validator.isValid(content.view) {
        JSONString.encode(content.view, into: buffer)
      } else {
        buffer.append(#"null,"data_base64":"\#(Base64.encode(plain))""#)
      }
    }
    buffer.append(UInt8(ascii: "}"))
    // The text made here always parses; if it did not, the event would go out unchanged.
    return (try? Envelope(buffer.view, isDecrypted: true)) ?? self
  }

  /// The event's name.
  package var eventName: String { JSONString.decode(eventToken) }

  /// The channel's name, if the message has one.
  package var channelName: String? { channelToken.map(JSONString.decode) }

  /// The text between the quotes of `data` when it is a string, as nearly every server sends it.
  package var dataString: ByteView? { dataToken.flatMap(Self.unquoted) }

  /// The data as it was sent: a string's text, or JSON; `nil` without data.
  ///
  /// Of a decrypted event it is what was decrypted.
  package var dataText: String? {
    plainData?.text ?? dataString.map(JSONString.decode) ?? dataToken?.text
  }

  /// Bytes of the message, with its data decrypted.
  package var byteCount: Int { plainData == nil ? message.count : text.utf8.count }

  /// The message as text, with its data decrypted.
  package var text: String {
    guard let plainData else { return message.text }
    let buffer = ByteBuffer(capacity: message.count)
    return withExtendedLifetime(buffer) { decrypted(plainData.array, into: buffer).message.text }
  }

  /// `data` as a value: of a string that holds JSON the inner value, of any other string the string itself.
  ///
  /// Missing and `null` data are ``JSONValue/null``; data that is nested too deep is a string of its JSON.
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

extension ByteView {
  /// Whether the content of a string of JSON holds an escape.
  @inline(__always)
  var isEscaped: Bool { JSONCursor(self).plainRun() < count }
}
