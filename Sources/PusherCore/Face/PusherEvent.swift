/// One event as a handler gets it.
public struct PusherEvent: Sendable {
  /// The event's name; the service's own begin with its public prefix, such as `pusher:subscription_succeeded`.
  public let eventName: String
  /// The channel's name; `nil` for events that belong to no channel.
  public let channelName: String?
  /// The data, byte for byte: the content of the string in a usual message, or the JSON of any other value.
  ///
  /// `nil` when it was missing or `null`.
  public internal(set) var data: String?
  /// When the bytes of the message were read from the socket; messages that came together have the same time.
  ///
  /// Those that had come when a reader with ``PusherBuffering/suspending`` fell behind have the time when it went on.
  public internal(set) var timeReceived: WallTime
  /// The message, for events of an unusual shape; the usual shape has only name, channel and data string.
  private let original: Original?

  /// A message as it came.
  private final class Original: Sendable {
    let text: String
    let userId: String?

    init(text: String, userId: String?) {
      self.text = text
      self.userId = userId
    }
  }

  /// An event of the usual shape, whose data follows.
  init(eventName: String, channelName: String, timeReceived: WallTime) {
    (self.eventName, self.channelName) = (eventName, channelName)
    self.timeReceived = timeReceived
    original = nil
  }

  /// An event of any shape.
  ///
  /// - Parameter eventName: The public name, which may differ from the message's own.
  init(_ envelope: Envelope, eventName: String, timeReceived: WallTime) {
    self.eventName = eventName
    self.timeReceived = timeReceived
    channelName = envelope.channelName
    data = envelope.dataText
    original = Original(
      text: envelope.text, userId: envelope.userIDToken.map(JSONString.decode))
  }

  /// An event as a server would send it, for tests of handlers.
  ///
  /// - Parameters:
  ///   - eventName: The event's name.
  ///   - channelName: The channel's name, if it has one.
  ///   - data: The content of the data string, usually JSON; not checked.
  ///   - userId: Who sent it, on presence channels.
  ///   - timeReceived: When it came; 1970 unless told.
  public init(
    eventName: String, channelName: String? = nil, data: String? = nil, userId: String? = nil,
    timeReceived: WallTime = WallTime(millisecondsSince1970: 0)
  ) {
    (self.eventName, self.channelName) = (eventName, channelName)
    (self.data, self.timeReceived) = (data, timeReceived)
    let message = Self.message(eventName, channelName, data.map(JSONValue.string), userId)
    original = Original(text: message.jsonText, userId: userId)
  }

  private static func message(
    _ eventName: String, _ channelName: String?, _ data: JSONValue?, _ userId: String? = nil
  ) -> JSONValue {
    .object(present: [
      "event": .string(eventName), "channel": channelName.map(JSONValue.string), "data": data,
      "user_id": userId.map(JSONValue.string),
    ])
  }

  /// The message for handlers that do not take an event.
  func message(parsed: Bool) -> JSONValue {
    Self.message(eventName, channelName, value(parsed: parsed), userId)
  }

  /// The data for handlers that do not take an event: parsed if wanted and possible.
  func value(parsed: Bool) -> JSONValue? {
    guard let data else { return nil }
    return parsed ? jsonObject ?? .string(data) : .string(data)
  }
}

extension PusherEvent {
  /// ``data`` as a value; `nil` when there is none or it is not JSON.
  ///
  /// It is parsed each time, so keep it.
  public var jsonObject: JSONValue? {
    data.flatMap { try? JSONParser.parse($0) }
  }

  /// The member that sent a client event on a presence channel, as the server says; `nil` for other events.
  public var userId: String? { original?.userId }

  /// A member of the message as it came, such as `data` or one that a server adds; `nil` when there is none.
  public func property(withKey key: String) -> JSONValue? {
    guard let original else {
      return Self.message(eventName, channelName, data.map(JSONValue.string))[key]
    }
    return (try? JSONParser.parse(original.text))?[key]
  }
}

extension PusherEvent {
  /// The data as a type of yours: `try event.decode(Order.self)`.
  ///
  /// - Throws: `DecodingError` with the path to the place; `dataCorrupted` when the data is missing or not JSON. See
  ///   ``JSONValue/decode(_:)``.
  public func decode<Value: Decodable>(_ type: Value.Type = Value.self) throws -> Value {
    guard let data else { throw Self.corrupted("event \(eventName) has no data", nil) }
    let value: JSONValue
    do throws(JSONError) {
      value = try JSONParser.parse(data)
    } catch {
      throw Self.corrupted("the data of event \(eventName) is \(error)", error)
    }
    return try value.decode(type)
  }

  private static func corrupted(_ what: String, _ error: (any Error)?) -> DecodingError {
    .dataCorrupted(.init(codingPath: [], debugDescription: what, underlyingError: error))
  }
}
