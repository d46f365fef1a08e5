/// Event for a handler.
public struct PusherEvent: Sendable {
  /// Name of the event; the service's own have its public prefix, such as `pusher:`.
  public let eventName: String
  /// Name of the channel; `nil` for events without a channel.
  public let channelName: String?
  /// Content of the data string, or JSON of any other value, byte for byte; `nil` if missing or
  /// `null`.
  public internal(set) var data: String?
  /// Time of reading from the socket; messages read together have the same time.
  ///
  /// Messages held back by ``PusherBuffering/suspending`` have the time when reading resumed.
  public internal(set) var timeReceived: WallTime
  /// The message if it has more than name, channel and data string.
  private let original: Original?

  private final class Original: Sendable {
    let text: String
    let userId: String?

    init(text: String, userId: String?) {
      self.text = text
      self.userId = userId
    }
  }

  /// Creates an event of the usual shape, without its data.
  init(eventName: String, channelName: String, timeReceived: WallTime) {
    (self.eventName, self.channelName) = (eventName, channelName)
    self.timeReceived = timeReceived
    original = nil
  }

  /// Creates an event of any shape; `eventName` is its public name, which the message may not have.
  init(_ envelope: Envelope, eventName: String, timeReceived: WallTime) {
    self.eventName = eventName
    self.timeReceived = timeReceived
    channelName = envelope.channelName
    data = envelope.dataText
    original = Original(text: envelope.text, userId: envelope.userIDToken.map(JSONString.decode))
  }

  /// Creates an event for tests of handlers; `data` is the content of the data string, not checked.
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

  func message(parsed: Bool) -> JSONValue {
    Self.message(eventName, channelName, value(parsed: parsed), userId)
  }

  func value(parsed: Bool) -> JSONValue? {
    guard let data else { return nil }
    return parsed ? jsonObject ?? .string(data) : .string(data)
  }
}

extension PusherEvent {
  /// ``data`` as a value, parsed at each access; `nil` if there is none or it is not JSON.
  public var jsonObject: JSONValue? { data.flatMap { try? JSONParser.parse($0) } }

  /// Sender of a client event on a presence channel, from the server; `nil` for other events.
  public var userId: String? { original?.userId }

  /// Returns a member of the message, such as `data` or an extension; `nil` if there is none.
  public func property(withKey key: String) -> JSONValue? {
    guard let original else {
      return Self.message(eventName, channelName, data.map(JSONValue.string))[key]
    }
    return (try? JSONParser.parse(original.text))?[key]
  }

  /// Decodes the data as a type of your own: `try event.decode(Order.self)`.
  ///
  /// - Throws: `DecodingError` with the path to the value; `dataCorrupted` if the data is missing
  ///   or not JSON. See ``JSONValue/decode(_:)``.
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
