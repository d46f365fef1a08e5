/// One event as a handler gets it.
///
/// The message is kept as it came, and taken apart when somebody asks.
public struct PusherEvent: Sendable {
  /// The event's name; the service's own begin with its public prefix, such as `pusher:subscription_succeeded`.
  public let eventName: String
  /// The channel's name; `nil` for events that belong to no channel.
  public let channelName: String?
  /// When the bytes of the message were read from the socket; messages that came together have the same time.
  public let timeReceived: WallTime
  /// The whole message as it came.
  private let message: [UInt8]
  /// Where the value of `data` stands in the message, quotes included; empty when there is none.
  private let dataRange: Range<Int>
  /// Where the user's id stands, without quotes; empty when there is none.
  private let userRange: Range<Int>

  /// An event from a message that was taken apart.
  ///
  /// - Parameters:
  ///   - eventName: The name that is shown, which need not be the message's own.
  init(
    _ envelope: Envelope, eventName: String, channelName: String?, timeReceived: WallTime
  ) {
    self.eventName = eventName
    self.channelName = channelName
    self.timeReceived = timeReceived
    message = envelope.message.array
    dataRange = envelope.message.range(of: envelope.dataToken)
    userRange = envelope.message.range(of: envelope.userIDToken)
  }

  /// An event as the server would send it, for tests of handlers.
  ///
  /// - Parameter data: What stands in the data string, usually JSON; not checked.
  public init(
    eventName: String, channelName: String? = nil, data: String? = nil, userId: String? = nil,
    timeReceived: WallTime = WallTime(millisecondsSince1970: 0)
  ) {
    let text = Self.text(eventName, channelName, data, userId)
    let buffer = ByteBuffer(capacity: text.utf8.count)
    buffer.append(text)
    self.eventName = eventName
    self.channelName = channelName
    self.timeReceived = timeReceived
    message = buffer.array
    let envelope = try? Envelope(buffer.view)
    dataRange = buffer.view.range(of: envelope?.dataToken)
    userRange = buffer.view.range(of: envelope?.userIDToken)
  }

  private static func text(
    _ eventName: String, _ channelName: String?, _ data: String?, _ userId: String?
  ) -> String {
    var members: [JSONValue.Member] = [.init("event", .string(eventName))]
    if let channelName { members.append(.init("channel", .string(channelName))) }
    if let data { members.append(.init("data", .string(data))) }
    if let userId { members.append(.init("user_id", .string(userId))) }
    return JSONValue.object(members).jsonText
  }
}

extension PusherEvent {
  /// What came as data, byte for byte: what the string of a usual message holds, or the JSON of any other value.
  ///
  /// `nil` when there was none, or `null`. It is made anew each time, so keep it rather than ask twice.
  public var data: String? {
    guard !dataRange.isEmpty else { return nil }
    let isString = message[dataRange.lowerBound] == UInt8(ascii: "\"")
    return isString ? text(dataRange.dropFirst().dropLast()) : text(plain: dataRange)
  }

  /// ``data`` as a value; `nil` when there is none or it is not JSON.
  public var jsonObject: JSONValue? {
    data.flatMap { try? JSONParser.parse($0) }
  }

  /// Who sent a client event on a presence channel, vouched for by the server; `nil` on other events.
  public var userId: String? {
    userRange.isEmpty ? nil : text(userRange)
  }

  /// A member of the message as it came, such as `data` or what a server adds of its own; `nil` when there is none.
  public func property(withKey key: String) -> JSONValue? {
    (try? JSONParser.parse(text(plain: 0..<message.count)))?[key]
  }

  /// The whole message as JSON text.
  public var rawMessage: String { text(plain: 0..<message.count) }

  private func text(_ escaped: Range<Int>) -> String {
    unsafe message.withUnsafeBytes { bytes in
      unsafe JSONString.text(of: UnsafeRawBufferPointer(rebasing: bytes[escaped]))
    }
  }

  private func text(plain range: Range<Int>) -> String {
    unsafe message.withUnsafeBytes { bytes in
      unsafe String(decoding: UnsafeRawBufferPointer(rebasing: bytes[range]), as: UTF8.self)
    }
  }
}

extension ByteView {
  /// Where `part`, a piece of this view, stands in it; empty for none.
  fileprivate func range(of part: ByteView?) -> Range<Int> {
    guard let part else { return 0..<0 }
    let start = unsafe part.base - base
    return start..<(start + part.count)
  }
}
