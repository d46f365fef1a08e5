/// Binds handlers that were written for PusherSwift 7 and take `Any?`.
///
/// The overloads stand in an extension of a protocol so that a closure that does not name its parameter's type still gets
/// the class's own: a ``JSONValue`` or a ``PusherEvent``. They hand over what `JSONSerialization` would: dictionaries, arrays,
/// `String`, `Bool`, `Int` for whole numbers that fit, `Double` for others; `null` is `nil`. `as? [String: Any]` and
/// `as? [String: AnyObject]` succeed on an object.
public protocol AnyDataHandlers: Sendable {}

extension AnyDataHandlers where Self: PusherChannel {
  /// Calls `callback` with the data of the channel's events of one name, as PusherSwift 7 does.
  @_disfavoredOverload
  @discardableResult
  public func bind(
    eventName: String, callback: @escaping @Sendable (Any?) -> Void
  ) -> PusherBinding {
    let parses = connection.options.attemptToReturnJSONObject
    return bindings.bind(to: eventName) { callback($0.value(parsed: parses)?.untyped) }
  }

  /// The same with a trailing closure.
  @discardableResult
  public func bind(
    eventName: String, eventCallback: @escaping @Sendable (Any?) -> Void
  ) -> PusherBinding {
    bind(eventName: eventName, callback: eventCallback)
  }
}

extension AnyDataHandlers where Self: Pusher {
  /// Calls `callback` with the message of every event, as PusherSwift 7 does.
  ///
  /// It is a dictionary with `event` and, where the event has them, `channel`, `data` and `user_id`. The members of
  /// `data` are in it as well, under names that are free: PusherSwift 7's page reads them there.
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

  /// The same without a label, as the page of PusherSwift 7 writes it.
  @_disfavoredOverload
  @discardableResult
  public func bind(_ callback: @escaping @Sendable (Any?) -> Void) -> PusherBinding {
    bind(callback: callback)
  }

  /// The same with a trailing closure.
  @discardableResult
  public func bind(eventCallback: @escaping @Sendable (Any?) -> Void) -> PusherBinding {
    bind(callback: eventCallback)
  }

  /// Calls `eventCallback` with the data of every event of one name on any channel.
  @discardableResult
  public func bind(
    eventName: String, eventCallback: @escaping @Sendable (Any?) -> Void
  ) -> PusherBinding {
    let parses = connection.options.attemptToReturnJSONObject
    return connection.bindings.bind(to: eventName) {
      eventCallback($0.value(parsed: parses)?.untyped)
    }
  }
}

extension JSONValue {
  /// The value as types of Swift alone; the last of members with one name counts.
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

  // Loops of their own: the less the getter holds, the seldomer the compiler of Swift 6.3 makes other code of it.
  @inline(never)
  private static func untyped(_ elements: [JSONValue]) -> [Any] {
    var values: [Any] = []
    for element in elements { values.append(element.untyped as Any) }
    return values
  }

  @inline(never)
  private static func untyped(_ members: [Member]) -> [String: Any] {
    var values: [String: Any] = [:]
    for member in members { values[member.name] = member.value.untyped as Any }
    return values
  }
}
