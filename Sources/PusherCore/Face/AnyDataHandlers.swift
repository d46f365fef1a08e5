/// Binds handlers written for PusherSwift 7, which take `Any?`.
///
/// In a protocol extension these overloads rank below the class's own, with ``JSONValue`` or
/// ``PusherEvent``. Values have the types of `JSONSerialization`, with `Int` for integers that fit,
/// `Double` for other numbers and `nil` for `null`.
public protocol AnyDataHandlers: Sendable {}

extension AnyDataHandlers where Self: PusherChannel {
  /// Calls `callback` with the data of the channel's events of this name, as in PusherSwift 7.
  @_disfavoredOverload @discardableResult public func bind(
    eventName: String, callback: @escaping @Sendable (Any?) -> Void
  ) -> PusherBinding {
    let parses = connection.options.attemptToReturnJSONObject
    return bindings.bind(to: eventName) { callback($0.value(parsed: parses)?.untyped) }
  }

  /// Same as `bind(eventName:callback:)`, with a trailing closure.
  @discardableResult public func bind(
    eventName: String, eventCallback: @escaping @Sendable (Any?) -> Void
  ) -> PusherBinding { bind(eventName: eventName, callback: eventCallback) }
}

extension AnyDataHandlers where Self: Pusher {
  /// Calls `callback` with the message of every event, as in PusherSwift 7.
  ///
  /// The message has `event` and, if present, `channel`, `data` and `user_id`. Members of `data`
  /// with other names are included, since PusherSwift 7's README reads them there.
  @_disfavoredOverload
  @discardableResult
  public func bind(callback: @escaping @Sendable (Any?) -> Void) -> PusherBinding {
    let parses = connection.options.attemptToReturnJSONObject
    return connection.bindings.bind(to: nil) { event in
      let message = event.message(parsed: parses)
      let data = message["data"]?.members ?? []
      callback(JSONValue.object(data + (message.members ?? [])).untyped)
    }
  }

  /// Same as `bind(callback:)`, without a label, as PusherSwift 7's README writes it.
  @_disfavoredOverload @discardableResult public func bind(
    _ callback: @escaping @Sendable (Any?) -> Void
  ) -> PusherBinding { bind(callback: callback) }

  /// Same as `bind(callback:)`, with a trailing closure.
  @discardableResult public func bind(eventCallback: @escaping @Sendable (Any?) -> Void)
    -> PusherBinding
  { bind(callback: eventCallback) }

  /// Calls `eventCallback` with the data of every event of this name on any channel.
  @discardableResult public func bind(
    eventName: String, eventCallback: @escaping @Sendable (Any?) -> Void
  ) -> PusherBinding {
    let parses = connection.options.attemptToReturnJSONObject
    return connection.bindings.bind(to: eventName) {
      eventCallback($0.value(parsed: parses)?.untyped)
    }
  }
}

extension JSONValue {
  /// The value in Swift's own types; of members with the same name the last one counts.
  var untyped: Any? {
    switch self {
    case .null: nil
    case .bool(let value): value
    case .number(let digits): Int(digits) ?? Double(digits) ?? digits
    case .string(let text): text
    case .array(let elements): Self.untyped(elements)
    case .object(let members): Self.untyped(members)
    }
  }

  // Separate functions: Swift 6.3 compiles a larger getter differently in some builds.
  @inline(never) private static func untyped(_ elements: [JSONValue]) -> [Any] {
    var values: [Any] = []
    for element in elements { values.append(element.untyped as Any) }
    return values
  }

  @inline(never) private static func untyped(_ members: [Member]) -> [String: Any] {
    var values: [String: Any] = [:]
    for member in members { values[member.name] = member.value.untyped as Any }
    return values
  }
}
