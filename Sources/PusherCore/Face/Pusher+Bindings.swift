/// Events of any channel.
extension Pusher {
  /// Calls `eventCallback` for every event on any channel, including the service's own.
  ///
  /// Errors of the server come as events called `pusher:error`.
  @discardableResult
  public func bind(eventCallback: @escaping @Sendable (PusherEvent) -> Void) -> PusherBinding {
    connection.bindings.bind(to: nil, eventCallback)
  }

  /// Calls `eventCallback` for every event of one name on any channel.
  @discardableResult
  public func bind(
    eventName: String, eventCallback: @escaping @Sendable (PusherEvent) -> Void
  ) -> PusherBinding {
    connection.bindings.bind(to: eventName, eventCallback)
  }

  /// Calls `callback` with the whole message of every event, as before PusherSwift 8.
  ///
  /// It is an object with `event` and, where the event has them, `channel`, `data` and `user_id`; `data` is a value, or
  /// its text where it is not JSON or ``PusherClientOptions/attemptToReturnJSONObject`` is off.
  @_disfavoredOverload
  @discardableResult
  public func bind(callback: @escaping @Sendable (JSONValue?) -> Void) -> PusherBinding {
    let parses = connection.options.attemptToReturnJSONObject
    return connection.bindings.bind(to: nil) { callback($0.message(parsed: parses)) }
  }

  /// Unbinds one handler of the client, whatever it is bound to; nothing happens when it is not bound.
  public func unbind(callbackId: PusherBinding) {
    removeBinding(callbackId)
  }

  /// Unbinds one handler of the client, whatever it is bound to; answers whether it was bound.
  @discardableResult
  public func removeBinding(_ binding: PusherBinding) -> Bool {
    defer { connection.trim() }
    return connection.bindings.unbind(binding)
  }

  /// Unbinds all handlers of the client that are bound to events of this name.
  public func unbindAll(forEventName eventName: String) {
    connection.bindings.unbindAll(named: eventName)
    connection.trim()
  }

  /// Unbinds all handlers of the client; those of channels stay.
  public func unbindAll() {
    connection.bindings.unbindAll()
    connection.trim()
  }

  /// All events of the client as a sequence, from now until the client is gone.
  ///
  /// - Parameter buffering: What happens to events that come faster than they are read.
  public func events(buffering: PusherEvents.Buffering = .newest(1024)) -> PusherEvents {
    PusherEvents(connection.bindings, buffering)
  }
}

extension PusherEvent {
  /// The message for handlers that do not take an event.
  func message(parsed: Bool) -> JSONValue {
    var members: [JSONValue.Member] = [.init("event", .string(eventName))]
    if let channelName { members.append(.init("channel", .string(channelName))) }
    if let data = value(parsed: parsed) { members.append(.init("data", data)) }
    if let userId { members.append(.init("user_id", .string(userId))) }
    return .object(members)
  }
}
